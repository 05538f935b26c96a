"""Does the order test find a planted order, and none in a bag? ``python -m whyconv.auditing.order_run``

600 series with one of two patterns anywhere (*shift*) or with a bump or none (*bump*), and 1,200 whose order
says nothing (*bag*); 20 of each. The criteria, written down before any of these was drawn: order is found in
at least 16 of 20 with a pattern or a bump, and in at most 3 of 20 bags. Shifts and
bumps with seeds from 100 to 104 served for building.
"""

from __future__ import annotations

import time
from pathlib import Path

from whyconv.auditing.design import designed
from whyconv.auditing.order import order_test
from whyconv.auditing.planted import planted
from whyconv.auditing.study import OrderTest
from whyconv.auditing.validation import Experiment, Line, completed, main, rate

SHAPES = {"shift": (600, 60, 7), "bump": (600, 60, 7), "bag": (1200, 48, 6)}
"""Examples, length and window."""
KINDS = tuple(SHAPES)
LEAST, MOST = 16, 3
"""Of 20: with a planted order, without."""
FIRST_SEED = 500


def tested(kind: str, seed: int, folder: Path) -> Line:
    """The order test of an audit of one data set."""
    began, dataset = time.monotonic(), planted(kind, *SHAPES[kind], seed)
    study = OrderTest(**dict(designed(dataset)))
    summary = completed(study, dataset, folder)
    found = order_test(study, summary.points, summary.rows)
    took = round(time.monotonic() - began, 1)
    return {"verdict": found.verdict, "p": found.p, "arm": found.arm, "seconds": took}


def met(kind: str, hits: int) -> bool:
    """Whether so many of 20 meet the criterion."""
    return hits <= MOST if kind == "bag" else hits >= LEAST


def table(lines: list[Line]) -> str:
    """How often order was found, by kind; a part of the data sets has no verdict on the criterion yet."""
    rows = ["| data | order found | by CNN + global max | criterion |", "|---|---|---|---|"]
    for kind in KINDS:
        own = [line for line in lines if line["kind"] == kind]
        hits = [line for line in own if line["verdict"] == "matters"]
        if own:
            whole = len(own) >= 20
            verdict = ("met" if met(kind, len(hits)) else "missed") if whole else "not all run"
            by = sum(line["arm"] == "CNN + global max" for line in hits)
            rows.append(f"| {kind} | {rate(len(hits), len(own))} | {by} | {verdict} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main(Experiment("order", KINDS, FIRST_SEED, 20, tested, table))
