"""Sphinx's settings. The source folder is the repository, so that every page stays where GitHub shows it.

``make docs`` runs ``sphinx-build -W -c docs/site . docs/_build/html``.
"""

import os
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "src")]

from docutils import nodes  # noqa: E402
from pygments.lexers.special import TextLexer  # noqa: E402
from sphinx.addnodes import pending_xref  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402
from sphinx.environment import BuildEnvironment  # noqa: E402
from sphinx.util.nodes import make_refnode  # noqa: E402

import api_pages  # noqa: E402
from llpgan.methods import METHODS, docs_page  # noqa: E402
from llpgan.utils.version import __version__  # noqa: E402

project = "llpgan"
author = "The llpgan maintainers"
copyright = author  # noqa: A001
version = release = __version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc", "myst_parser", "sphinx_gallery.gen_gallery"]

root_doc = "docs/site/index"
include_patterns = ["docs/**", "results/**.md", "CHANGELOG.md", "CONTRIBUTING.md"]
exclude_patterns = [".*", "src", "tests", "tools", "benchmarks", "examples", "demo", "docs/_build", "docs/**/_*"]

# Pages on folders that other pages link to, as GitHub shows them.
FOLDER_PAGES = {
    "docs/methods": "docs/site/methods",
    "results/reproduction/cpu": "docs/site/results",
}

myst_heading_anchors = 4
myst_fence_as_directive = ["math"]  # equations, in the form that GitHub shows too
highlight_language = "none"  # blocks without a language are commands
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # docstrings give the types, in words
numpydoc_show_class_members = False  # api_pages.py lists them
numpydoc_validation_checks: set[str] = set()  # tools/check_docstrings.py checks them

html_theme = "pydata_sphinx_theme"
html_title = f"llpgan {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "_static/favicon.svg"
html_extra_path = ["extra"]
html_copy_source = False
html_show_sourcelink = False
html_context = {"default_mode": "auto"}  # without it the theme writes an error to the console
html_theme_options = {
    "logo": {"text": "llpgan"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

sphinx_gallery_conf = {
    "examples_dirs": ["examples"],
    "gallery_dirs": ["docs/site/gallery"],
    "filename_pattern": r"\.py$",  # every example runs
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "plot_gallery": True,
    "copyfile_regex": r"",
    "within_subsection_order": "FileNameSortKey",
    "matplotlib_animations": False,
    "download_all_examples": True,
    "doc_module": (),
    "reference_url": {},
    "ignore_repr_types": r"matplotlib|<class 'list'>",  # what calls that draw return
}

# Examples are small, so that a second thread only waits; MLflow sends nothing, and prints no progress.
os.environ |= {
    "OMP_NUM_THREADS": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
}
warnings.filterwarnings("ignore", message=".*non-interactive.*")
warnings.filterwarnings("ignore", message=".* is now .*", category=FutureWarning)  # autodoc looks at old names


def link_method(app: Sphinx, page: str, source: list[str]) -> None:
    """Let the page of a method lead to its class; api_pages.py has the way back."""
    if page.startswith("docs/methods/"):
        names = [name for name in METHODS if docs_page(name) == Path(page).name]
        links = ", ".join(f"{{py:class}}`llpgan.{name}`" for name in names)
        source[0] += f"\n## API\n\nAll parameters and attributes: {links}.\n"


def link_folders(app: Sphinx, doctree: nodes.document) -> None:
    """Let links to folders lead to the pages that tell what is in them."""
    here = Path(app.env.doc2path(app.env.docname)).parent
    for link in doctree.findall(pending_xref):
        if link["reftype"] != "myst":
            continue
        target = (here / link["reftarget"]).resolve()
        if target.is_relative_to(ROOT) and (page := FOLDER_PAGES.get(target.relative_to(ROOT).as_posix())):
            link.attributes |= {"refdomain": "doc", "reftarget": page, "reftargetid": None}


def link_other_names(
    app: Sphinx, env: BuildEnvironment, link: pending_xref, text: nodes.Element
) -> nodes.Element | None:
    """Let a name that several packages list, or the module that defines it, lead to its one page."""
    package, _, name = link.get("reftarget", "").rpartition(".")
    for (listed_in, listed_as), public in api_pages.public_names().items():
        if name == listed_as and package in (listed_in, getattr(public.thing, "__module__", None)):
            page = f"docs/site/api/{public.path}"
            return make_refnode(app.builder, link["refdoc"], page, public.path, text)
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the API reference, and show blocks of CSV as the text that they are."""
    api_pages.write(ROOT / "docs" / "site" / "api")
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", link_method)
    app.connect("doctree-read", link_folders)
    app.connect("missing-reference", link_other_names)
    return {"parallel_read_safe": True}
