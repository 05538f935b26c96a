"""Studies of how long training takes: the step size is tuned first, with the same budget for every arm."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pydantic import Field, field_validator

from whyconv.networks import Network
from whyconv.spec import checked
from whyconv.studies import Point, Study, good
from whyconv.tasks import Task
from whyconv.trial import Row, Trial

if TYPE_CHECKING:
    import pandas as pd

FIRST_TUNING_SEED = 10_000
TUNING, MEASURED = "tuning", "measured"


CONFIRMED = 1.2
"""A target met on held-out examples counts only if the test error is at most this multiple of it."""


class Cell(NamedTuple):
    """A place of the study: its labels, what is trained on what, and with how many examples."""

    labels: Mapping[str, Any]
    task: Task
    network: Network
    m: int


class TunedStudy(Study):
    """Gradient descent to a target error, every cell with its own best step size.

    For every cell (an arm at a size), each of ``rates`` is tried with ``tuning_seeds`` seeds that are
    used for nothing else. While the best rate lies at an edge of the grid and beats its neighbour, the
    grid grows there, ``extensions`` times at most. The best rate (fewest runs that miss the target, then
    fewest steps, then least error at the end, then next to the middle) is then measured with ``seeds`` new
    seeds. The rule is the same for every arm, as are examples and ``budget`` of steps.

    A run has *reached* the target if its held-out error did within the budget and its test error confirms
    it (at most 1.2 times the target: the first of many looks is a lucky one). Other runs count as the
    budget in means, which are lower bounds then, and are drawn there.
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

    @abstractmethod
    def cells(self) -> Iterator[Cell]:
        """Every arm at every size."""

    def plan(self, rows: Mapping[str, Row]) -> list[Point]:
        """Tuning for every cell; where that is done, the measurement at the best rate."""
        points, rows = [], good(rows)
        for cell in self.cells():
            tuning, best = self._tuned(cell, rows)
            points += tuning
            if best is not None:
                points += [self._point(cell, best, seed, MEASURED) for seed in range(self.seeds)]
        return points

    def outlook(self) -> list[Trial]:
        """The tuning, and measurements as if the middle rate were the best everywhere."""
        middle = sorted(self.rates)[len(self.rates) // 2]
        measured = [
            self._point(cell, middle, s, MEASURED) for cell in self.cells() for s in range(self.seeds)
        ]
        return [point.trial for point in [*self.plan({}), *measured]]

    def _tuned(self, cell: Cell, rows: Mapping[str, Row]) -> tuple[list[Point], float | None]:
        """The trials that tune a cell, and the best rate once all of them are in."""
        rates = sorted(self.rates)
        for extended in range(self.extensions + 1):
            tried = {
                rate: [
                    self._point(cell, rate, FIRST_TUNING_SEED + i, TUNING) for i in range(self.tuning_seeds)
                ]
                for rate in rates
            }
            points = [point for each in tried.values() for point in each]
            if any(point.trial.key not in rows for point in points):
                return points, None
            merits = {rate: self._merit(tried[rate], rows) for rate in rates}
            middle = (len(rates) - 1) / 2
            best = min(rates, key=lambda rate: (*merits[rate], abs(rates.index(rate) - middle)))
            if extended < self.extensions and len(rates) > 1:
                if best == rates[-1] and merits[best][:2] < merits[rates[-2]][:2]:
                    rates = [*rates, best * best / rates[-2]]
                    continue
                if best == rates[0] and merits[best][:2] < merits[rates[1]][:2]:
                    rates = [best * best / rates[1], *rates]
                    continue
            return points, best
        raise AssertionError("the last round returns")

    def _point(self, cell: Cell, rate: float, seed: int, phase: str) -> Point:
        learner = {
            "name": "gradient", "optimiser": "sgd", "rate": rate, "batch": None, "loss": "hinge",
            "tolerance": 0, "epochs": self.budget, "target_error": self.target_error,
            "held_out": self.held_out,
        }  # fmt: skip
        values = {"task": cell.task, "network": cell.network, "learner": learner, "seed": seed}
        values |= {"m": cell.m + self.held_out, "test_size": self.test_size}
        labels = {**cell.labels, "rate": rate, "phase": phase}
        return Point(labels, checked(Trial, values, ", ".join(str(label) for label in cell.labels.values())))

    def _merit(self, points: list[Point], rows: Mapping[str, Row]) -> tuple[float, float, float]:
        """The smaller the better: runs that miss the target, steps, error at the end in per cent."""
        missed, steps, error = 0.0, 0.0, 0.0
        for point in points:
            result = rows[point.trial.key].result
            reached = result.get("stopped") == "error"
            missed += not reached
            steps += float(result["steps"]) if reached else self.budget
            error += float(result.get("held_out_error", 1.0))
        return missed, steps, round(error / len(points), 2)

    def table(self, points: list[Point], rows: Mapping[str, Row]) -> pd.DataFrame:
        """One line per trial; ``steps_taken`` is the budget where the target is not ``reached``."""
        table = super().table(points, rows)
        if len(table):
            confirmed = table["test_error"] <= CONFIRMED * self.target_error
            table["reached"] = (table["stopped"] == "error") & confirmed
            table["steps_taken"] = table["steps"].where(table["reached"], self.budget)
        return table

    def measured(self, table: pd.DataFrame) -> pd.DataFrame:
        """The lines of the measurement, without those of the tuning."""
        return table[table["phase"] == MEASURED] if len(table) else table
