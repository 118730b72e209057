"""What a release says of itself."""

import re
import tomllib
from pathlib import Path

from llpgan import __version__

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_changelog_begins_with_this_version():
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert first is not None
    assert first[1] == __version__


def test_the_version_has_one_source():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/llpgan/utils/version.py"
    assert not re.search(r"^version:", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_codebook_travels_with_its_data():
    taken_along = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    (codebook,) = taken_along
    assert (ROOT / codebook).is_file()
    assert taken_along[codebook] == "llpgan/data/election2016/codebook.md"
