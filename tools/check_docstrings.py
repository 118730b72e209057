"""Check with numpydoc that everything public (``public_names.py``) is documented; ``make lint`` runs it."""

import inspect
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module
from typing import Any

from numpydoc.docscrape import ClassDoc, get_doc_object
from numpydoc.validate import ERROR_MSGS, validate
from sklearn.utils._param_validation import StrOptions

from public_names import PACKAGES, is_property, public_members

NOT_ASKED_FOR = {
    "ES01",  # a summary of one line can say it all
    "SA01",  # asked for where users start: see ASKED_OF_MAIN_NAMES
    "EX01",  # the same
    "YD01",  # an iterator is documented by Returns or Yields
}
ASKED_OF_MAIN_NAMES = {"SA01", "EX01"}  # of what `llpgan.__all__` lists
ASKED_OF_PROPERTIES = {"GL08", "SS01", "SS02", "SS03", "SS06"}


def main() -> int:
    """Print what is wrong, and return 1 if anything is."""
    warnings.simplefilter("ignore", FutureWarning)  # of old names, which are read with all others
    wrong = [f"{name}: {said}" for name, thing, asked in public_things() for said in faults(name, thing, asked)]
    print("\n".join([*wrong, f"{len(wrong)} faults in the docstrings of the public interface"]))
    return 1 if wrong else 0


def public_things() -> Iterator[tuple[str, Any, set[str]]]:
    """All public names, what they name, and the checks that it must pass."""
    seen = set()
    for package in PACKAGES:
        for name in import_module(package).__all__:
            thing = getattr(import_module(package), name)
            if not (inspect.isclass(thing) or inspect.isfunction(thing)) or thing in seen:
                continue
            seen.add(thing)
            usual = set(ERROR_MSGS) - NOT_ASKED_FOR
            yield f"{package}.{name}", thing, usual | (ASKED_OF_MAIN_NAMES if package == "llpgan" else set())
            if inspect.isclass(thing):
                yield from members(f"{package}.{name}", thing, usual)


def members(name: str, cls: type, usual: set[str]) -> Iterator[tuple[str, Any, set[str]]]:
    """The public methods and properties of a class, and the checks that they must pass."""
    for member, thing in public_members(cls):
        if is_property(thing):
            yield f"{name}.{member}", thing, usual & ASKED_OF_PROPERTIES
        else:
            yield f"{name}.{member}", getattr(cls, member), usual


def faults(name: str, thing: Any, asked: set[str]) -> Iterator[str]:
    """What numpydoc finds wrong, but for what our rules on dataclasses and estimators allow."""
    for code, said in validate(name)["errors"]:
        if code in asked and not (inspect.isclass(thing) and is_allowed(thing, code)):
            yield f"{code} {said}"
    if inspect.isclass(thing) and (is_dataclass(thing) or issubclass(thing, tuple)):
        yield from undocumented_fields(thing)
    if callable(thing) and not (inspect.isclass(thing) and issubclass(thing, Exception)):
        yield from wrong_defaults(thing)
    if inspect.isclass(thing) and hasattr(thing, "_parameter_constraints"):
        yield from wrong_options(thing)


def is_allowed(cls: type, code: str) -> bool:
    """Whether a class may do without.

    The fields of a dataclass or a named tuple stand under Parameters or Attributes, which
    :func:`undocumented_fields` checks. Parameters that are passed by keyword have no order, so those of a method
    may stand before those it shares.
    """
    if code == "PR03":
        return all(p.kind is p.KEYWORD_ONLY for p in inspect.signature(cls).parameters.values())
    has_no_init = issubclass(cls, tuple) or getattr(cls, "_is_protocol", False)
    return code == "PR01" and (is_dataclass(cls) or has_no_init)


def undocumented_fields(cls: type) -> Iterator[str]:
    """Fields of a dataclass or a named tuple that its docstring does not explain."""
    documented = ClassDoc(cls)
    known = {entry.name for section in ("Parameters", "Attributes") for entry in documented[section] if entry.desc}
    for name in inspect.signature(cls).parameters:
        if name not in known:
            yield f"PR01 field {name!r} is neither under Parameters nor under Attributes"


def wrong_defaults(thing: Any) -> Iterator[str]:
    """Defaults that the docstring states, but the signature does not have."""
    stated = get_doc_object(thing)["Parameters"]
    actual = {name: parameter.default for name, parameter in inspect.signature(thing).parameters.items()}
    for entry in stated:
        before, _, said = entry.type.rpartition("default=")
        default = actual.get(entry.name, inspect.Parameter.empty)
        is_optional = default is not inspect.Parameter.empty
        if bool(before) != is_optional or (is_optional and said not in as_written(default)):
            yield f"DF01 {entry.name!r} should state default={default!r}, not {entry.type!r}"


def wrong_options(cls: Any) -> Iterator[str]:
    """Parameters with a choice of names whose docstring does not state these names, as {"a", "b"}."""
    for entry in ClassDoc(cls)["Parameters"]:
        allowed = cls._parameter_constraints.get(entry.name, ())
        choices = [each.options for each in allowed if isinstance(each, StrOptions)]
        stated = set(re.findall(r'"(\w+)"', entry.type.partition(", default=")[0]))
        if (real := set().union(*choices)) != stated:
            yield f"OP01 {entry.name!r} should state the names {sorted(real)}, not {entry.type!r}"


def as_written(default: Any) -> set[str]:
    """The ways in which a docstring may write a default: code by its name, text in double quotes."""
    if inspect.isfunction(default) or inspect.isclass(default):
        return {default.__name__, f"torch.nn.{default.__name__}"}
    short = f"{default:.0e}".replace("e-0", "e-") if isinstance(default, float) else repr(default)
    return {repr(default).replace("'", '"'), short}


if __name__ == "__main__":
    sys.exit(main())
