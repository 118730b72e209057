"""Signatures as help() shows them: short names of types, not unions of numpy's and torch's own."""

import inspect
from importlib import import_module

import pytest

NAMES = ["bags", "ecological", "evaluation", "persistence", "report"]
PACKAGES = ["llpgan", *(f"llpgan.{name}" for name in NAMES)]


def public_functions():
    for package in PACKAGES:
        module = import_module(package)
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                yield f"{package}.{name}", thing
            elif inspect.isclass(thing):
                for member, method in inspect.getmembers(thing, inspect.isroutine):
                    own = getattr(method, "__module__", None) or ""
                    if own.startswith("llpgan") and (member == "__init__" or member[0] != "_"):
                        yield f"{package}.{name}.{member}", method


@pytest.mark.filterwarnings("ignore:.* is now:FutureWarning")
def test_no_signature_spells_out_what_an_alias_names():
    found = {name: str(inspect.signature(function)) for name, function in public_functions()}
    assert len(found) > 300
    long = {n: s for n, s in found.items() if any(word in s for word in ("Union[", "numpy.", "torch.", "_typing"))}
    assert long == {}


def test_the_signature_of_fit_is_short():
    from llpgan import LLPGAN, Bags

    assert len(str(inspect.signature(LLPGAN.fit))) < 120
    shown = str(inspect.signature(Bags.from_labels))
    assert "ArrayLike" in shown
    assert len(shown) < 200
