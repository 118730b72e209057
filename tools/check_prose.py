"""Check the prose of pages, docstrings, messages and templates; ``make lint`` runs it.

It reports sentences of more than 35 words, and words and phrases that a reader has to read twice.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/methods/*.md", "docs/site/*.rst", "examples/*.rst")
CODE = ("src/llpgan/**/*.py", "examples/*.py")
TEMPLATES = ("src/llpgan/report/templates/*.j2",)
MOST_WORDS = 35
_AVOID = (
    *("told", "is taken", "are taken", "meets", "beside", "by turns", "in vain", "of its own", "surer"),
    *("is to be had", "in words", "that much", "tell nothing", "tells nothing", "a row a bag", "a class a column"),
    *("hopeless", "going on like this", "stands there", "sees to it", "bolder", "all the same", "for ever"),
    *("meet", "met", "did not pay", "drown", "drowns", "take turns", "would forget", "where the paper is wrong"),
    *(
        "labels of its own",
        "holds the truth",
        "was wanted",
        "of no use",
        "teaches itself",
        "too well",
        "lives nowhere",
    ),
)
AVOID = re.compile(r"\b(" + "|".join(map(re.escape, _AVOID)) + r"|stands?(?! for\b))\b", re.IGNORECASE)
_FENCE = re.compile(r"^```.*?^```$|^<!--.*?-->$", re.MULTILINE | re.DOTALL)
_NOT_PROSE = re.compile(r"^(\||    | *\/docs\/|#|>>>|\.\. |:|-{3,}|={3,}|~{3,}|!\[).*$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_TEMPLATE_CODE = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<svg.*?</svg>", re.DOTALL)
_TAG = re.compile(r"</?(?:p|li|h\d|th|td|figcaption|section|div|summary|small|caption)[^>]*>")
_END = re.compile(r"(?<=[.:;?!])[\"”)*]*\s+|\n\s*\n|\n\s*[-*•]\s+|\n\s*\d+\.\s+")
_WORD = re.compile(r"[A-Za-z][\w’'-]*")


def main() -> int:
    """Print the sentences to rewrite, and return 1 if there are any."""
    found = [f"{path.relative_to(ROOT)}: {fault}" for path in sorted(prose_files()) for fault in faults(path)]
    print("\n".join([*found, f"{len(found)} sentences to rewrite in {len(prose_files())} files"]))
    return 1 if found else 0


def prose_files() -> set[Path]:
    """Pages, code and templates."""
    return {path for pattern in (*PAGES, *CODE, *TEMPLATES) for path in ROOT.glob(pattern)}


def faults(path: Path) -> Iterator[str]:
    """Each long sentence and each word to avoid, with its sentence."""
    for text in texts(path):
        for sentence in _END.split(text):
            words = _WORD.findall(sentence)
            line = " ".join(sentence.split())
            if len(words) > MOST_WORDS:
                yield f"{len(words)} words: {line[:110]}"
            for avoided in AVOID.finditer(sentence):
                yield f"{avoided[1]!r}: {line[:110]}"


def texts(path: Path) -> Iterator[str]:
    """The prose of a file: of a page without code and tables, of code its docstrings and messages."""
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _texts_of_code(ast.parse(content))
    elif path.suffix == ".j2":
        yield _TAG.sub("\n\n", _TEMPLATE_CODE.sub("x", content))
    else:
        yield _LINK.sub(r"\1", _NOT_PROSE.sub("", _FENCE.sub("", content)))


def _texts_of_code(tree: ast.Module) -> Iterator[str]:
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield _NOT_PROSE.sub("", _remove_indent(node.value))
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)


def _remove_indent(text: str) -> str:
    """A docstring without the indent of its code; names of parameters end a sentence."""
    lines = [line.strip() for line in text.splitlines()]
    return "\n".join(f"\n{line}\n" if re.match(r"\w[\w, *]* : ", line) else line for line in lines)


if __name__ == "__main__":
    sys.exit(main())
