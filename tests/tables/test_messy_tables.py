"""Tables as people send them: a correct result, or one line that names the file, row, bag, column or option."""

import csv
import gzip
import os
import re
import warnings
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from llpgan import Bags, load
from llpgan.cli import main
from llpgan.tables.encode import Category

N_TABLES = int(os.environ.get("LLPGAN_MESSY", "40"))  # such as 2000, in some minutes
FIRST = int(os.environ.get("LLPGAN_MESSY_FIRST", "0"))
FOREIGN = re.compile(
    r"Traceback|--debug shows|Error:|ArrowInvalid|numpy|dtype|could not convert|0x[0-9a-f]{6}|<class|object at|"
    r"codec can't|out of bounds|index \d+|NoneType|ufunc|nan\b.*warn",
)


def choose(rng, *options, p=None):
    return options[rng.choice(len(options), p=p)]


# ---- columns: how values are written ----------------------------------------------------------------------------


NUMBERS = {
    "plain": lambda x, rng: repr(round(float(x), 4)),
    "thousands": lambda x, rng: f"{x * 1000:,.2f}",
    "decimal comma": lambda x, rng: f"{x:.3f}".replace(".", ","),
    "percent": lambda x, rng: f"{x:.1f} %",
    "percent comma": lambda x, rng: f"{x:.2f}%".replace(".", ","),
    "scientific": lambda x, rng: f"{x:.5e}",
    "padded": lambda x, rng: f"  {x:.3f} ",
    "plus": lambda x, rng: f"{x:+.3f}",
    "minus sign": lambda x, rng: f"{x:.3f}".replace("-", "\u2212"),
    "currency": lambda x, rng: f"${x:.2f}",
    "unit": lambda x, rng: f"{x:.1f} kg",
    "spaces": lambda x, rng: f"{int(x * 1000):,}".replace(",", "\u202f"),
    "apostrophe": lambda x, rng: f"{x * 1000:,.1f}".replace(",", "'"),
    "huge": lambda x, rng: str(10**22 + int(x * 1e18)),
    "int64": lambda x, rng: str(2**62 + int(x * 1e15)),
    "whole": lambda x, rng: str(int(x * 10)),
    "zeros": lambda x, rng: f"{int(abs(x) * 10):05d}",
    "some words": lambda x, rng: "unknown" if rng.random() < 0.05 else f"{x:.3f}",
    "one word": lambda x, rng: "see note" if rng.random() < 0.01 else f"{x:.3f}",
    "inf": lambda x, rng: choose(rng, "inf", "-Infinity") if rng.random() < 0.03 else f"{x:.3f}",
    "sentinels": lambda x, rng: (
        choose(rng, "NaN", "NA", "null", "-", "n/a", "#N/A", ".") if rng.random() < 0.1 else f"{x:.3f}"
    ),
    "missing": lambda x, rng: "" if rng.random() < 0.2 else f"{x:.3f}",
    "ranges": lambda x, rng: choose(rng, "0", "1", "2", "3+"),
    "booleans": lambda x, rng: choose(rng, "TRUE", "false", "True"),
    "constant": lambda x, rng: "7",
    "nothing": lambda x, rng: "",
    "astronomic": lambda x, rng: f"{x:.3f}e300",
    "tiny": lambda x, rng: f"{x:.3f}e-300",
}
DATES = {
    "iso": "%Y-%m-%d",
    "iso time": "%Y-%m-%d %H:%M:%S",
    "zulu": "%Y-%m-%dT%H:%M:%SZ",
    "day first": "%d.%m.%Y",
    "month first": "%m/%d/%Y",
    "short": "%d.%m.%y",
    "words": "%d %b %Y",
    "compact": "%Y%m%d",
    "year": "%Y",
    "month": "%Y-%m",
    "clock": "%H:%M",
    "mixed": "",
}
WORDS = {
    "plain": ["red", "green", "blue"],
    "padded": [" red", "red", "green "],
    "unicode": ["\u00e9t\u00e9", "\u6c34", "\U0001f600", "e\u0301te\u0301"],
    "quoted": ['say "hi"', "a;b", "a,b", "a\tb"],
    "broken": ["two\nlines", "one"],
    "case": ["Yes", "yes", "NO", "no"],
    "formula": ["=1+1", "@x", "-"],
    "long": ["x" * 5000, "y"],
    "numbers": ["1", "2", "10"],
}
HEADERS = ["age", "income", "H\u00f6he", "x y", "\u5e74\u9f84", "a,b", "a;b", 'q"q', "1", "x ", "N", "date"]


def write_column(rng, n, name):
    """The texts of a column, and the numbers that they stand for; None if they are no numbers."""
    kind = choose(rng, "number", "date", "word", p=[0.6, 0.2, 0.2])
    if kind == "word":
        words = WORDS[choose(rng, *WORDS)]
        return [words[i] for i in rng.integers(len(words), size=n)], None, kind
    if kind == "date":
        form = choose(rng, *DATES)
        days = rng.integers(0, 9000, n)
        moments = pd.Timestamp("1999-01-31 10:30:00") + pd.to_timedelta(days, "D")
        if form == "mixed":
            forms = [choose(rng, "%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y") for _ in range(n)]
            return [m.strftime(f) for m, f in zip(moments, forms, strict=True)], days.astype(float), "date mixed"
        texts = [m.strftime(DATES[form]) for m in moments]
        return texts, None if form in ("clock", "year", "month", "compact") else days.astype(float), f"date {form}"
    form = choose(rng, *NUMBERS)
    numbers = rng.normal(20, 12, n)
    if form in ("sentinels", "one word", "some words", "inf") and rng.random() < 0.6:
        form = "plain"
    texts = [NUMBERS[form](x, rng) for x in numbers]
    meant = None if form in ("ranges", "booleans", "constant", "nothing", "zeros", "tiny") else numbers
    return texts, meant, f"number {form}"


# ---- bags and proportions ---------------------------------------------------------------------------------------


def name_bags(rng, n_bags):
    others = ["zeros", "unicode", "padded", "float", "date", "alike", "none"]
    kind = choose(rng, "text", "number", *others, p=[0.3, 0.3, *[0.4 / 7] * 7])
    ids = {
        "text": [f"town {i}" for i in range(n_bags)],
        "number": [str(i) for i in range(n_bags)],
        "zeros": [f"{i:03d}" for i in range(n_bags)],
        "unicode": [f"K\u00f6ln \u2116{i}" for i in range(n_bags)],
        "padded": [f" b{i} " for i in range(n_bags)],
        "float": [f"{i}.5" for i in range(n_bags)],
        "date": [f"2020-01-{1 + i:02d}" for i in range(n_bags)],
        "alike": [
            ["1", "01", "001", "1.0", "a", "A", "true", "1e0", "b", " b", "c", "d"][i] for i in range(n_bags)
        ],
        "none": [["NA", "x", "None", "y", "nan", "z", "null", "-", "u", "v", "w", "q"][i] for i in range(n_bags)],
    }[kind]
    return np.array(ids, dtype=object)


def write_shares(rng, shares, sizes):
    """The cells of the table of bags, the name of its option, and whether they must be accepted."""
    form = choose(
        rng, "exact", "rounded", "percent", "percent sign", "comma", "counts", "population", "fraction counts",
        "off", "negative", "missing cell", "word", "above", "one class", "total", "text column",
        "counts as shares", "zeros", "inf", "long", p=[0.25, 0.1, 0.05, 0.1, 0.05, 0.1, 0.05, *[0.3 / 13] * 13],
    )  # fmt: skip
    counts = np.round(shares * sizes[:, None])
    option = "proportions"
    cells = [[f"{p:.12g}" for p in row] for row in shares]
    if form == "rounded":
        cells = [[f"{p:.2f}" for p in row] for row in shares]
    elif form == "percent":
        cells = [[f"{100 * p:.8g}" for p in row] for row in shares]
    elif form == "percent sign":
        cells = [[f"{100 * p:.6f} %" for p in row] for row in shares]
    elif form == "comma":
        cells = [[f"{p:.12f}".replace(".", ",") for p in row] for row in shares]
    elif form in ("counts", "counts as shares"):
        cells = [[f"{n:.0f}" for n in row] for row in counts]
        option = "counts" if form == "counts" else "proportions"
    elif form == "population":
        cells, option = [[f"{n * 1000:,.0f}" for n in row] for row in counts], "counts"
    elif form == "fraction counts":
        option = "counts"
    elif form in ("off", "negative", "above", "inf", "word", "missing cell", "zeros"):
        bad = {"off": "0.77", "negative": "-0.2", "above": "1.7", "inf": "inf", "word": "many", "missing cell": ""}
        cells[rng.integers(len(cells))][0] = bad.get(form, "0")
        if form == "zeros":
            cells[0] = ["0"] * len(cells[0])
    return form, option, cells


@dataclass
class Case:
    words: list[str]
    api: dict
    people: str
    bag_of_row: list[str]
    shares: dict[str, list[float]]
    classes: list[str]
    truth: dict[str, np.ndarray]
    about: str
    may_differ: bool


def write_text(rng, path, header, rows, *, plain_file):
    """A file of rows; gives its name and what is unusual about it."""
    style = "plain" if plain_file else choose(
        rng, "plain", "semicolon", "tab", "bom", "crlf", "quoted", "gz", "blank lines", "trailing", "latin1",
        "utf16", "ragged", "tsv", "comment", "parquet", "jsonl", "pipe", "empty column", "empty rows",
        p=[0.46, *[0.03] * 18],
    )  # fmt: skip
    if style in ("parquet", "jsonl"):
        frame = pd.DataFrame(rows, columns=header)
        frame = frame.replace({"": None})
        name = f"{path}.{style}"
        if len(set(header)) < len(header):
            style = "plain"
        elif style == "parquet":
            frame.to_parquet(name)
            return name, style
        else:
            frame.to_json(name, orient="records", lines=True, force_ascii=False)
            return name, style
    separator = {"semicolon": ";", "tab": "\t", "tsv": "\t", "pipe": "|"}.get(style, ",")
    lines = [list(header), *[list(row) for row in rows]]
    if style == "trailing":
        lines = [[*line, ""] for line in lines]
    if style == "empty column":
        lines = [[*line[:1], "", *line[1:]] for line in lines]
    if style == "ragged" and len(lines) > 3:
        lines[3] = lines[3][:-1]
    if style == "empty rows":
        for _ in range(3):
            lines.insert(int(rng.integers(1, len(lines))), [""] * len(header))
    out = StringIO()
    end = "\r\n" if style == "crlf" else "\n"
    quoting = csv.QUOTE_ALL if style == "quoted" else csv.QUOTE_MINIMAL
    csv.writer(out, delimiter=separator, lineterminator=end, quoting=quoting).writerows(lines)
    text = out.getvalue()
    if style == "blank lines":
        text = text + "\n\n"
    if style == "comment":
        text = "# exported 2020\n" + text
    encoding = {"bom": "utf-8-sig", "latin1": "latin-1", "utf16": "utf-16"}.get(style, "utf-8")
    data = text.encode(encoding, errors="replace")
    name = f"{path}.{'csv.gz' if style == 'gz' else 'tsv' if style == 'tsv' else 'csv'}"
    Path(name).write_bytes(gzip.compress(data) if style == "gz" else data)
    return name, style


def make_case(seed, folder):
    rng = np.random.default_rng(seed)
    n_bags, k = int(rng.integers(2, 13)), int(rng.integers(2, 4))
    sizes = rng.integers(1, choose(rng, 3, 12, 30, 60), n_bags)
    index = np.repeat(np.arange(n_bags), sizes)
    rng.shuffle(index)
    names = name_bags(rng, n_bags)
    classes = choose(
        rng, ["no", "yes", "other"], ["0", "1", "2"], ["Gr\u00fcne", "CDU/CSU", "a b"], ["n", "x,y", "z;"]
    )[:k]
    labels = rng.integers(k, size=len(index))
    counts = np.zeros((n_bags, k))
    np.add.at(counts, (index, labels), 1)
    shares = counts / sizes[:, None]
    columns, truth, about = {"town": [str(names[i]) for i in index]}, {}, []
    for name in rng.choice(HEADERS, int(rng.integers(1, 5)), replace=False).tolist():
        texts, meant, kind = write_column(rng, len(index), name)
        columns[name], about = texts, [*about, f"{name}: {kind}"]
        if meant is not None:
            truth[name] = meant
    header, rows = list(columns), [list(row) for row in zip(*columns.values(), strict=True)]
    doubled = rng.random() < 0.05
    if doubled:
        header[-1] = header[0]
        truth = {}
    people, style = write_text(rng, f"{folder}/people", header, rows, plain_file=rng.random() < 0.5)
    if style == "latin1":  # which has question marks in place of some letters
        truth = {}
    form, option, cells = write_shares(rng, shares, sizes)
    table = [[str(names[i]), *cells[i]] for i in range(n_bags)]
    head = ["town", *classes]
    if form == "one class":
        table, head = [row[:2] for row in table], head[:2]
    if form == "total":
        head, option = [*head, "total"], "counts"
        table = [[str(names[i]), *(f"{n:.0f}" for n in counts[i]), str(sizes[i])] for i in range(n_bags)]
    if form == "text column":
        head, table = [*head, "mayor"], [[*row, f"Ms {i}"] for i, row in enumerate(table)]
    long = []
    if form == "long":
        table = [[str(names[i]), c, cells[i][j]] for i in range(n_bags) for j, c in enumerate(classes)]
        head, long = ["town", "party", "share"], ["--long", "party,share"]
    order = choose(rng, "same", "shuffled", "lacking", "extra", "twice", p=[0.6, 0.2, 0.06, 0.1, 0.04])
    if order == "shuffled":
        rng.shuffle(table)
    elif order == "lacking":
        table = table[:-1]
    elif order == "extra":
        table = [*table, ["Atlantis", *table[0][1:]]]
    elif order == "twice":
        table = [*table, table[0]]
    towns, style_towns = write_text(rng, f"{folder}/towns", head, table, plain_file=rng.random() < 0.7)
    words = [people, "--bag", "town", f"--{option}", towns, *long]
    api = {option: towns, "bag": "town"} | ({"long": ["party", "share"]} if long else {})
    if rng.random() < 0.1:
        words, api = [*words, "--unmatched", "drop"], {**api, "unmatched": "drop"}
    about = f"{style}, {style_towns}, {form}, {order}, doubled={doubled}; " + "; ".join(about)
    by_name = {str(name): shares[i].tolist() for i, name in enumerate(names)}
    off = form in ("one class", "text column", "total", "zeros", "missing cell", "off", "fraction counts")
    return Case(words, api, people, columns["town"], by_name, classes, truth, about, off or doubled)


# ---- what must hold ---------------------------------------------------------------------------------------------


def refuse_foreign(text, code, case, command):
    said = f"{case.about}\n{text}"
    assert not FOREIGN.search(text), f"foreign words: {said}"
    errors = [line for line in text.splitlines() if "error:" in line]
    if code == 0:
        assert not errors, said
        return
    assert code in (1, 2), said
    assert len(errors) == 1, f"not one line: {said}"
    assert errors[0] == text.strip().splitlines()[-1], said
    assert re.search(r"people\.|towns\.|--\w|bags? |column |row ", errors[0].split("error:", 1)[1]), (
        f"no place: {said}"
    )


def check_bags(case, found, notes):
    """Check that the bags of the table are those that were meant, and that columns have their numbers."""
    sizes = pd.Series(case.bag_of_row).str.strip().value_counts()
    ids = [str(bag).strip() for bag in found.bag_ids]
    by_name = {name.strip(): shares for name, shares in case.shares.items()}
    if len(set(ids)) == len(ids) and sizes.index.isin(ids).all() and len(by_name) == len(case.shares):
        assert found.sizes.tolist() == [sizes[bag] for bag in ids], case.about
        wanted = np.array([by_name[bag] for bag in ids])
        if not case.may_differ and wanted.shape == found.proportions.shape:
            away = np.abs(found.proportions - wanted[:, find_order(case.classes, found.classes)])
            assert away.max() < 0.02, f"other proportions: {case.about}"
    if len(found.bag_index) != len(case.bag_of_row):
        assert "unmatched" in case.api, f"{len(found.bag_index)} of {len(case.bag_of_row)} rows: {case.about}"
        return
    for name, meant in case.truth.items():
        check_column(case, found, name, meant, any(repr(name) in note for note in notes))


def find_order(classes, found):
    """Return where each class that was found is among those that were written."""
    names = [str(name) for name in found.tolist()]
    return [classes.index(name) for name in names] if set(names) <= set(classes) else range(len(names))


def check_column(case, found, name, meant, is_noted):
    column = next((each for each in found.encoder.columns if each.name == name), None)
    few = len(np.unique(meant)) <= 20
    if column is None or isinstance(column, Category):
        assert is_noted or (few and column is not None), f"{name!r} is no number, without a note: {case.about}"
        return
    values = found.instances[:, found.encoder.positions[name][0]].astype(float)
    there = ~np.isclose(values, (column.median - column.mean) / column.scale)  # others may be missing
    if there.sum() > 3 and np.ptp(values[there]) > 0:
        together = np.corrcoef(values[there], meant[there])[0, 1]
        assert together > 0.99, f"{name!r} has other numbers: {case.about}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(FIRST, FIRST + N_TABLES))
def test_messy_tables_are_read_or_refused_in_one_line(seed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    case = make_case(seed, ".")
    method = ["MeanMap", "BagLogistic"][seed % 2]
    settings = ["--method.n_resamples", "2"] if method == "BagLogistic" else []
    report = ["--report", "true" if seed % 20 == 0 else "false"]
    code = main.main(["fit", *case.words, "--method", method, *settings, *report])
    text = capsys.readouterr().err
    refuse_foreign(text, code, case, "fit")
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        try:
            found = Bags.from_tables(case.people, **case.api)
        except (ValueError, TypeError) as error:
            assert code != 0, f"{case.about}\n{error}"
            return
    if code != 0:  # the method has refused what the tables are
        assert re.search("MeanMap|BagLogistic|classes|bags", text), text
        return
    check_bags(case, found, [str(each.message) for each in raised])
    code = main.main(["predict", "model", case.people, "--out", "predicted.csv"])
    text = capsys.readouterr().err
    refuse_foreign(text, code, case, "predict")
    assert code == 0, f"what was fitted cannot be predicted: {case.about}\n{text}"
    probabilities = load("model").predict_proba(case.people)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    predicted = list(csv.reader(StringIO(Path("predicted.csv").read_text(encoding="utf-8"))))
    assert len(predicted) - 1 == len(probabilities), case.about
