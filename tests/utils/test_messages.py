"""Placeholders in docstrings of classes are filled from the base class and from what methods share."""

from dataclasses import fields

import pytest

import llpgan
from llpgan.methods import METHODS
from llpgan.utils.messages import fill_docstring


class Base:
    """A base.

    Parameters
    ----------
    size : int
        How large it is,
        in metres.
    colour : str
        How it looks.

    Attributes
    ----------
    size_ : int
        How large it came out.
    """


def with_docstring(docstring, base=Base):
    return fill_docstring(type("Special", (base,), {"__doc__": docstring}))


def test_a_shared_entry_stands_instead_of_the_inherited_one_of_its_name():
    docstring = """A special case.

    Parameters
    ----------
    {own_loss: counts}
    {inherited}
    """
    base = type("Base", (), {"__doc__": "A base.\n\nParameters\n----------\nproportion_loss : str\n    Any.\n"})
    found = with_docstring(docstring, base)
    assert 'proportion_loss : {"counts"}, default="counts"' in found
    assert found.count("proportion_loss : ") == 1


def test_an_entry_that_goes_on_after_a_backslash_is_one_line():
    found = with_docstring("""A special case.

    Parameters
    ----------
    kind : {"a", "b"} \
            or callable, default="a"
        Which one.
    """)
    assert 'kind : {"a", "b"} or callable, default="a"' in found


def test_inherited_entries_come_from_the_same_section_without_those_of_the_class_itself():
    docstring = """A special case.

    Parameters
    ----------
    colour : str
        Red.
    {inherited}

    Attributes
    ----------
    {inherited}
    """
    assert with_docstring(docstring).split("\n") == [
        "A special case.",
        "",
        "Parameters",
        "----------",
        "colour : str",
        "    Red.",
        "size : int",
        "    How large it is,",
        "    in metres.",
        "",
        "Attributes",
        "----------",
        "size_ : int",
        "    How large it came out.",
        "",
    ]


def test_shared_entries_take_the_text_after_the_colon():
    assert "tol : float, default=1e-4\n" in with_docstring("Special.\n\nParameters\n----------\n{tol: 1e-4}\n")


def test_braces_in_formulas_stay():
    formula = "Minimizes\n\n    Σ_{i<j} v_{ij}\n\nover all weights.\n"
    assert with_docstring(formula) == formula


def test_a_class_without_docstring_has_none():
    assert with_docstring(None) is None


def test_placeholders_that_stand_for_nothing_are_refused():
    with pytest.raises(KeyError, match="tolerance"):
        with_docstring("Special.\n\nParameters\n----------\n{tolerance: 1}\n")
    with pytest.raises(ValueError, match="Special: no class that it derives from documents its Parameters"):
        with_docstring("Special.\n\nParameters\n----------\n{inherited}\n", base=object)


@pytest.mark.parametrize("method", METHODS)
def test_the_docstring_of_a_method_explains_every_parameter_once(method):
    cls = getattr(llpgan, method)
    lines = cls.__doc__.split("\n")
    for field in fields(cls):
        assert sum(line.startswith(f"{field.name} : ") for line in lines) == 1, field.name
    assert not any(line.startswith("{") for line in lines)
