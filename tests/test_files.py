import pytest

from llpgan.files import refuse_existing, whole_file, whole_folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_takes_its_name_when_it_is_complete(tmp_path):
    with whole_file(tmp_path / "new" / "out.csv") as aside:
        aside.write_text("a,b\n")
        assert aside.suffix == ".csv"
        assert not (tmp_path / "new" / "out.csv").exists()
    assert (tmp_path / "new" / "out.csv").read_text() == "a,b\n"
    assert names(tmp_path / "new") == ["out.csv"]


def test_a_file_that_fails_leaves_the_old_one(tmp_path):
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(RuntimeError), whole_file(tmp_path / "out.csv") as aside:
        aside.write_text("half of the n")
        raise RuntimeError
    assert names(tmp_path) == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "old"


def test_a_folder_replaces_another_as_a_whole(tmp_path):
    for text in ("old", "new"):
        with whole_folder(tmp_path / "model") as aside:
            (aside / text).write_text(text)
    assert names(tmp_path) == ["model"]
    assert names(tmp_path / "model") == ["new"]


def test_a_folder_that_fails_leaves_the_old_one(tmp_path):
    with whole_folder(tmp_path / "model") as aside:
        (aside / "old").write_text("old")
    with pytest.raises(RuntimeError), whole_folder(tmp_path / "model") as aside:
        (aside / "new").write_text("new")
        raise RuntimeError
    assert names(tmp_path) == ["model"]
    assert names(tmp_path / "model") == ["old"]


def test_an_output_that_exists_is_refused(tmp_path):
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(FileExistsError, match=r"out\.csv exists: name another output, or .*overwrite"):
        refuse_existing(tmp_path / "out.csv", overwrite=False)
    refuse_existing(tmp_path / "out.csv", overwrite=True)
    refuse_existing(tmp_path / "new.csv", overwrite=False)


def test_only_a_folder_of_ours_is_ever_replaced(tmp_path):
    (tmp_path / "letters").mkdir()
    refuse_existing(tmp_path / "letters", overwrite=True, mark="model.json")
    (tmp_path / "letters" / "to_mother.txt").write_text("Dear mother")
    with pytest.raises(FileExistsError, match=r"not a folder with a model\.json: it will not be replaced"):
        refuse_existing(tmp_path / "letters", overwrite=True, mark="model.json")
    with pytest.raises(IsADirectoryError, match="is a folder: name a file"):
        refuse_existing(tmp_path / "letters", overwrite=True)
