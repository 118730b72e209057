"""Parts of docstrings that several estimators share."""

import re
from inspect import cleandoc

SHARED = {
    "tol": """\
tol : float, default={0}
    The search stops when no component of the gradient of the mean loss is larger than this.""",
    "own_loss": """\
proportion_loss : {{"{0}"}}, default="{0}"
    The loss of this method, which cannot be changed.""",
    "example": """\
Examples
--------
>>> import numpy as np
>>> from llpgan import {0}
>>> X = np.arange(40.0)[:, None]
>>> y, bag = (X[:, 0] >= 20).astype(int), np.arange(40) // 8
>>> {0}(random_state=0).fit(X, y, groups=bag).predict([[3.0], [35.0]])
array([0, 1])""",
    "random_state": """\
random_state : int, RandomState instance or None, default=None
    Controls the randomness of the fit: {0}.
    Pass an integer for the same result in every call.""",
}

_SHARED_ENTRY = re.compile(r"^\{(\w+): ([^}]*)\}$")
_CONTINUED = re.compile(r"(?<=[,}]) {2,}(?=or callable|default=)")  # an entry on two lines, after a backslash
_UNDERLINE = re.compile(r"^-{3,}$")


def fill_docstring(cls: type) -> str | None:
    """Fill the placeholders in the docstring of a class.

    Parameters
    ----------
    cls : type
        The class. Its bases are documented, and their docstrings filled.

    Returns
    -------
    str or None
        The docstring without placeholders; None if the class has none.
    """
    if cls.__doc__ is None:
        return None
    text = _fill_shared_entries(cleandoc(cls.__doc__))
    own = _parse_entries(text)
    lines: list[str] = []
    section = ""
    for before, line in _pair_with_previous(text):
        section = before if _UNDERLINE.match(line) else section
        if line == "{inherited}":
            from_base = _inherited_entries(cls, section).items()
            lines += [each for name, entry in from_base if name not in own.get(section, ()) for each in entry]
        else:
            lines.append(line)
    return "\n".join([*lines, ""])


def _fill_shared_entries(text: str) -> str:
    lines = (_CONTINUED.sub(" ", line) for line in text.split("\n"))
    return "\n".join(
        SHARED[found[1]].format(found[2]) if (found := _SHARED_ENTRY.match(line)) else line for line in lines
    )


def _pair_with_previous(text: str) -> list[tuple[str, str]]:
    lines = text.split("\n")
    return list(zip(["", *lines], lines, strict=False))


def _inherited_entries(cls: type, section: str) -> dict[str, list[str]]:
    """The entries of a section in the nearest base that has it."""
    for base in cls.__mro__[1:]:
        if entries := _parse_entries(base.__doc__ or "").get(section):
            return entries
    raise ValueError(f"{cls.__name__}: no class that it derives from documents its {section}")


def _parse_entries(docstring: str) -> dict[str, dict[str, list[str]]]:
    """Of each section that lists names: the lines of each entry, by name."""
    sections: dict[str, dict[str, list[str]]] = {}
    section, name = "", ""
    for before, line in _pair_with_previous(cleandoc(docstring)):
        if _UNDERLINE.match(line):
            section, name = before, ""
        elif " : " in line and not line.startswith(" "):
            name = line.partition(" : ")[0]
            sections.setdefault(section, {})[name] = [line]
        elif line.startswith(" ") and name:
            sections[section][name].append(line)
    return sections
