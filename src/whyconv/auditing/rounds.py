"""The rounds of an audit that are whole, as arrays: what every comparison is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyconv.auditing import corrected
from whyconv.auditing.phases import CONTROL, REFERENCE
from whyconv.lazy import np
from whyconv.studies import Point
from whyconv.studies.tuned import MEASURED
from whyconv.trial import Row

if TYPE_CHECKING:
    from whyconv.auditing.study import Audit

FEWEST = 3
"""No factor from fewer rounds."""


@dataclass(frozen=True)
class Rounds:
    """The whole rounds: errors by arm (rounds x sizes), further rows at the largest size.

    ``ratio`` is n_test / n_train, ``grain`` the least step of an outcome (:mod:`whyconv.auditing.corrected`).
    """

    seeds: tuple[int, ...]
    sizes: tuple[int, ...]
    errors: Mapping[str, np.ndarray]
    full: Mapping[str, list[Row]]
    """Rows at the largest size by arm, control or reference."""
    column: str
    ratio: float
    grain: float

    def __len__(self) -> int:
        return len(self.seeds)

    def at_full(self, name: str) -> np.ndarray:
        """The outcomes with all training examples, of anything that has them."""
        return np.array([float(row.result[self.column]) for row in self.full[name]])

    def interval(self, values: Sequence[float] | np.ndarray) -> corrected.Spread:
        """The mean of one value per round, with its interval."""
        return corrected.interval(values, self.ratio, grain=self.grain)

    def p_value(self, differences: np.ndarray) -> float:
        """The p of "the expected difference is 0"."""
        return corrected.p_value(differences, self.ratio, self.grain)


def whole_rounds(study: Audit, points: Sequence[Point], rows: Mapping[str, Row]) -> Rounds:
    """Those whose trials all have a row."""
    by_seed: dict[int, list[Point]] = {}
    for point in points:
        if point.labels["phase"] in (MEASURED, CONTROL, REFERENCE):
            by_seed.setdefault(point.trial.seed, []).append(point)
    done = sorted(
        seed
        for seed, each in by_seed.items()
        if any(p.labels["phase"] == MEASURED for p in each)
        and all(p.trial.key in rows and rows[p.trial.key].status == "ok" for p in each)
    )
    found: dict[str, dict[tuple[int, int], Row]] = {}
    for seed in done:
        for point in by_seed[seed]:
            row = rows[point.trial.key]
            found.setdefault(str(point.labels["arm"]), {})[seed, int(point.labels["m"])] = row
    measured = {int(p.labels["m"]) for p in points if p.labels["phase"] == MEASURED}
    sizes, errors = tuple(sorted(measured)) or study.sizes, {}
    for name, cells in found.items():
        if all((seed, m) in cells for seed in done for m in sizes):
            errors[name] = np.array(
                [[float(cells[seed, m].result[study.column]) for m in sizes] for seed in done]
            )
    last = study.sizes[-1]
    full = {
        name: [cells[seed, last] for seed in done if (seed, last) in cells] for name, cells in found.items()
    }
    return Rounds(tuple(done), sizes, errors, full, study.column, study.task.test / last, least_step(study))


def least_step(study: Audit) -> float:
    """By how much one more error moves the outcome; that of a balanced error, one in the smallest class."""
    task = study.task
    if study.metric == "balanced" and study.rarest:
        return 1 / (task.labels * max(1, study.rarest * task.test // task.count))
    return 1 / task.test if study.metric in ("error", "balanced") else 0.0
