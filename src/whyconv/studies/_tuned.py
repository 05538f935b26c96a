"""Studies of how long training takes: the step size is tuned first, with the same budget for every arm."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pydantic import Field, field_validator

from whyconv.networks import Network
from whyconv.spec import checked
from whyconv.studies import Point, Study
from whyconv.tasks import Task
from whyconv.trial import Row, Trial

if TYPE_CHECKING:
    import pandas as pd

FIRST_TUNING_SEED = 10_000
TUNING, MEASURED = "tuning", "measured"


class Cell(NamedTuple):
    """A place of the study: its labels, and what is trained on what."""

    labels: Mapping[str, Any]
    task: Task
    network: Network


class TunedStudy(Study):
    """Gradient descent to a target error, every cell with its own best step size.

    For every cell (an arm at a size), each of ``rates`` is tried with ``tuning_seeds`` seeds that are
    used for nothing else. The best rate (fewest runs that miss the target, then fewest steps, then
    least error at the end) is then measured with ``seeds`` new seeds. Every arm has the same rates,
    seeds, examples and ``budget`` of steps. A run that has not reached the target within the budget is
    *not reached*: it counts as the budget in means, which are lower bounds then, and is drawn there.
    """

    adaptive: ClassVar[bool] = True

    rates: tuple[float, ...] = (0.1, 1.0, 10.0)
    tuning_seeds: int = Field(2, ge=1, le=100)
    target_error: float = Field(0.1, gt=0, lt=0.5)
    budget: int = Field(400, ge=1, le=1_000_000)
    m: int = Field(4096, ge=1, le=1_000_000)
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
        points = []
        for cell in self.cells():
            tuning = {
                rate: [
                    self._point(cell, rate, FIRST_TUNING_SEED + i, TUNING) for i in range(self.tuning_seeds)
                ]
                for rate in self.rates
            }
            points += [point for each in tuning.values() for point in each]
            if all(point.trial.key in rows for each in tuning.values() for point in each):
                best = min(self.rates, key=lambda rate: self._merit(tuning[rate], rows))
                points += [self._point(cell, best, seed, MEASURED) for seed in range(self.seeds)]
        return points

    def _point(self, cell: Cell, rate: float, seed: int, phase: str) -> Point:
        learner = {
            "name": "gradient", "optimiser": "sgd", "rate": rate, "batch": None, "loss": "hinge",
            "tolerance": 0, "epochs": self.budget, "target_error": self.target_error,
            "held_out": self.held_out,
        }  # fmt: skip
        values = {"task": cell.task, "network": cell.network, "learner": learner, "seed": seed}
        values |= {"m": self.m + self.held_out, "test_size": self.test_size}
        labels = {**cell.labels, "rate": rate, "phase": phase}
        return Point(labels, checked(Trial, values, ", ".join(str(label) for label in cell.labels.values())))

    def _merit(self, points: list[Point], rows: Mapping[str, Row]) -> tuple[float, float, float]:
        """The smaller the better: runs that miss the target, steps, error at the end."""
        missed, steps, error = 0.0, 0.0, 0.0
        for point in points:
            result = rows[point.trial.key].result
            reached = result.get("stopped") == "error"
            missed += not reached
            steps += float(result["steps"]) if reached else self.budget
            error += float(result.get("held_out_error", 1.0))
        return missed, steps, error

    def table(self, points: list[Point], rows: Mapping[str, Row]) -> pd.DataFrame:
        """One line per trial; ``steps_taken`` is the budget where the target is not ``reached``."""
        table = super().table(points, rows)
        if len(table):
            table["reached"] = table["stopped"] == "error"
            table["steps_taken"] = table["steps"].where(table["reached"], self.budget)
        return table

    def measured(self, table: pd.DataFrame) -> pd.DataFrame:
        """The lines of the measurement, without those of the tuning."""
        return table[table["phase"] == MEASURED] if len(table) else table
