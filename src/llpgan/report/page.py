"""The story as one HTML page that loads nothing."""

from types import ModuleType

from jinja2 import Environment, PackageLoader, StrictUndefined

from llpgan.report import charts, formatting
from llpgan.report.image_mosaics import png
from llpgan.report.story import Story
from llpgan.utils.version import __version__


def render(story: Story) -> str:
    """Render the report as one HTML page.

    The page includes its pictures, charts and style, loads nothing, and has no script. Save it as UTF-8.

    Parameters
    ----------
    story : Story
        The content of the page.

    Returns
    -------
    str
        The page.
    """
    return _environment().get_template("page.html.j2").render(story=story, png=png, version=__version__)


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("llpgan.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(charts=charts, words=formatting)
    environment.filters.update(_functions(formatting))
    return environment


def _functions(module: ModuleType) -> dict[str, object]:
    return {name: value for name, value in vars(module).items() if callable(value)}
