"""Does permuting places save an FCN examples? ``python -m whyconv.auditing.permuted_run``

It cannot: an FCN is blind to the order, so the interval of the factor must hold 1; every audit checks this.
Planted data of five kinds, five rounds, an audit of the FCN alone. The criterion, written down before
any of these was audited: 1 is inside in at least 88 of 100.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

from whyconv.auditing.arms import FCN
from whyconv.auditing.design import designed
from whyconv.auditing.phases import PERMUTED_FCN
from whyconv.auditing.planted import planted
from whyconv.auditing.results import result
from whyconv.auditing.validation import Experiment, Line, completed, main, rate

SHAPES = {
    "shift": (1200, 48, 5), "local": (600, 40, 6), "dense": (600, 24, 4), "bag": (600, 32, 4),
    "noise": (600, 40, 4),
}  # fmt: skip
"""Examples, length and window."""
KINDS = tuple(SHAPES)
ROUNDS, SIZES = 5, 4
LEAST = 88
"""Of 100 data sets."""


def audited(kind: str, seed: int, folder: Path) -> Line:
    """The FCN beside itself on permuted places."""
    began, dataset = time.monotonic(), planted(kind, *SHAPES[kind], seed)
    study = designed(dataset, arms=[FCN])
    study = study.model_copy(
        update={
            "seeds": ROUNDS,
            "orders": 0,
            "growths": 0,
            "reference_rounds": 0,
            "sizes": study.sizes[-SIZES:],
        }
    )
    summary = completed(study, dataset, folder)
    found = result(study, summary.points, summary.rows)
    check = next(each for each in found.controls if each.name == PERMUTED_FCN)
    assert check.made, check.says
    took = round(time.monotonic() - began, 1)
    return {"fine": check.fine, "factor": check.factor, "low": check.low, "high": check.high, "seconds": took}


def holds_one(line: Line) -> bool:
    """Whether 1 is inside the interval; an end that is None is open."""
    return (line["low"] or 0.0) <= 1 <= (math.inf if line["high"] is None else line["high"])


def table(lines: list[Line]) -> str:
    """How often the interval holds 1, by kind."""
    rows = ["| data | 1 inside |", "|---|---|"]
    for kind in (*KINDS, "all"):
        own = [holds_one(line) for line in lines if kind in (line["kind"], "all")]
        if own:
            rows.append(f"| {kind} | {rate(sum(own), len(own))} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main(Experiment("permuted", KINDS, 400, 20, audited, table))
