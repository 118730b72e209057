from reproduction import commands as command


def test_data_get_fetches_and_says_where(tmp_path, monkeypatch, capsys):
    asked = []

    def download(name, to, *, progress):
        asked.append((name, to))
        progress("file.gz", 5, None)
        progress("file.gz", 10, 10)
        return tmp_path / name

    monkeypatch.setattr(command, "download", download)
    assert command.main(["get", "mnist", "--to", str(tmp_path)]) == 0
    assert asked == [("mnist", str(tmp_path))]
    assert "mnist is in" in capsys.readouterr().err


def test_an_unknown_data_set_is_named(tmp_path, capsys):
    assert command.main(["get", "mnits", "--to", str(tmp_path)]) == 1
    assert "no data set 'mnits' to download; there are mnist" in capsys.readouterr().err
