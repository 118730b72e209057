import os
import re

import pytest

from llpgan.utils.files import FolderKind, claim_folder, output_file, output_folder, refuse_input
from llpgan.utils.json_files import write_sealed

KIND = FolderKind("mark.json", files=("data",), pages=("page.html",))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def write_file(path, **options):
    with output_file(path, **options) as aside:
        aside.write_text("new")


def write_folder(path, text="new", pages=("page.html",), **options):
    with output_folder(path, KIND, **options) as aside:
        for name in ("data", *pages):
            (aside / name).write_text(text)
        write_sealed(aside / "mark.json", {"pages": list(pages)}, 1)


def test_an_output_that_exists_is_refused(tmp_path):
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(FileExistsError, match=r"out\.csv exists: name another output, or .*overwrite"):
        write_file(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "old"
    write_file(tmp_path / "out.csv", overwrite=True)
    write_file(tmp_path / "new" / "folder" / "new.csv")
    assert (tmp_path / "out.csv").read_text() == "new"
    assert names(tmp_path) == ["new", "out.csv"]


def test_an_output_that_came_while_work_was_done_is_kept(tmp_path):
    with pytest.raises(FileExistsError, match="exists"), output_file(tmp_path / "out.csv") as aside:
        (tmp_path / "out.csv").write_text("mine")
        aside.write_text("new")
    assert (tmp_path / "out.csv").read_text() == "mine"
    with claim_folder(tmp_path / "model", KIND):
        (tmp_path / "model").mkdir()
        with pytest.raises(FileExistsError, match="exists"):
            write_folder(tmp_path / "model")


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_output_that_cannot_be_written_is_refused(tmp_path, monkeypatch, overwrite):
    (tmp_path / "out.csv").write_text("old")
    for name in ("out.csv/model", "out.csv/new/model"):
        with pytest.raises(NotADirectoryError, match=r"cannot be written: .*out\.csv is a file, not a folder"):
            write_folder(tmp_path / name, overwrite=overwrite)
    with pytest.raises(IsADirectoryError, match="is a folder: name a file"):
        write_file(tmp_path, overwrite=overwrite)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileExistsError, match="pipe is not a regular file"):
        write_file(tmp_path / "pipe", overwrite=overwrite)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(PermissionError, match="nothing may be written to the folder"):
        write_file(tmp_path / "new.csv", overwrite=overwrite)


def test_a_link_that_leads_nowhere_is_an_output_that_exists(tmp_path):
    (tmp_path / "out.csv").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError, match="exists"):
        write_file(tmp_path / "out.csv")


def test_only_a_folder_of_ours_is_ever_replaced(tmp_path):
    (tmp_path / "letters").mkdir()
    write_folder(tmp_path / "letters", overwrite=True)
    (tmp_path / "letters" / "mark.json").unlink()
    with pytest.raises(FileExistsError, match=r"not a folder with a mark\.json: it will not be replaced"):
        write_folder(tmp_path / "letters", overwrite=True)
    for others in ("{}", "Dear mother", '{"digest": 1, "format": 1, "llpgan": "0.1.0"}'):
        (tmp_path / "letters" / "mark.json").write_text(others)
        with pytest.raises(FileExistsError, match="is not a file as llpgan left it: it will not be replaced"):
            write_folder(tmp_path / "letters", overwrite=True)
    assert names(tmp_path / "letters") == ["data", "mark.json", "page.html"]


def test_files_of_others_stay_in_a_folder_that_is_replaced(tmp_path):
    write_folder(tmp_path / "model", "old")
    (tmp_path / "model" / "people.csv").write_text("mine")
    write_folder(tmp_path / "model", overwrite=True, pages=())
    assert names(tmp_path / "model") == ["data", "mark.json", "people.csv"]
    (tmp_path / "model" / "page.html").write_text("mine")  # the folder was saved without one
    with pytest.raises(FileExistsError, match=r"page\.html is not a file as llpgan left it"):
        write_folder(tmp_path / "model", overwrite=True)
    assert (tmp_path / "model" / "page.html").read_text() == "mine"


def test_pages_that_are_paths_are_not_ours(tmp_path):
    write_folder(tmp_path / "model")
    (tmp_path / "letter").write_text("mine")
    write_sealed(tmp_path / "model" / "mark.json", {"pages": ["../letter", "page.html"]}, 1)
    write_folder(tmp_path / "model", overwrite=True)
    assert (tmp_path / "letter").read_text() == "mine"
    write_sealed(tmp_path / "model" / "mark.json", {"pages": 3}, 1)
    with pytest.raises(FileExistsError, match=r"page\.html is not a file as llpgan left it"):
        write_folder(tmp_path / "model", overwrite=True)


def test_a_folder_behind_a_link_is_replaced_where_it_is(tmp_path):
    write_folder(tmp_path / "real", "old")
    (tmp_path / "link").symlink_to("real")
    write_folder(tmp_path / "link", overwrite=True)
    assert names(tmp_path) == ["link", "real"]
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "data").read_text() == "new"


def test_the_next_writer_clears_up_and_recovers(tmp_path):
    write_folder(tmp_path / "model", "old")
    (tmp_path / "model").rename(tmp_path / ".llpgan-old-model")  # killed between the two renames
    (tmp_path / ".llpgan-77-model").mkdir()
    (tmp_path / ".llpgan-77-model" / "data").write_text("new")
    with pytest.raises(FileExistsError, match="model exists"):
        write_folder(tmp_path / "model")
    assert names(tmp_path) == ["model"]
    assert (tmp_path / "model" / "data").read_text() == "old"


def ways_to(path, tmp_path):
    """The same file by its name, through a folder and back, by links, and by a second name."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "link to folder").symlink_to(path.parent)
    (tmp_path / "second").hardlink_to(path)
    through = tmp_path / "folder" / ".." / path.name
    return [path, through, tmp_path / "link", tmp_path / "link to folder" / path.name, tmp_path / "second"]


def test_an_input_is_never_an_output_whatever_it_is_called(tmp_path):
    people = tmp_path / "people.csv"
    people.write_text("mine")
    ways = ways_to(people, tmp_path)
    for out in ways:
        for given in ways:
            with pytest.raises(
                ValueError, match=re.escape(f"{out} is an input, or in one ({given}), and would be")
            ):
                write_file(out, overwrite=True, inputs=["not a path of anything", None, {}, str(given)])
    assert people.read_text() == "mine"


def test_a_file_of_an_input_folder_is_not_replaced_but_a_new_one_may_be_written_there(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "0.parquet").write_text("mine")
    with pytest.raises(ValueError, match=r"is an input, or in one"):
        write_file(tmp_path / "parts" / "0.parquet", overwrite=True, inputs=[tmp_path / "parts"])
    write_file(tmp_path / "parts" / "new.csv", inputs=[tmp_path / "parts"])


def test_a_folder_with_an_input_in_it_is_not_replaced(tmp_path):
    write_folder(tmp_path / "model")
    (tmp_path / "model" / "people.csv").write_text("mine")
    (tmp_path / "link.csv").symlink_to(tmp_path / "model" / "people.csv")
    for given in (tmp_path / "model" / "people.csv", tmp_path / "link.csv"):
        with pytest.raises(ValueError, match=r"the input .* is in the output .*model: name another output"):
            write_folder(tmp_path / "model", overwrite=True, inputs=[given])


def test_inputs_elsewhere_are_no_matter(tmp_path):
    (tmp_path / "people.csv").write_text("mine")
    refuse_input(tmp_path / "out.csv", [tmp_path / "people.csv", "nowhere.csv", None])
    refuse_input(tmp_path / "people", [tmp_path / "people.csv"])
