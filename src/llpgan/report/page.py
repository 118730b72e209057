"""Pages as one HTML file that loads nothing."""

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import ModuleType
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from llpgan.report import charts, formatting, report_tables, summary_words
from llpgan.report.data_tables import MOST_ROWS
from llpgan.report.image_mosaics import png
from llpgan.report.story import Story
from llpgan.utils.version import __version__


def render(story: Story) -> str:
    """Render the report as one HTML page.

    The page includes its pictures, charts, style and script, and loads nothing. The script sorts and searches
    tables, and shows the text of a mark. Without it, the page is complete. Save it as UTF-8.

    Parameters
    ----------
    story : Story
        The content of the page.

    Returns
    -------
    str
        The page.
    """
    return render_template("model_page.html.j2", story.title, sections_of(story), story=story, png=png)


def sections_of(story: Story) -> dict[str, str]:
    """The sections that have something to say, by id, and their names in the menu."""
    there = {
        "learning": bool(story.history),
        "importance": story.rises is not None,
        "groups": story.shares is not None,
        "samples": story.mosaics is not None,
        "labels": story.labels is not None,
    }
    names = {
        "summary": "Summary",
        "data": "Data",
        "learning": "Learning",
        "bags": "Bags",
        "probabilities": "Probabilities",
        "importance": "What matters",
        "groups": "Groups",
        "samples": "Samples",
        "without-labels": "Without labels",
        "labels": "Labels",
    }
    return {section: name for section, name in names.items() if there.get(section, True)}


def render_template(template: str, title: str, sections: Mapping[str, str], **told: Any) -> str:
    """A page of a template, with its title and its menu.

    Parameters
    ----------
    template : str
        The name of its file.
    title : str
        The title of the page.
    sections : mapping of str to str
        The names of the sections, by id.
    told : Any
        What else the template needs.

    Returns
    -------
    str
    """
    script = _script()
    digest = "sha256-" + b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        _environment()
        .get_template(template)
        .render(
            title=title,
            sections=sections,
            script=Markup(script),
            script_digest=digest,
            version=__version__,
            most_rows=MOST_ROWS,
            **told,
        )
    )


@cache
def _script() -> str:
    """The only script that the page allows itself to run, by its digest."""
    return (files("llpgan.report") / "templates" / "page.js").read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("llpgan.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(charts=charts, words=formatting, tables=report_tables)
    environment.filters.update({**_functions(formatting), **_functions(summary_words)})
    return environment


def _functions(module: ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if callable(value)}
