"""Rows of results on disk."""

from pathlib import Path
from typing import Any

Row = dict[str, Any]
RESULTS = Path(__file__).parent.parent / "results"


def write_aside(path: Path, text: str) -> None:
    """Replace a file in one step, so that a kill leaves the old one whole."""
    aside = path.with_name(path.name + ".part")
    aside.write_text(text)
    aside.replace(path)
