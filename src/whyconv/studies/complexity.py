"""Studies of sample complexity: how many examples until error or risk is at most a target, for any task."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field, model_validator

from whyconv.lazy import pd
from whyconv.measure.complexity import SampleComplexity, sample_complexity
from whyconv.measure.compute import training_cost
from whyconv.measure.curves import Curve
from whyconv.spec import Spec
from whyconv.studies import Cell, Point, Study, good
from whyconv.studies.answers import Answer, in_examples, words
from whyconv.studies.grid import selected
from whyconv.studies.worth import Step
from whyconv.trial import Row, Trial

Found = Mapping[float, SampleComplexity]
"""m* by value of the axis."""


class Sizes(Spec):
    """The sample sizes that are searched: from ``low`` to ``cap``, to within ``resolution`` of m*."""

    low: int = Field(2, ge=1, le=10_000_000)
    cap: int = Field(1000, ge=2, le=10_000_000)
    resolution: float = Field(0.05, gt=0, le=1)

    @model_validator(mode="after")
    def _ordered(self) -> Sizes:
        if self.low >= self.cap:
            raise ValueError(
                f"low = {self.low} and cap = {self.cap} were given, but a search goes from low up to cap; "
                "take low < cap"
            )
        return self


class ComplexityStudy(Study):
    """m*, the least number of examples whose mean ``outcome`` over seeds is at most the goal, for every cell.

    Every cell brings a :class:`whyconv.measure.complexity.Search`, bisection on log m: the largest size is in
    its first round, so an arm that misses the goal costs little and is *not reached*, never extrapolated. A
    size counts once all its seeds are in.
    """

    adaptive: ClassVar[bool] = True
    axis: ClassVar[str]
    """The label along which m* is compared."""
    priors: ClassVar[tuple[Step, ...]] = ()
    """Pairs of arms that differ by a prior, for the answer; the first is what the study is about."""

    @abstractmethod
    def goal(self, cell: Cell) -> float:
        """The error or risk to reach."""

    def comparable(self, cell: Cell) -> bool:
        """Whether m* is meaningful here; elsewhere it is shown but not compared."""
        del cell
        return True

    def plan(self, rows: Mapping[str, Row]) -> list[Point]:
        """For every cell the sizes that its search has asked for so far."""
        rows = good(rows)
        return [point for cell in self.cells() for point in self.searched(cell, rows)]

    def searched(self, cell: Cell, rows: Mapping[str, Row]) -> list[Point]:
        """The search of a cell, replayed from the rows so far."""
        goal, means, points = self.goal(cell), {}, []
        assert cell.search is not None
        while wanted := cell.search.wanted(means, goal):
            new = {m: self.sized(cell, m).points() for m in wanted}
            points += [point for each in new.values() for point in each]
            if any(point.trial.key not in rows for each in new.values() for point in each):
                break
            for m, each in new.items():
                results = {point.trial.seed: rows[point.trial.key].result[self.outcome] for point in each}
                means |= Curve({m: {seed: float(result) for seed, result in results.items()}}).means()
        return points

    def sized(self, cell: Cell, m: int) -> Cell:
        """A cell at one of the sizes of its search; a learner may depend on it."""
        return cell.at(m)

    def outlook(self) -> list[Trial]:
        """The usual sizes of every search."""
        return [point.trial for cell in self.cells() for point in self.usual(cell)]

    def usual(self, cell: Cell) -> list[Point]:
        """The trials a forecast expects."""
        assert cell.search is not None
        return [point for m in cell.search.usual() for point in self.sized(cell, m).points()]

    def complexity(
        self, table: pd.DataFrame, cell: Cell, beside: Iterable[Cell] = ()
    ) -> SampleComplexity | None:
        """m* of a cell, from the seeds shared with those ``beside`` it; None until a size is complete."""
        seeds = min((cell.seeds, *(other.seeds for other in beside)), key=len)
        curve = Curve.from_table(selected(table, **cell.labels), value=self.outcome).complete(seeds)
        return sample_complexity(curve, self.goal(cell), curve.sizes[-1]) if curve.sizes else None

    def complexities(
        self, table: pd.DataFrame, arm: str, beside: Iterable[str] = (), **where: Any
    ) -> dict[float, SampleComplexity]:
        """m* of an arm by value of the axis, at the places with the labels ``where``.

        Only where m* is comparable and all of ``beside`` were measured too, from their common seeds.
        """
        found = {}
        for place, cells in self.by_place().items():
            if {arm, *beside} <= cells.keys() and where.items() <= dict(place).items():
                others = [cells[name] for name in beside]
                if self.comparable(cells[arm]) and (one := self.complexity(table, cells[arm], others)):
                    found[dict(place)[self.axis]] = one
        return found

    def paired(self, table: pd.DataFrame, first: str, second: str) -> tuple[Found, Found]:
        """m* of two arms by value, from their common seeds."""
        return self.complexities(table, first, [second]), self.complexities(table, second, [first])

    def answers(self, table: pd.DataFrame) -> list[Answer]:
        """For every prior the ratio of m*, at the values that :meth:`told` chooses."""
        found = []
        for step in self.priors if len(table) else ():
            without, given = self.paired(table, step.without, step.given)
            goals = {cell.labels[self.axis]: self.goal(cell) for cell in self.cells()}
            for value in self.told([each for each in without if each in given]):
                where = f"{self.place(value)}, for a {words(self.outcome)} of {goals[value]:.3g}"
                both = (step.without, without[value]), (step.given, given[value])
                found.append(in_examples(step.prior, *both, self.on(), where))
        return found

    def told(self, values: Sequence[float]) -> Sequence[float]:
        """Those of the values where both arms were measured that the answer is about: the last."""
        return values[-1:]

    def place(self, value: float) -> str:
        """A value of the axis in words."""
        return f"at {self.axis} = {value:g}"

    def by_place(self) -> dict[tuple[tuple[str, Any], ...], dict[str, Cell]]:
        """The cells by their labels without the arm, and then by arm."""
        found: dict[tuple[tuple[str, Any], ...], dict[str, Cell]] = {}
        for cell in self.cells():
            place = tuple((name, value) for name, value in cell.labels.items() if name != "arm")
            found.setdefault(place, {})[cell.labels["arm"]] = cell
        return found

    def measured(self, table: pd.DataFrame) -> pd.DataFrame:
        """All lines, sorted by place and size, not in the order of the search."""
        place = [name for name, _ in next(iter(self.by_place()))]
        return table.sort_values([*place, "arm", "m"], kind="stable") if len(table) else table

    def beside(self, cell: Cell) -> dict[str, Any]:
        """Further columns beside the goal in the table of m*."""
        del cell
        return {}

    def tables(self, table: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """m* with its interval beside the goal, the operations and the seconds of one training at m*."""
        lines = []
        for cell in self.cells():
            if found := self.complexity(table, cell):
                cost = training_cost(selected(table, **cell.labels, m=found.m_star or found.cap))
                tuned = {"step sizes": cost.settings} if cost.settings else {}
                lines.append(
                    {
                        **cell.labels, "m*": found, "target": self.goal(cell), **self.beside(cell),
                        "runs": found.count, "operations": cost.flops, "seconds": cost.seconds, **tuned,
                    }
                )  # fmt: skip
        title = "Examples needed; at m* (or the largest m): operations of a training, seconds"
        if any("step sizes" in line for line in lines):
            title += " with all step sizes"
        return {title: pd.DataFrame(lines)} if lines else {}

    def drawn(self, table: pd.DataFrame) -> pd.DataFrame:
        """One line for every cell, as the chart of sample complexities takes them."""
        lines = [
            (cell.labels["arm"], cell.labels[self.axis], m.crossing, m.low, m.high, m.cap, m.count)
            for cell in self.cells()
            if (m := self.complexity(table, cell))
        ]
        return pd.DataFrame(lines, columns=["arm", "x", "m", "low", "high", "cap", "count"])
