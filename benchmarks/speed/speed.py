"""One page of all ratios of speed, made from the rows of the benchmarks that measured them."""

import json

from benchmarks.rows import RESULTS, Row, as_markdown, write_whole

MEASURED = ("step_time", "plain_loop", "time_to_accuracy", "peak", "chunked")
ABOUT = (
    "Each figure is one thing over another that took turns with it on the same machine: the median over rounds or "
    "seeds, and their quartiles or range. What stands after the stroke is how it is done without this library, or "
    "was done before: a plain loop, a supervised step, a whole bag at once. Made by `python -m benchmarks speed` "
    "from the rows of `step_time`, `plain_loop`, `time_to_accuracy`, `peak` and `chunked`."
)


def run() -> list[Row]:
    rows = [json.loads(line) for name in MEASURED for line in (RESULTS / f"{name}.jsonl").read_text().splitlines()]
    write_whole(RESULTS / "speed.md", page(rows))
    return summary(rows)


def page(rows: list[Row]) -> str:
    return as_markdown("Speed", ABOUT, summary(rows))


def summary(rows: list[Row]) -> list[Row]:
    return [
        {
            "what": row["what"],
            "figure": row.get("ratio", row.get("share of peak")),
            "spread": row.get("quartiles", row.get("range")),
            "bar": row.get("bar", ""),
        }
        for row in rows
    ]
