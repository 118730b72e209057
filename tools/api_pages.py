"""Write the pages of the API reference: one page for each package, and one for each public name.

``docs/site/conf.py`` calls :func:`write` before Sphinx reads the sources. A name that several packages list has
one page, under the first of them in ``PACKAGES``, to which the others link.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from sphinx.pycode import ModuleAnalyzer

from llpgan.methods import METHODS, docs_page
from public_names import PACKAGES, is_property, public_members


class PublicName(NamedTuple):
    """A public name, the package under which it has its page, and what it names."""

    package: str
    name: str
    thing: Any

    @property
    def path(self) -> str:
        """The name as users import it, which is also the name of its page."""
        return f"{self.package}.{self.name}"


def write(folder: Path) -> None:
    """Write all pages into a folder; a page that is already as it should be is not touched."""
    pages = dict(_pages())
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.rst"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


@cache
def public_names() -> dict[tuple[str, str], PublicName]:
    """The name that has the page, for each package and each name that the package lists."""
    homes: dict[Any, PublicName] = {}
    found = {}
    for package in PACKAGES:
        for name in import_module(package).__all__:
            thing = getattr(import_module(package), name)
            key = thing if inspect.isclass(thing) or inspect.isfunction(thing) else (package, name)
            found[package, name] = homes.setdefault(key, PublicName(package, name, thing))
    return found


def _pages() -> Iterator[tuple[str, str]]:
    names = public_names()
    yield "index", _index(names)
    for package in PACKAGES:
        yield package, _package_page(package, [found for (home, _), found in names.items() if home == package])
    for found in dict.fromkeys(found.path for found in names.values()):
        (public,) = {id(each): each for each in names.values() if each.path == found}.values()
        if not isinstance(public.thing, ModuleType):
            yield public.path, _name_page(public)


def _index(names: dict[tuple[str, str], PublicName]) -> str:
    packages = [
        f"   * - :doc:`{package} <{package}>`\n     - {_summary(import_module(package))}" for package in PACKAGES
    ]
    toctree = "\n".join(f"   {package}" for package in PACKAGES)
    return (
        f"{_title('API reference')}\n"
        f"Everything public: {len({found.path for found in names.values()})} names in {len(PACKAGES)} packages. "
        "Names are documented where users import them from.\n\n"
        ".. list-table::\n   :widths: 30 70\n   :class: packages\n\n" + "\n".join(packages) + "\n\n"
        f".. toctree::\n   :hidden:\n\n{toctree}\n"
    )


def _package_page(package: str, names: list[PublicName]) -> str:
    own = [found.path for found in names if found.package == package and not isinstance(found.thing, ModuleType)]
    toctree = "".join(f"   {path}\n" for path in sorted(own, key=str.lower))
    kinds: dict[str, Callable[[object], bool]] = {"Classes": inspect.isclass, "Functions": inspect.isfunction}
    parts = [_title(package), f".. py:module:: {package}\n", (import_module(package).__doc__ or "").strip() + "\n"]
    left = list(names)
    for title, is_kind in kinds.items():
        parts.append(_table(title, [found for found in left if is_kind(found.thing)]))
        left = [found for found in left if not is_kind(found.thing)]
    parts.append(_table("Packages and constants", left))
    if own:
        parts.append(f".. toctree::\n   :hidden:\n\n{toctree}")
    return "\n".join(part for part in parts if part)


def _table(title: str, names: list[PublicName]) -> str:
    if not names:
        return ""
    rows = "\n".join(
        f"   * - :doc:`{found.name} <{found.path}>`\n     - {_summary(found.thing, found)}"
        for found in sorted(names, key=lambda found: found.name.lower())
    )
    return f".. rubric:: {title}\n\n.. list-table::\n   :widths: 35 65\n   :class: names\n\n{rows}\n"


def _name_page(public: PublicName) -> str:
    head = f"{_title(public.name)}\n.. currentmodule:: {public.package}\n\n"
    if inspect.isclass(public.thing):
        return head + _class(public)
    if inspect.isfunction(public.thing):
        return f"{head}.. autofunction:: {public.name}\n"
    comment = "\n   ".join(_comment(public).splitlines())
    return f"{head}.. py:data:: {public.name}\n\n   {comment}\n"


def _class(public: PublicName) -> str:
    parts = [f".. autoclass:: {public.name}\n"]
    for member, thing in public_members(public.thing):
        kind = "autoproperty" if is_property(thing) else "automethod"
        parts.append(f"   .. {kind}:: {member}\n")
    if public.name in METHODS:
        page = f"/docs/methods/{docs_page(public.name)}"
        parts.append(f".. seealso::\n\n   :doc:`When to use it, its equation and its references <{page}>`.\n")
    return "\n".join(parts)


def _summary(thing: Any, public: PublicName | None = None) -> str:
    if inspect.isclass(thing) or inspect.isfunction(thing) or isinstance(thing, ModuleType):
        text = inspect.getdoc(thing) or ""
    else:
        assert public is not None
        text = _comment(public)
    return " ".join(text.split("\n\n")[0].split())


def _comment(public: PublicName) -> str:
    """The comment that begins with ``#:`` above a constant, in the module that defines it."""
    root = public.package
    for name, module in list(sys.modules.items()):
        is_inside = name == root or name.startswith(f"{root}.")
        if is_inside and getattr(module, public.name, None) is public.thing:
            docs = ModuleAnalyzer.for_module(name).find_attr_docs()
            if ("", public.name) in docs:
                return "\n".join(docs["", public.name]).strip()
    raise ValueError(f"{public.path}: a public constant needs a comment that begins with '#:' above it")


def _title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n"
