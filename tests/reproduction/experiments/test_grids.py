import pytest
from reproduction.grids import FOLDER, read_grid, read_presets


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
@pytest.mark.parametrize("preset", ["paper", "cpu", "smoke"])
def test_every_grid_has_the_three_presets_and_no_cell_twice(path, preset):
    cells = read_grid(path, preset)
    assert len({cell.id for cell in cells}) == len(cells) > 0
    photographs = ["default", "default-30", "layers", "layers-counts"] if path.stem == "table1" else []
    assert list(read_presets(path)) == ["paper", "cpu", *photographs, "smoke"]
    if preset == "smoke":
        assert {cell.dataset for cell in cells} <= {"digits", "digit-images"}


@pytest.mark.parametrize("method", ["DLLP", "LLPGAN"])
@pytest.mark.parametrize("dataset", ["cifar10", "svhn", "cifar100"])
def test_colour_cells_of_the_paper_are_those_that_learn_on_a_cpu_but_for_epochs_and_rows(dataset, method):
    def settings(preset):
        cells = read_grid(FOLDER / "table1.yaml", preset)
        return {repr(cell.settings) for cell in cells if (cell.dataset, cell.method) == (dataset, method)}

    assert settings("paper") == settings("cpu")


@pytest.mark.parametrize("preset", ["paper", "cpu", "layers"])
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_networks_on_colour_images_are_named_so_that_new_defaults_change_no_row(path, preset):
    cells = read_grid(path, preset) if preset in read_presets(path) else []
    for cell in cells:
        if cell.dataset in ("cifar10", "svhn", "cifar100") and cell.epochs:
            assert str(dict(cell.settings).get("classifier")).endswith("_classifier"), cell.title


def test_a_block_is_the_product_of_its_lists(tmp_path):
    grid = tmp_path / "grid.yaml"
    grid.write_text(
        "presets: {one: [{dataset: digits, method: [DLLP, LLPGAN], bag_size: [16, 64], draw: [0, 1],"
        " settings: {betas: [0.5, 0.9]}, vary: [{average: 0.0}, {average: 0.9}]}]}"
    )
    cells = read_grid(grid, "one")
    assert len(cells) == 16
    assert {cell.seed == cell.draw for cell in cells} == {True}
    assert {dict(cell.settings)["average"] for cell in cells} == {0.0, 0.9}
    assert all(dict(cell.settings)["betas"] == [0.5, 0.9] for cell in cells)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("presets: {", "grid.yaml is not YAML"),
        ("cells: []", "should have 'presets', each a list of blocks"),
        ("presets: {two: []}", "no preset 'one'; there are two"),
        ("presets: {one: [{dataset: digits}]}", "preset 'one', block 1: a block needs at least a dataset and a"),
        ("presets: {one: [{dataset: digit, method: DLLP}]}", "block 1: no dataset 'digit'; there are digits"),
        ("presets: {one: [{dataset: digits, method: DLP}]}", "no method 'DLP'; there are DLLP, LLPGAN"),
        ("presets: {one: [{dataset: digits, method: DLLP, bags: 3}]}", "there is no 'bags'; a block has bag_kind"),
        ("presets: {one: [{dataset: digits, method: DLLP, bag_size: 0}]}", "bag_size should be a whole number ab"),
        (
            "presets: {one: [{dataset: digits, method: DLLP, epochs: two}]}",
            "epochs should be a whole number above",
        ),
        (
            "presets: {one: [{dataset: digits, method: DLLP, settings: {rate: 1}}]}",
            "DLLP has no setting 'rate' to choose here",
        ),
        (
            "presets: {one: [{dataset: digits, method: DLLP, settings: {random_state: 1}}]}",
            "DLLP has no setting 'random_state' to choose here",
        ),
    ],
)
def test_a_bad_grid_is_refused_with_a_message(tmp_path, text, message):
    grid = tmp_path / "grid.yaml"
    grid.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_grid(grid, "one")
