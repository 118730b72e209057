"""What the documentation site is made of: pages of all public names, links, and the table of methods."""

import re
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
from benchmarks.accuracy import which_method

import llpgan

ROOT = Path(__file__).parent.parent


@pytest.fixture
def tools(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    pytest.importorskip("sphinx", reason="Sphinx is not installed")
    return lambda name: import_module(name)


def test_every_package_with_public_names_is_in_the_reference(tools):
    found = walk_packages(llpgan.__path__, "llpgan.")
    modules = ["llpgan", *(module.name for module in found if not module.name.endswith("__main__"))]
    public = {name for name in modules if hasattr(import_module(name), "__all__")}
    assert set(tools("public_names").PACKAGES) == public


def test_every_public_name_has_one_page(tools, tmp_path):
    api_pages = tools("api_pages")
    api_pages.write(tmp_path)
    for (package, name), public in api_pages.public_names().items():
        page = (tmp_path / f"{public.path}.rst").read_text()
        assert f":doc:`{name} <{public.path}>`" in (tmp_path / f"{package}.rst").read_text()
        assert public.path == f"{public.package}.{public.name}"
        assert public.name in page
    assert api_pages.public_names()["llpgan.bags", "Bags"].path == "llpgan.Bags"
    assert ".. automethod:: from_tables" in (tmp_path / "llpgan.Bags.rst").read_text()


def test_a_page_of_a_name_that_is_gone_is_removed(tools, tmp_path):
    (tmp_path / "llpgan.Gone.rst").write_text("Gone")
    tools("api_pages").write(tmp_path)
    assert not (tmp_path / "llpgan.Gone.rst").exists()


def test_a_constant_without_a_comment_is_refused(tools, monkeypatch):
    monkeypatch.setattr(sys.modules["llpgan.bags"], "SECRET", 3, raising=False)
    monkeypatch.setattr(sys.modules["llpgan.bags"], "__all__", ["SECRET"])
    api_pages = tools("api_pages")
    api_pages.public_names.cache_clear()
    with pytest.raises(ValueError, match=r"llpgan\.bags\.SECRET: a public constant needs a comment"):
        list(api_pages._pages())
    api_pages.public_names.cache_clear()


def test_links_that_lead_nowhere_are_found(tools, tmp_path):
    check = tools("check_site")
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">1</a><a href="c.html">2</a><a href="https://x.example">3</a>'
    )
    (tmp_path / "b.html").write_text('<p id="there"><a href="#gone">4</a><img src="picture%20one.png">')
    (tmp_path / "picture one.png").touch()
    pages = {path.resolve(): check.Page(path) for path in tmp_path.glob("*.html")}
    wrong = sorted(check.dead_links(tmp_path, pages))
    assert wrong == ["a.html: c.html does not exist", "b.html: #gone leads to no place in its page"]


def test_the_table_of_methods_is_that_of_the_rows():
    page = which_method.PAGE.read_text(encoding="utf-8")
    assert which_method.replace_table(page, which_method.summary()) == page, (
        "run python -m benchmarks which_method"
    )
    deep = which_method.replace_table(page, which_method.deep_summary(), which_method.DEEP_TABLE)
    assert deep == page, "run python -m benchmarks which_method"
    with pytest.raises(ValueError, match="must have one table"):
        which_method.replace_table("no table", which_method.summary())


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "methods").glob("*.md")), ids=lambda page: page.stem)
def test_a_method_page_says_when_to_use_it_before_its_equation_and_ends_with_references(page):
    text = page.read_text()
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings[:3] == ["When to use it", "Equation", "Example"]
    assert headings[-1] == "References"
    assert "```math" in text.partition("## Equation")[2].partition("## Example")[0]
    references = text.partition("## References")[2]
    assert "\n- " in references or "described on this page only" in references


def test_pages_of_results_have_titles_of_their_own():
    titles = [page.read_text().partition("\n")[0] for page in (ROOT / "results").glob("*.md")]
    assert sorted(set(titles)) == sorted(titles)


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda example: example.stem)
def test_an_example_needs_nothing_that_is_not_in_the_wheel(example):
    imported = re.findall(r"^ *(?:from|import) (\w+)", example.read_text(), re.MULTILINE)
    assert not {"reproduction", "benchmarks", "tests", "tools"} & set(imported)
