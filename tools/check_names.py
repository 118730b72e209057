"""Check the names of functions; ``make lint`` runs it.

Functions are verbs or say what they return. None is named by a past participle alone (``told``, ``chosen``), by
``in_words``, ends in ``of`` (``name_of``) or begins with a preposition (``with_texts``). The functions of a module
have names that no other module uses, so that one name means one thing; commands may be named after the functions
that they call. Private functions of at most four lines with one caller are counted, not refused. Benchmarks, the
reproduction and tools follow the first rule.

    python tools/check_names.py          # what is refused
    python tools/check_names.py inline   # the short private functions too
"""

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "llpgan"
AROUND = ("benchmarks", "reproduction", "tools")
PREPOSITIONS = {"of", "in", "within", "beside", "between", "by", "with", "without", "on", "for"}
CONVERTERS = {"from", "to", "is", "are", "has", "have", "takes"}  # from_frame, to_onnx, is_random
VERBS_IN_ED = {"seed", "feed", "need", "embed", "shed", "speed", "proceed", "exceed", "succeed"}
IRREGULAR = {
    "told", "made", "chosen", "found", "taken", "given", "drawn", "written", "held", "known", "seen", "built",
    "kept", "left", "shown", "grown", "done", "lost", "met", "begun", "bent", "brought", "said", "stood", "thrown",
    "won", "bound", "caught", "sent", "spent", "meant", "hidden", "goes_on",
}  # fmt: skip
# Methods that users call, under their names since version 0.1 or 0.2.
PUBLIC = {"Bags.rows_of", "BagBoosting.shift_of", "GroupShares.without"}


class Function(NamedTuple):
    """A function of the library."""

    name: str
    file: str
    line: int
    owner: str | None
    n_lines: int
    is_property: bool


def main(words: list[str]) -> int:
    """Print what is refused, and return 1 if anything is."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
    functions = [
        each for path, tree in trees.items() for each in collect_functions(path.relative_to(SOURCE), tree)
    ]
    around = [
        each
        for path in sorted(path for folder in AROUND for path in (ROOT / folder).rglob("*.py"))
        for each in collect_functions(path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8")))
    ]
    found = [*bad_names([*functions, *around]), *double_names(functions)]
    small = list(small_helpers(functions, trees.values()))
    if "inline" in words:
        print("\n".join(small))
    print(
        "\n".join([*found, f"{len(found)} names refused; {len(small)} private functions of 4 lines, one caller"])
    )
    return 1 if found else 0


def collect_functions(path: Path, tree: ast.Module) -> Iterator[Function]:
    """All functions and methods of a file, but those within functions."""
    for node in tree.body:
        owner = node.name if isinstance(node, ast.ClassDef) else None
        for each in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(each, ast.FunctionDef):
                is_property = any("property" in ast.unparse(each_of) for each_of in each.decorator_list)
                yield Function(each.name, path.as_posix(), each.lineno, owner, count_lines(each), is_property)


def count_lines(function: ast.FunctionDef) -> int:
    """The lines of a function's body without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return sum((each.end_lineno or each.lineno) - each.lineno + 1 for each in body)


def bad_names(functions: list[Function]) -> Iterator[str]:
    """Functions that are named by a past participle or a preposition."""
    for each in functions:
        if each.is_property or each.name.startswith("__") or f"{each.owner}.{each.name}" in PUBLIC:
            continue
        if is_refused(each.name.strip("_")):
            yield f"{each.file}:{each.line}: {each.name}: not a verb"


def is_refused(name: str) -> bool:
    """Whether a name is a past participle, ends in ``of`` or begins with a preposition.

    >>> is_refused("told"), is_refused("name_of"), is_refused("read_rows"), is_refused("is_known")
    (True, True, False, False)
    """
    first, last = name.split("_")[0], name.split("_")[-1]
    if first in CONVERTERS:
        return False
    is_participle = name in IRREGULAR or (first == last and name.endswith("ed") and name not in VERBS_IN_ED)
    return is_participle or first in PREPOSITIONS or last == "of"


def double_names(functions: list[Function]) -> Iterator[str]:
    """Functions of modules, private ones too, whose name stands in several files."""
    by_name = defaultdict(list)
    for each in functions:
        if each.owner is None and not each.name.startswith("__"):
            by_name[each.name].append(each)
    for name, same in sorted(by_name.items()):
        files = {each.file for each in same}
        if len(files) - any(file.startswith("cli/") for file in files if not name.startswith("_")) > 1:
            yield f"{name}: stands in {', '.join(f'{each.file}:{each.line}' for each in same)}"


def small_helpers(functions: list[Function], trees: Iterable[ast.Module]) -> Iterator[str]:
    """Private functions of at most four lines that one place calls."""
    used = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
    )
    for each in functions:
        is_private = each.name.startswith("_") and not each.name.startswith("__")
        if is_private and not each.is_property and each.n_lines <= 4 and used[each.name] == 1:
            yield f"{each.file}:{each.line}: {each.name}: {each.n_lines} lines, one caller"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
