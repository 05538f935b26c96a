"""How often intervals hold what they should, with networks: ``python -m whyconv.auditing.coverage_run``.

400 small data sets of one law, half of them with groups of three rows that share noise, each audited with two
arms, fixed rates, five rounds. What an interval should hold is the expected value for a data set of this law;
it is estimated by the mean over all other data sets of the kind, which no interval has seen, and whose own
error is a tenth of an interval's width. The criterion, written down before any was audited: 93 to 99 % lies
inside the interval (Clopper & Pearson) of the share covered.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from whyconv.auditing import corrected
from whyconv.auditing.arms import FCN, SHARED_MAX, networks
from whyconv.auditing.dataset import Dataset
from whyconv.auditing.design import designed
from whyconv.auditing.planted import planted
from whyconv.auditing.savings import gap, saving
from whyconv.auditing.study import Audit
from whyconv.auditing.validation import Experiment, Line, completed, main
from whyconv.lazy import np
from whyconv.measure.intervals import rate_interval
from whyconv.studies import Point
from whyconv.trial import Row

KINDS = ("plain", "grouped")
EXAMPLES, LENGTH, WINDOW, GROUP = 240, 24, 5, 3
ROUNDS, STEPS, CHANNELS, SIZES = 5, 200, 8, 3
ASKED = (0.93, 0.99)
ARMS = ("FCN 128", SHARED_MAX)


class FixedRounds(Audit, name="audit-rounds"):
    """Rounds of two arms at the middle rate, without tuning."""

    def plan(self, rows: Mapping[str, Row]) -> list[Point]:
        del rows
        made = networks(self.task.grid, self.outputs, WINDOW, self.channels)
        points = []
        for seed in self.repetitions():
            for m in self.sizes:
                for arm in ARMS:
                    cell = self.cell({"arm": arm}, made[arm], m, self.middle, range(seed, seed + 1))
                    points += cell.points()
        return points


def data_of(kind: str, seed: int) -> Dataset:
    """One of two patterns anywhere in noise, of which rows of a group share half."""
    found = planted("shift", EXAMPLES, LENGTH, WINDOW, seed)
    if kind == "plain":
        return found
    groups = np.arange(EXAMPLES) // GROUP
    shared = np.random.default_rng([seed, 1]).standard_normal((groups[-1] + 1, *found.x.shape[1:]))
    x = np.sqrt(0.5) * (found.x + shared[groups].astype(np.float32))
    return Dataset("grouped", x, found.y, found.classes, found.grid, groups)


def audited(kind: str, seed: int, folder: Path) -> Line:
    """The errors of both arms, rounds x sizes."""
    began, dataset = time.monotonic(), data_of(kind, seed)
    study = designed(dataset, arms=[FCN, SHARED_MAX])
    changed = {"seeds": ROUNDS, "steps": STEPS, "channels": CHANNELS, "sizes": study.sizes[-SIZES:]}
    study = FixedRounds(**{**dict(study), **changed})
    summary = completed(study, dataset, folder)
    errors: dict[str, list[list[float]]] = {arm: [[] for _ in range(ROUNDS)] for arm in ARMS}
    for point in summary.points:
        found = errors[str(point.labels["arm"])][point.trial.seed - study.first_seed]
        found.append(float(summary.rows[point.trial.key].result[study.column]))
    ratio, grain = study.task.test / study.sizes[-1], 1 / study.task.test
    took = round(time.monotonic() - began, 1)
    return {"errors": errors, "sizes": study.sizes, "ratio": ratio, "grain": grain, "seconds": took}


class Cover(NamedTuple):
    """Data sets whose interval holds the expected value, and those that have an interval."""

    hits: int
    given: int


def covered(lines: list[Line]) -> dict[str, Cover]:
    """In how many data sets of a kind each interval holds the expected value."""
    sizes, ratio, grain = np.array(lines[0]["sizes"]), lines[0]["ratio"], lines[0]["grain"]
    every = [np.array([line["errors"][arm] for line in lines]) for arm in ARMS]
    held: dict[str, list[bool]] = {"error": [], "difference": [], "factor": [], "gap": []}
    for number in range(len(lines)):
        a, b = (np.delete(each, number, axis=0).mean(axis=(0, 1))[None] for each in every)
        own, other = (each[number] for each in every)
        found = corrected.interval(own[:, -1], ratio, grain=grain)
        held["error"].append(found.low <= a[0, -1] <= found.high)
        found = corrected.interval(own[:, -1] - other[:, -1], ratio, grain=grain)
        held["difference"].append(found.low <= a[0, -1] - b[0, -1] <= found.high)
        crossing, true = saving(own, other, sizes, ratio, grain=grain), saving(a, b, sizes, 1.0).value
        held["factor"].append(crossing.low <= true <= crossing.high)
        around, mean_gap = gap(own, other, sizes, ratio, grain), gap(a, b, sizes, 1.0)
        if around and mean_gap:  # else the curves have no error in common, and no gap is shown
            held["gap"].append(around.low <= mean_gap.mean <= around.high)
    return {name: Cover(int(sum(each)), len(each)) for name, each in held.items()}


def met(hits: int, count: int) -> bool:
    """Whether the interval of the share covered overlaps 93 to 99 %, as the criterion is read."""
    found = rate_interval(hits, count)
    return found.low <= ASKED[1] and found.high >= ASKED[0]


def table(lines: list[Line]) -> str:
    """The share covered of every interval, by kind: of all data sets (the criterion), of those with one."""
    rows = [
        "| interval | data sets | covered | criterion | have one | covered of these |",
        "|---|---|---|---|---|---|",
    ]
    for kind in KINDS:
        own = [line for line in lines if line["kind"] == kind]
        for name, found in covered(own).items() if len(own) > 1 else ():
            every, these = (_share(found.hits, count) for count in (len(own), found.given))
            so = "met" if met(found.hits, len(own)) else "missed"
            cells = [name, f"{len(own)} {kind}", every, so, str(found.given), these]
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _share(hits: int, count: int) -> str:
    found = rate_interval(hits, count)
    return f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]" if count else "–"


if __name__ == "__main__":
    main(Experiment("coverage", KINDS, 400, 200, audited, table))
