"""What a billion rows would take, from the rates that ``growth`` measured: its rows, and arithmetic."""

import json

from benchmarks.growth_figure import along, exponent
from benchmarks.rows import RESULTS, Row

BILLION = 1_000_000_000


def run() -> list[Row]:
    points = [json.loads(line) for line in (RESULTS / "growth.jsonl").read_text().splitlines()]
    return [row for method in ("DLLP", "LLPGAN") for row in estimates(points, method)]


def estimates(points: list[Row], method: str) -> list[Row]:
    """From the largest jobs measured: of many small bags, and of large ones."""
    jobs = {sweep: largest(points, method, sweep) for sweep in ("rows", "bag size, as many bags")}
    return [estimate(method, job, exponent(along(points, method, "rows", "seconds"))) for job in jobs.values()]


def largest(points: list[Row], method: str, sweep: str) -> Row:
    found = [point for point in points if (point["method"], point["sweep"]) == (method, sweep)]
    return max(found, key=lambda point: int(point["rows"]))


def estimate(method: str, job: Row, power: float) -> Row:
    """An epoch by linear growth from this job; and if growth went on by the power that was fitted to rows."""
    rate = job["rows"] / job["seconds"]
    hours = BILLION / rate / 3600
    return {
        "method": method,
        "bag size": job["bag_size"],
        "rows a second and core": round(rate),
        "core hours an epoch": round(hours, 1),
        "by the fitted power": round(hours * (BILLION / job["rows"]) ** (power - 1), 1),
    }
