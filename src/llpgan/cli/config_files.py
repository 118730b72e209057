"""Config files, looked at before they are parsed: text of a few plain values, not a trap."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import yaml

_DEEPEST = 32  # lists and mappings in each other
_MOST_BYTES = 2**20


def config_files(options: Sequence[str]) -> list[Path]:
    """The files that options name as their config.

    >>> config_files(["people.csv", "--config", "a.yaml", "--config=b.yaml"])
    [PosixPath('a.yaml'), PosixPath('b.yaml')]
    """
    given = [after for option, after in pairwise(options) if option == "--config"]
    given += [option.removeprefix("--config=") for option in options if option.startswith("--config=")]
    return [Path(name) for name in given]


def refuse_bad_config(path: Path) -> None:
    """Refuse a file that is not YAML, or would grow beyond all bounds when it is read."""
    if not path.exists():
        return  # which the parser says
    if not path.is_file():
        raise ValueError(f"--config: {path} is not a file, but a folder, a pipe or a device")
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"--config: {path} has more than {_MOST_BYTES:,} bytes: this is not a file of options")
    try:
        _refuse_growing(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"--config: {path} is not text in UTF-8") from None
    except yaml.YAMLError as error:
        raise ValueError(f"--config: {path} is not YAML: {' '.join(str(error).split())}") from error
    except ValueError as error:
        raise ValueError(f"--config: {path} {error}") from None


def _refuse_growing(text: str) -> None:
    """An alias may stand for a list of aliases, and so on: a few lines for billions of values."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            line = event.start_mark.line + 1
            raise ValueError(f"has an alias (*{event.anchor}) in line {line}: write out the value it stands for")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ValueError(f"is nested more than {_DEEPEST} deep")
