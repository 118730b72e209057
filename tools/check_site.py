"""Check the site that ``make docs`` has built: every public name has a page, every link leads somewhere.

Links to other sites are not followed; Sphinx's ``linkcheck`` does that where there is a network.
"""

import json
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from api_pages import public_names

EXAMPLES = Path(__file__).parents[1] / "examples"
GALLERY = "docs/site/gallery"


class Page(HTMLParser):
    """The links of a page, and the places in it that links can lead to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.links: list[str] = []
        self.places: set[str] = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what an element refers to, and its own name."""
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.places.add(value)


def main(site: Path) -> int:
    """Print what is wrong, and return 1 if anything is."""
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    wrong = [*missing_names(site), *missing_examples(site), *dead_links(site, pages)]
    print("\n".join([*wrong, f"{len(pages)} pages, {len(wrong)} faults"]))
    return 1 if wrong else 0


def missing_names(site: Path) -> Iterator[str]:
    """Public names without a page."""
    for (package, name), found in public_names().items():
        page = site / "docs" / "site" / "api" / f"{found.path}.html"
        if not page.exists():
            yield f"{package}.{name}: has no page"
        elif not {found.path, f"module-{found.path}"} & Page(page).places:
            yield f"{package}.{name}: its page does not document it"


def missing_examples(site: Path) -> Iterator[str]:
    """Examples that have no page, did not run, warn of something, or cannot be downloaded as a notebook."""
    for example in sorted(EXAMPLES.glob("*.py")):
        page = site / GALLERY / f"{example.stem}.html"
        notebooks = list((site / "_downloads").rglob(f"{example.stem}.ipynb"))
        if not page.exists():
            yield f"{example.name}: has no page"
        elif "sphx-glr-timing" not in page.read_text(encoding="utf-8"):
            yield f"{example.name}: did not run"
        elif "Warning:" in page.read_text(encoding="utf-8"):
            yield f"{example.name}: prints a warning"
        if not notebooks:
            yield f"{example.name}: has no notebook"
        for notebook in notebooks:
            json.loads(notebook.read_text(encoding="utf-8"))


def dead_links(site: Path, pages: dict[Path, Page]) -> Iterator[str]:
    """Links to files, pages or places in pages that the site does not have."""
    for page in pages.values():
        for link in sorted(set(page.links)):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path.resolve()
            if not target.exists():
                yield f"{page.path.relative_to(site)}: {link} does not exist"
            elif target in pages and unquote(parts.fragment) not in pages[target].places:
                yield f"{page.path.relative_to(site)}: {link} leads to no place in its page"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
