"""Images in folders and by their paths in a table."""

import os
import struct
import warnings
import zlib

import numpy as np
import pytest
from PIL import Image

from llpgan import Bags
from llpgan.cli import main
from llpgan.tables import open_rows
from llpgan.tables.streams import ImageEncoder, open_folder

RESULTS = {"folder": ["cats", "dogs"], "no": [0.5, 0.25], "yes": [0.5, 0.75]}
BY_PATH = {"bag": ["a", "b"], "no": [0.5, 0.25], "yes": [0.5, 0.75]}


@pytest.fixture
def save(tmp_path):
    """Save pixels as an image, and give them back."""
    rng = np.random.default_rng(0)

    def saved(name, shape=(6, 5), dtype=np.uint8):
        pixels = rng.integers(256, size=shape).astype(dtype)
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
        return pixels

    return saved


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.png")
    with pytest.raises(
        ValueError, match=r"row 0: .*a\.png is not an image that can be read: it is a folder, a pipe"
    ):
        Bags.from_tables({"image": [str(tmp_path / "a.png")], "bag": ["a"]}, BY_PATH, bag="bag", image="image")


def test_a_folder_is_a_bag(tmp_path, save):
    expected = [save(name) for name in ("cats/a.png", "cats/b.bmp", "dogs/a.PNG")]
    (tmp_path / "dogs" / "notes.txt").write_text("no image")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bags = Bags.from_tables(tmp_path, RESULTS)
    assert bags.bag_ids == ("cats", "dogs")
    assert bags.bag_index.tolist() == [0, 0, 1]
    assert bags.instances.dtype == np.uint8
    np.testing.assert_array_equal(bags.instances, np.array(expected)[:, None])
    assert bags.encoder.notes == ["images are 5 x 6 pixels, grey"]


def test_folders_within_folders_are_bags_by_their_path(tmp_path, save):
    for name in ("2020/cats/a.png", "2021/cats/a.png"):
        save(name)
    results = {"folder": ["2020/cats", "2021/cats"], "no": [0.5, 0.25], "yes": [0.5, 0.75]}
    assert Bags.from_tables(tmp_path, results).bag_ids == ("2020/cats", "2021/cats")


def test_a_table_of_paths_that_start_from_its_own_folder(tmp_path, save, write):
    first, second = save("pictures/1.png", (4, 3, 3)), save("pictures/2.png", (4, 3, 3))
    table = write("list.csv", f"bag,path,age\na,{tmp_path}/pictures/2.png,1\nb,pictures/1.png,2\n")
    bags = Bags.from_tables(table, BY_PATH, bag="bag", image="path")
    np.testing.assert_array_equal(bags.instances, np.array([second, first]).transpose(0, 3, 1, 2))
    assert bags.features is None
    assert bags.encoder.notes == ["images are 3 x 4 pixels, in colour"]


def test_paths_of_a_frame_start_from_here(tmp_path, save, monkeypatch):
    pixels = save("1.png")
    monkeypatch.chdir(tmp_path)
    bags = Bags.from_tables({"bag": ["a", "b"], "path": ["1.png"] * 2}, BY_PATH, bag="bag", image="path")
    np.testing.assert_array_equal(bags.instances[1, 0], pixels)


def test_the_order_of_rows_is_kept(tmp_path, save):
    pixels = {name: save(name) for name in ("1.png", "2.png", "3.png")}
    order = ["3.png", "1.png", "3.png", "2.png"]
    encoder = ImageEncoder("path", (1, 6, 5))
    instances = encoder.encode(open_rows({"path": [str(tmp_path / name) for name in order]}))
    np.testing.assert_array_equal(instances[:, 0], [pixels[name] for name in order])


@pytest.mark.filterwarnings("ignore:.*images are in colour")
@pytest.mark.parametrize(
    ("shape", "dtype", "channels"),
    [((6, 5), np.uint8, 1), ((6, 5), bool, 1), ((6, 5, 3), np.uint8, 3), ((6, 5, 4), np.uint8, 3)],
    ids=["grey", "black and white", "colour", "colour with transparency"],
)
def test_grey_or_colour_by_the_first_image(tmp_path, save, shape, dtype, channels):
    save("cats/1.png", shape, dtype)
    save("dogs/1.png", (6, 5, 3))
    assert Bags.from_tables(tmp_path, RESULTS).instances.shape == (2, channels, 6, 5)


def test_images_are_brought_to_one_size(tmp_path, save):
    save("cats/1.png", (6, 5))
    same = save("dogs/1.png", (4, 8))
    bags = Bags.from_tables(tmp_path, RESULTS, image_size=(4, 8))
    assert bags.instances.shape == (2, 1, 4, 8)
    np.testing.assert_array_equal(bags.instances[1, 0], same)
    assert bags.encoder.resize


@pytest.mark.filterwarnings("ignore:.*images are in colour")
def test_new_images_become_what_the_training_had(tmp_path, save):
    save("cats/1.png", (6, 5))
    encoder = Bags.from_tables(tmp_path, {"folder": ["cats"], "no": [0.5], "yes": [0.5]}).encoder
    colour = save("new/1.png", (6, 5, 3))
    luma = colour @ [0.299, 0.587, 0.114]
    np.testing.assert_allclose(encoder.encode(open_rows(tmp_path / "new"))[0, 0], luma, atol=1)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photo_is_turned_as_its_exif_data_say(tmp_path, save, orientation):
    pixels = save("cats/1.png")
    save("dogs/1.png")
    stored = {1: pixels, 2: pixels[:, ::-1], 3: pixels[::-1, ::-1], 4: pixels[::-1]}
    stored |= {5: pixels.T, 6: pixels.T[::-1], 7: pixels.T[::-1, ::-1], 8: pixels.T[:, ::-1]}
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(np.ascontiguousarray(stored[orientation])).save(tmp_path / "cats" / "1.png", exif=exif)
    np.testing.assert_array_equal(Bags.from_tables(tmp_path, RESULTS).instances[0, 0], pixels)


@pytest.mark.parametrize("exif", [b"E", b"Exif\x00\x00MM\x00*\x00", b"Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00"])
def test_damaged_exif_data_leave_a_photo_as_it_is(tmp_path, save, exif):
    pixels = save("cats/1.png")
    save("dogs/1.png")
    Image.fromarray(pixels).save(tmp_path / "cats" / "1.png", exif=exif)
    np.testing.assert_array_equal(Bags.from_tables(tmp_path, RESULTS).instances[0, 0], pixels)


def refused(folder):
    with pytest.raises(ValueError) as error:
        Bags.from_tables(folder, RESULTS)
    return str(error.value)


@pytest.mark.parametrize("ending", [".png", ".jpg", ".gif", ".tif"])
def test_an_image_that_is_cut_off(tmp_path, save, ending):
    save("cats/1.png", (60, 50))
    save(f"dogs/1{ending}", (60, 50))
    path = tmp_path / "dogs" / f"1{ending}"
    path.write_bytes(path.read_bytes()[:1500])
    assert f"{tmp_path}, row 1: {path} is not an image that can be read: " in refused(tmp_path)


def test_what_is_no_image(tmp_path, save, write):
    save("cats/1.png")
    path = write("dogs/1.png", b"garbage")
    assert f"{tmp_path}, row 1: {path} is not an image that can be read: its format" in refused(tmp_path)


def test_an_image_of_an_unknown_format_is_named_and_not_left_out(tmp_path, save, write):
    save("cats/1.png")
    path = write("dogs/1.HEIC", b"\x00\x00\x00\x24ftypheic")
    save("dogs/2.png")
    assert f"{path} is not an image that can be read: its format is unknown here" in refused(tmp_path)


@pytest.mark.parametrize("ending", [".jfif", ".jp2", ".pgm"])
def test_rare_formats_are_images_too(tmp_path, save, ending):
    save("cats/1.png")
    save("dogs/1.png")
    save(f"dogs/2{ending}")
    assert Bags.from_tables(tmp_path, RESULTS).sizes.tolist() == [1, 2]


def test_images_of_different_sizes_are_brought_to_the_middle_one(tmp_path, save):
    save("cats/1.png", (6, 5))
    save("cats/2.png", (8, 10))
    save("dogs/1.png", (7, 5))
    with pytest.warns(UserWarning, match="image sizes differ, 5 to 10 pixels a side"):
        bags = Bags.from_tables(tmp_path, RESULTS)
    assert bags.instances.shape == (3, 1, 7, 5)
    assert bags.encoder.resize
    assert bags.encoder.notes == [
        "image sizes differ, 5 to 10 pixels a side: resized to 5 x 7, grey (image_size sets another size)"
    ]


def test_the_shorter_side_of_images_of_different_sizes_is_at_most_64_pixels(tmp_path, save):
    save("cats/1.png", (128, 256))
    save("dogs/1.png", (128, 250))
    with pytest.warns(UserWarning, match="resized to 126 x 64"):
        assert Bags.from_tables(tmp_path, RESULTS).instances.shape == (2, 1, 64, 126)


def test_a_new_image_of_another_size_than_all_of_the_training_is_refused(tmp_path, save):
    save("cats/1.png", (6, 5))
    encoder = Bags.from_tables(tmp_path, {"folder": ["cats"], "no": [0.5], "yes": [0.5]}).encoder
    save("new/1.png", (7, 5))
    with pytest.raises(ValueError, match="is 5 x 7 pixels, but the others are 5 x 6: bring all to one size"):
        encoder.encode(open_folder(tmp_path / "new"))


@pytest.mark.parametrize(("dtype", "ending"), [(np.uint16, "png"), (np.int32, "tif"), (np.float32, "tif")])
def test_pixels_wider_than_a_byte_would_be_cut_off(tmp_path, save, dtype, ending):
    save("cats/1.png")
    save(f"dogs/1.{ending}", dtype=dtype)
    assert "are wider than a byte; save it with 8 bits per channel" in refused(tmp_path)


def test_a_folder_without_images(tmp_path, write):
    write("cats/1.txt", "")
    assert refused(tmp_path).startswith(f"{tmp_path} holds no image: files that end in .png, .jpg")


def test_images_of_a_bag_without_proportions(tmp_path, save):
    save("birds/1.png")
    assert refused(tmp_path).startswith(f"bag 'birds' of {tmp_path} has no row in the table of proportions; there")


WRONG_PATHS = {
    "no file": ("bag,path\na,1.png\nb,9.png\n", FileNotFoundError, "row 1: there is no image {folder}/9.png"),
    "no path": ("bag,path\na,1.png\nb,\n", ValueError, "row 1: no path in column 'path'"),
    "a folder": ("bag,path\na,1.png\nb,sub\n", ValueError, "row 1: {folder}/sub is not an image that can be read"),
    "no column": ("bag,file\na,1.png\nb,1.png\n", ValueError, "has no column 'path'; there are 'bag', 'file'"),
}


@pytest.mark.parametrize(("text", "kind", "said"), WRONG_PATHS.values(), ids=WRONG_PATHS)
def test_paths_that_lead_nowhere(tmp_path, save, write, text, kind, said):
    save("1.png")
    save("sub/1.png")
    table = write("list.csv", text)
    with pytest.raises(kind) as error:
        Bags.from_tables(table, BY_PATH, bag="bag", image="path")
    assert str(table) in str(error.value)
    assert said.format(folder=tmp_path) in str(error.value)


def test_colour_images_that_become_grey_are_noted(tmp_path, save):
    save("cats/1.png", (6, 5))
    save("dogs/1.png", (6, 5, 3))
    with pytest.warns(
        UserWarning, match=r"1 of 2 images are in colour \(.*dogs.1\.png is the first\) and become grey"
    ):
        Bags.from_tables(tmp_path, RESULTS)


def test_grey_images_that_were_saved_in_colour_are_no_reason_to_warn(tmp_path, save):
    save("cats/1.png", (6, 5))
    pixels = np.repeat(save("dogs/1.png", (6, 5))[..., None], 3, axis=2)
    Image.fromarray(pixels).save(tmp_path / "dogs" / "1.png")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Bags.from_tables(tmp_path, RESULTS)


@pytest.mark.parametrize("ending", ["png", "tiff"])
def test_colours_of_16_bits_are_refused(ending, tmp_path):
    path = tmp_path / f"1.{ending}"
    (_png_of_16_bits if ending == "png" else _tiff_of_16_bits)(path)
    with pytest.raises(ValueError, match=f"1.{ending} is not an image that can be read: .* 8 bits per channel"):
        ImageEncoder("path", (3, 4, 4)).encode(open_rows({"path": [str(path)]}))


def test_an_image_outside_the_folders_of_bags_is_named(tmp_path, save):
    for name in ("cats/1.png", "dogs/1.png", "stray.png"):
        save(name)
    with pytest.raises(ValueError, match=r"an image lies directly in .*, in the folder of no bag"):
        Bags.from_tables(tmp_path, RESULTS)


def test_a_store_is_not_taken_for_a_folder_of_images(tmp_path):
    (tmp_path / "store.json").write_text("{}")
    with pytest.raises(ValueError, match="is a store of bags; give the file or folder that it was made from"):
        open_rows(tmp_path)


def test_what_is_transparent_is_white(tmp_path):
    pixels = np.zeros((6, 5, 4), dtype=np.uint8)
    pixels[2:4, :, 3] = 255  # a black bar, and nothing around it
    Image.fromarray(pixels).save(tmp_path / "1.png")
    found = ImageEncoder("path", (3, 6, 5)).encode(open_rows({"path": [str(tmp_path / "1.png")]}))
    np.testing.assert_array_equal(found[0], np.where(pixels[None, ..., 3] == 255, 0, 255).repeat(3, axis=0))


def _png_of_16_bits(path):
    """RGB with two bytes per channel, which Pillow reads and does not write."""

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    lines = b"".join(b"\0" + np.full(12, 150, dtype=">u2").tobytes() for _ in range(4))
    header = struct.pack(">IIBBBBB", 4, 4, 16, 2, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines)), chunk(b"IEND", b""))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))


def _tiff_of_16_bits(path):
    """An uncompressed TIFF of 4 x 4 pixels in RGB with two bytes per channel."""
    pixels = np.full(48, 150, dtype="<u2").tobytes()
    entries = [(256, 3, 4), (257, 3, 4), (258, 3, None), (259, 3, 1), (262, 3, 2), (273, 4, 8)]
    entries += [(277, 3, 3), (278, 3, 4), (279, 4, len(pixels))]
    start = 8 + len(pixels)
    bits_at = start + 2 + 12 * len(entries) + 4
    directory = struct.pack("<H", len(entries))
    for tag, kind, value in entries:
        directory += struct.pack(
            "<HHII", tag, kind, 3 if value is None else 1, bits_at if value is None else value
        )
    content = b"II*\0" + struct.pack("<I", start) + pixels + directory + struct.pack("<I", 0)
    path.write_bytes(content + struct.pack("<HHH", 16, 16, 16))


def test_images_without_an_ending_and_further_frames_are_noted(tmp_path):
    for name in ("cats/a.png", "cats/b.png", "dogs/c.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (4, 4), "red").save(tmp_path / name)
    (tmp_path / "cats" / "b.png").rename(tmp_path / "cats" / "b")
    blue = Image.new("RGB", (4, 4), "blue")
    Image.new("RGB", (4, 4), "red").save(tmp_path / "dogs" / "d.gif", save_all=True, append_images=[blue])
    with pytest.warns(UserWarning) as notes:
        rows = open_rows(tmp_path)
        ImageEncoder.learn(rows, "image").encode(rows)
    said = [str(note.message) for note in notes]
    assert any("left out 1 images whose names do not say so, such as" in text for text in said)
    assert any("1 images have several frames" in text for text in said)


@pytest.mark.parametrize(
    ("path", "message"),
    [("https://example.org/a.png", "is an address: download"), ("cats\\a.png", "write / between its parts")],
)
def test_paths_that_are_none_are_said(path, message, tmp_path):
    (tmp_path / "paths.csv").write_text(f"image,bag\n{path},a\n")
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        ImageEncoder.learn(open_rows(tmp_path / "paths.csv"), "image")


def test_a_folder_of_images_needs_no_name_of_its_bags(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for part in ("train", "new"):
        for bag in range(4):
            (tmp_path / part / f"{part}{bag}").mkdir(parents=True)
            for place in range(4):
                pixels = (rng.random((8, 8)) * (60 + 60 * (place < bag))).astype(np.uint8)
                Image.fromarray(pixels).save(tmp_path / part / f"{part}{bag}" / f"{place}.png")
        shares = "".join(f"{part}{bag},{1 - bag / 4},{bag / 4}\n" for bag in range(4))
        (tmp_path / f"{part}.csv").write_text(f"folder,dark,light\n{shares}")
    fit = ["fit", "train", "--proportions", "train.csv", "--method", "MeanMap", "--report", "false"]
    assert main.main(fit) == 0, capsys.readouterr().err
    for command in (["evaluate"], ["monitor"], ["suggest", "--budget", "2"], ["conformalize", "--out", "sets"]):
        words = [command[0], "model", "new", "--proportions", "new.csv", *command[1:]]
        main.main(words)
        said = capsys.readouterr().err
        assert "error:" not in said or "bags or more" in said or "few bags" in said, said  # which some need
    (tmp_path / "wrong.csv").write_text("bag,dark,light\nnew0,1,0\n")
    assert main.main(["evaluate", "model", "new", "--proportions", "wrong.csv"]) == 1
    assert "the bag of an image is its folder, which this column names" in capsys.readouterr().err
