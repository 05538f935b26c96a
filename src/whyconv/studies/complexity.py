"""Studies of sample complexity: how many examples until the risk is within reach of the best possible."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, field_validator, model_validator

from whyconv.spec import Spec, build, checked, once
from whyconv.studies import Point, Study
from whyconv.studies.grid import Arm, changed, complete_arms
from whyconv.tasks.signal import Signal
from whyconv.trial import Row, Trial

if TYPE_CHECKING:
    import pandas as pd

    from whyconv.measure.complexity import SampleComplexity
    from whyconv.measure.curves import Curve

Found = Mapping[float, "SampleComplexity"]
"""m* by value of the axis."""


def _signal(value: Any) -> Any:
    task = build("task", value)
    if not isinstance(task, Signal):
        raise ValueError(f"the task {task.name} has no known oracle; this study needs the task signal")
    return task


SignalField = Annotated[Signal, BeforeValidator(_signal)]
TELLING = 0.7
"""A target says something about locality only if it is at most this share of what a linear filter reaches."""


@dataclass(frozen=True)
class Cell:
    """A place of the study: where it stands on the axis, its task, and who competes there.

    An arm may change fields of the task (a control's rotation, say), but not the target.
    """

    value: float
    task: Signal
    arms: Mapping[str, Arm]
    labels: Mapping[str, Any] = field(default_factory=dict)
    """More to be told beside the value."""

    def __post_init__(self) -> None:
        if self.value == int(self.value):  # tables and tests show 10, not 10.0
            object.__setattr__(self, "value", int(self.value))


class Sizes(Spec):
    """The sample sizes that are searched: from ``low`` to ``cap``, to within ``resolution`` of m*."""

    low: int = Field(2, ge=1, le=10_000_000)
    cap: int = Field(1000, ge=2, le=10_000_000)
    resolution: float = Field(0.05, gt=0, le=1)

    @model_validator(mode="after")
    def _ordered(self) -> Sizes:
        if self.low >= self.cap:
            raise ValueError(
                f"low = {self.low} and cap = {self.cap} were given, and a search goes from low up to cap; "
                "take low < cap"
            )
        return self


class ComplexityStudy(Study):
    """m*, the least number of examples whose mean risk over seeds is at most the target, for every arm.

    The target is the oracle's risk plus ``excess`` (or ``target`` itself). m* is found by bisection on log m
    (:class:`whyconv.measure.complexity.Search`): the largest size first, so that an arm that does not
    reach the target costs little and is *not reached*, never extrapolated. A size counts when all its
    seeds are in. Every arm gets the same grid of step sizes, tried side by side in each trial.
    """

    adaptive: ClassVar[bool] = True
    outcome: ClassVar[str] = "risk"
    needed: ClassVar[tuple[str, ...]] = ()
    axis: ClassVar[str]
    """What varies, as a column of tables."""

    task: SignalField = Field("signal", validate_default=True)
    arms: dict[str, Arm]
    sizes: Sizes = Field(default_factory=lambda: checked(Sizes, {}, "sizes"))
    excess: float = Field(0.03, gt=0, le=10)
    target: float | None = Field(None, gt=0, le=10)
    test_size: int = Field(1500, ge=1, le=1_000_000)

    @field_validator("arms")
    @classmethod
    def _complete(cls, arms: dict[str, Arm]) -> dict[str, Arm]:
        return complete_arms(arms, cls.needed)

    @model_validator(mode="after")
    def _attainable(self) -> ComplexityStudy:
        for name, arm in self.arms.items():
            if arm.largest_m is not None and arm.largest_m <= self.sizes.low:
                raise ValueError(
                    f"arms.{name}.largest_m = {arm.largest_m} and sizes.low = {self.sizes.low} were given, "
                    "and a search goes from low up to the largest m; take a larger one"
                )
        if self.target is not None:
            for cell in self.cells():
                oracle = known(cell.task)[0]
                if self.target < oracle:
                    raise ValueError(
                        f"target = {self.target:g} was given, and at {self.axis} = {cell.value:g} the "
                        f"oracle's risk is {oracle:.4g}; take a larger one, or none for oracle + excess"
                    )
        return self

    @abstractmethod
    def cells(self) -> Iterator[Cell]:
        """Every value of the axis."""

    def goal(self, task: Signal) -> float:
        """The risk to be reached."""
        return self.target if self.target is not None else known(task)[0] + self.excess

    def telling(self, task: Signal) -> bool:
        """Whether the target is out of a linear filter's reach; elsewhere a comparison says nothing."""
        return self.goal(task) <= TELLING * known(task)[1]

    def plan(self, rows: Mapping[str, Row]) -> list[Point]:
        """For every arm and value the sizes that the search has asked for so far."""
        return [
            point for cell in self.cells() for name in cell.arms for point in self._searched(cell, name, rows)
        ]

    def outlook(self) -> list[Trial]:
        """A search's usual sizes: the cap, and six around the middle of the range, on the scale of log m."""
        found = []
        for cell in self.cells():
            for name, arm in cell.arms.items():
                search = self._search(arm)
                middle = (search.low * search.cap) ** 0.5
                around = {min(max(round(middle * 2**i), search.low), search.cap) for i in range(-2, 4)}
                usual = sorted(around | {search.cap})
                found += [
                    self._point(cell, name, m, seed).trial for m in usual for seed in self.repeated(arm)
                ]
        return found

    def repeated(self, *arms: Arm) -> range:
        """The seeds that all of the arms have."""
        return range(min(arm.seeds or self.seeds for arm in arms))

    def _search(self, arm: Arm) -> Any:
        from whyconv.measure.complexity import Search

        return Search(self.sizes.low, arm.largest_m or self.sizes.cap, self.sizes.resolution)

    def _searched(self, cell: Cell, name: str, rows: Mapping[str, Row]) -> list[Point]:
        """The search, played again from the rows that are there."""
        from whyconv.measure.curves import Curve

        arm, goal = cell.arms[name], self.goal(cell.task)
        search = self._search(arm)
        means: dict[int, float] = {}
        points: list[Point] = []
        while wanted := search.wanted(means, goal):
            missing = False
            for m in wanted:
                new = [self._point(cell, name, m, seed) for seed in self.repeated(arm)]
                points += new
                risks = {
                    p.trial.seed: risk for p in new if (risk := _risk(rows.get(p.trial.key))) is not None
                }
                missing = missing or len(risks) < len(new)
                means |= Curve({m: risks}).means()
            if missing:
                break
        return points

    def _point(self, cell: Cell, name: str, m: int, seed: int) -> Point:
        arm = cell.arms[name]
        values = {"network": arm.network, "learner": arm.learner, "m": m, "seed": seed}
        values |= {"task": changed(cell.task, arm.task), "test_size": self.test_size, "risk": True}
        trial = checked(Trial, values, f"arm {name}")
        return Point({"arm": name, self.axis: cell.value, **cell.labels, "m": m}, trial)

    def curve(self, table: pd.DataFrame, cell: Cell, arm: str, beside: Iterable[str] = ()) -> Curve:
        """The learning curve of an arm at a place, from the seeds that it and those ``beside`` it have."""
        from whyconv.measure.curves import Curve

        part = table[(table["arm"] == arm) & (table[self.axis] == cell.value)] if len(table) else table
        seeds = self.repeated(*(cell.arms[name] for name in (arm, *beside)))
        return Curve.from_table(part, value="risk").complete(seeds)

    def complexities(
        self, table: pd.DataFrame, arm: str, beside: Iterable[str] = ()
    ) -> dict[float, SampleComplexity]:
        """m* by value of the axis, where the target tells something and those ``beside`` the arm are, too."""
        return {
            cell.value: self._found(self.curve(table, cell, arm, beside), cell, arm)
            for cell in self.cells()
            if {arm, *beside} <= set(cell.arms) and self.telling(cell.task)
        }

    def measured(self, table: pd.DataFrame) -> pd.DataFrame:
        """All lines, by place and size instead of by the order in which the search looked."""
        return table.sort_values([self.axis, "arm", "m"], kind="stable") if len(table) else table

    def paired(self, table: pd.DataFrame, first: str, second: str) -> tuple[Found, Found]:
        """m* of two arms by value, from the seeds that both have."""
        return self.complexities(table, first, [second]), self.complexities(table, second, [first])

    def tables(self, table: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """m* with its interval beside the target, the operations and the seconds of one training at m*."""
        import pandas as pd

        from whyconv.measure.compute import training_cost

        lines = []
        for cell in self.cells():
            for name in cell.arms:
                curve = self.curve(table, cell, name)
                if not curve.sizes:
                    continue
                found = self._found(curve, cell, name)
                at = table[(table["arm"] == name) & (table[self.axis] == cell.value)]
                cost = training_cost(at[at["m"] == (found.m_star or found.cap)])
                lines.append(
                    {
                        "arm": name, self.axis: cell.value, **cell.labels, "target": self.goal(cell.task),
                        "linear filter": known(cell.task)[1], "m*": found, "runs": found.count,
                        "operations": cost.flops, "seconds": cost.seconds,
                        "step sizes": cost.settings,
                    }
                )  # fmt: skip
        title = (
            "Examples needed; at m* (or the largest m): operations of a training, seconds with all step sizes"
        )
        return {title: pd.DataFrame(lines)} if lines else {}

    def _found(self, curve: Curve, cell: Cell, name: str) -> SampleComplexity:
        from whyconv.measure.complexity import sample_complexity

        return sample_complexity(curve, self.goal(cell.task), self._search(cell.arms[name]).cap)

    def drawn(self, table: pd.DataFrame) -> pd.DataFrame:
        """One line for every arm and value, as the chart of sample complexities takes them."""
        import pandas as pd

        columns = ["arm", "x", "m", "low", "high", "cap", "count"]
        lines = []
        for cell in self.cells():
            for name in cell.arms:
                curve = self.curve(table, cell, name)
                if curve.sizes:
                    one = self._found(curve, cell, name)
                    lines.append((name, cell.value, one.crossing, one.low, one.high, one.cap, one.count))
        return pd.DataFrame(lines, columns=columns)


@once
def known(task: Signal) -> tuple[float, float]:
    """The oracle's risk, and that of the best linear filter."""
    return task.oracle()[0], task.linear_risk()


def _risk(row: Row | None) -> float | None:
    """A failed trial tells as little as one that was not run."""
    return None if row is None or row.status == "failed" else float(row.result["risk"])
