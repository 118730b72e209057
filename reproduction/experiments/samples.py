"""Images of LLP-GAN's generator as it learns, beside those of a GAN without proportions (the paper's Figure 4)."""

from collections.abc import Iterator

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from reproduction.outputs import Draw, Table, panels
from reproduction.pictures import as_images, spread
from reproduction.run import Results, dataset_title, method_title

from llpgan.report.content import tile_images
from llpgan.utils.arrays import Array

_ABOUT = (
    "Of the images in the figure: their mean brightness (0 to 1), and their spread, the mean distance between two "
    "of them (0 if all are the same; near that of the real ones if the generator makes as many kinds). The paper "
    "shows CIFAR-10 after 50, 60 and 70 epochs and calls the two methods' images similar."
)


def table(results: Results) -> Table:
    """A row for each panel."""
    rows = [
        [dataset, what, f"{images.mean() / 255:.3f}", f"{spread(images):.3f}"]
        for dataset, what, images in _iterate_images(results)
    ]
    return Table("Generated samples", _ABOUT, ["data", "images", "brightness", "spread"], rows)


def figure(results: Results) -> Figure:
    """A panel of images for each method and epoch, after one of real images."""
    draws = [_panel(f"{dataset}: {what}", images) for dataset, what, images in _iterate_images(results)]
    return panels(draws, n_columns=3, size=(3.4, 3.6))


def _iterate_images(results: Results) -> Iterator[tuple[str, str, Array]]:
    told = set[str]()
    for result in results:
        dataset = dataset_title(result.cell.dataset)
        for epoch, text in sorted(result.row["samples"].items(), key=_place):
            what = "real" if epoch == "real" else f"{method_title(result.cell.method)}, epoch {epoch}"
            if f"{dataset} {what}" not in told:
                told.add(f"{dataset} {what}")
                yield dataset, what, as_images(text)


def _place(sample: tuple[str, object]) -> int:
    return -1 if sample[0] == "real" else int(sample[0])


def _panel(title: str, images: Array) -> Draw:
    def draw(axes: Axes) -> None:
        tiles = tile_images(images, n_columns=6)
        axes.imshow(tiles.squeeze(), cmap="gray", vmin=0, vmax=255)
        axes.set_title(title, fontsize=9)
        axes.set_axis_off()

    return draw
