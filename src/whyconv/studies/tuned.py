"""Studies of how long training takes: the step size is tuned first, with the same budget for every arm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic import Field, field_validator

from whyconv.lazy import pd
from whyconv.networks import Network
from whyconv.studies import Cell, Point, Study, good
from whyconv.studies.answers import Answer, in_effort
from whyconv.studies.grid import selected
from whyconv.studies.worth import Step
from whyconv.tasks import Task
from whyconv.trial import Row, Trial

TUNING, MEASURED = "tuning", "measured"

CONFIRMED = 1.2
"""A target met on held-out examples counts only if the test error is at most this multiple of it."""


Merit = Callable[[float, Sequence[Row]], tuple[float, ...]]
"""How good a step size is, from the rows of its trials: the smaller the better, part by part."""


@dataclass(frozen=True)
class Tuner:
    """The search for the best step size of a cell, with seeds used for nothing else.

    All of ``rates`` are tried with ``seeds`` seeds each. While the best one lies at an edge of the grid and
    beats its neighbour in the first two parts of ``merit``, the grid grows there by the same factor,
    ``extensions`` times at most. Ties go to the rate nearest to the middle of the grid.
    """

    rates: Sequence[float]
    seeds: int
    merit: Merit
    first_seed: int
    extensions: int = 0

    def tune(self, cells: Cell | Sequence[Cell], rows: Mapping[str, Row]) -> tuple[list[Point], float | None]:
        """The trials that tune a cell, or several to one rate, and the best rate once all of them are in."""
        cells = [cells] if isinstance(cells, Cell) else cells
        rates, left = sorted(self.rates), self.extensions
        while True:
            tried = {rate: [p for cell in cells for p in self._tried(cell, rate)] for rate in rates}
            points = [point for each in tried.values() for point in each]
            if any(point.trial.key not in rows for point in points):
                return points, None
            merits = {r: self.merit(r, [rows[p.trial.key] for p in each]) for r, each in tried.items()}
            middle = (len(rates) - 1) / 2
            best = min(rates, key=lambda rate: (*merits[rate], abs(rates.index(rate) - middle)))
            beyond = self._beyond(rates, best, merits) if left else None
            if beyond is None:
                return points, best
            rates, left = sorted([*rates, beyond]), left - 1

    def _tried(self, cell: Cell, rate: float) -> list[Point]:
        return at_rate(cell, rate, TUNING, range(self.first_seed, self.first_seed + self.seeds)).points()

    def _beyond(
        self, rates: list[float], best: float, merits: Mapping[float, tuple[float, ...]]
    ) -> float | None:
        """The next rate beyond the edge at which the best one lies, if it beats its neighbour there."""
        for edge, neighbour in ((rates[-1], rates[-2:][0]), (rates[0], rates[:2][-1])):
            if best == edge != neighbour and merits[edge][:2] < merits[neighbour][:2]:
                return edge * edge / neighbour
        return None


def at_rate(cell: Cell, rate: float, phase: str, seeds: range) -> Cell:
    """The cell with this step size; its learner must be given by its fields."""
    labels = {**cell.labels, "rate": rate, "phase": phase}
    return replace(cell, labels=labels, learner={**cell.learner, "rate": rate}, seeds=seeds)


def measurements(table: pd.DataFrame) -> pd.DataFrame:
    """The lines of the measurement, without those of the tuning."""
    return table[table["phase"] == MEASURED] if len(table) else table


class TunedStudy(Study):
    """Gradient descent to a target error, every cell with its own best step size.

    For every cell (an arm at a size), a :class:`Tuner` tries ``rates`` with ``tuning_seeds`` seeds. The best
    rate (fewest runs that miss the target, then fewest steps, then least error at the end) is then measured
    with ``seeds`` new seeds. The rule is the same for every arm, as are examples and ``budget`` of steps.

    A run has *reached* the target if its held-out error did within the budget and its test error confirms it
    (at most 1.2 times the target, since the first success among many looks is partly luck). Other runs count
    as their whole budget, so means that include them are lower bounds.
    """

    adaptive: ClassVar[bool] = True

    rates: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0)
    extensions: int = Field(2, ge=0, le=10)
    tuning_seeds: int = Field(2, ge=1, le=100)
    target_error: float = Field(0.1, gt=0, lt=0.5)
    budget: int = Field(600, ge=1, le=1_000_000)
    held_out: int = Field(1024, ge=1, le=100_000)
    test_size: int = Field(4096, ge=1, le=1_000_000)

    @field_validator("rates")
    @classmethod
    def _some(cls, rates: tuple[float, ...]) -> tuple[float, ...]:
        if not rates or min(rates) <= 0 or len(set(rates)) < len(rates):
            raise ValueError("rates must be a list of different step sizes above 0, as in [0.1, 1, 10]")
        return rates

    def cell(
        self,
        labels: Mapping[str, Any],
        task: Task,
        network: Network,
        m: int,
        *,
        budget: int | None = None,
        seeds: int | None = None,
    ) -> Cell:
        """A cell with all but the step size; the held-out examples come on top of m.

        ``budget`` and ``seeds`` are its own, by default the study's.
        """
        learner = {
            "name": "gradient", "optimiser": "sgd", "batch": None, "loss": "hinge", "tolerance": 0,
            "epochs": budget or self.budget, "target_error": self.target_error, "held_out": self.held_out,
        }  # fmt: skip
        return Cell(
            labels, task, learner, network, m + self.held_out, self.repetitions(seeds), self.test_size
        )

    def plan(self, rows: Mapping[str, Row]) -> list[Point]:
        """Tuning for every cell; where that is done, the measurement at the best rate."""
        points, rows = [], good(rows)
        tuner = Tuner(self.rates, self.tuning_seeds, self._merit, self.first_tuning_seed, self.extensions)
        for cell in self.cells():
            tuning, best = tuner.tune(cell, rows)
            points += tuning
            if best is not None:
                points += at_rate(cell, best, MEASURED, cell.seeds).points()
        return points

    def outlook(self) -> list[Trial]:
        """The tuning, and measurements as if the middle rate were the best everywhere."""
        middle = sorted(self.rates)[len(self.rates) // 2]
        measured = [at_rate(cell, middle, MEASURED, cell.seeds) for cell in self.cells()]
        return [point.trial for point in [*self.plan({}), *(p for cell in measured for p in cell.points())]]

    def _merit(self, rate: float, rows: Sequence[Row]) -> tuple[float, float, float]:
        """Runs that miss the target, steps, and the final error to the nearest per cent."""
        del rate
        missed, steps, error = 0.0, 0.0, 0.0
        for row in rows:
            reached = row.result.get("stopped") == "error"
            missed += not reached
            steps += float(row.result["steps"]) if reached else self.budget
            error += float(row.result.get("held_out_error", 1.0))
        return missed, steps, round(error / len(rows), 2)

    def table(self, points: Sequence[Point], rows: Mapping[str, Row]) -> pd.DataFrame:
        """One line per trial; ``steps_taken`` is the budget where the target is not ``reached``."""
        table = super().table(points, rows)
        if len(table):
            known = good(rows)
            trials = [point.trial for point in points if point.trial.key in known]
            budgets = [getattr(trial.learner, "epochs", self.budget) for trial in trials]
            confirmed = table["test_error"] <= CONFIRMED * self.target_error
            table["reached"] = (table["stopped"] == "error") & confirmed
            table["steps_taken"] = table["steps"].where(table["reached"], budgets)
        return table

    def measured(self, table: pd.DataFrame) -> pd.DataFrame:
        return measurements(table)

    def in_steps(
        self, table: pd.DataFrame, steps: Iterable[Step], place: Mapping[str, Any], where: str
    ) -> list[Answer]:
        """What priors save in steps to the target at a place; a limit where runs do not get there."""
        found, rows = [], self.measured(table)
        for step in steps if len(rows) else ():
            parts = [selected(rows, arm=arm, **place).set_index("seed") for arm in step[1:]]
            if parts[0].index.intersection(parts[1].index).empty:
                continue
            short = tuple(not part["reached"].all() for part in parts)
            without, given = (
                (arm + (", target missed" if missed else ""), part["steps_taken"])
                for arm, part, missed in zip(step[1:], parts, short, strict=True)
            )
            where_to = f"{where}, for an error of {self.target_error:g}"
            found.append(in_effort(step.prior, without, given, "steps", self.on(), where_to, short))  # type: ignore[arg-type]
        return found
