"""Studies of a grid: arms, and comparisons of arms seed by seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, field_validator

from whyconv.lazy import np, pd
from whyconv.learners import LearnerField
from whyconv.measure.complexity import sample_complexity
from whyconv.measure.curves import Curve
from whyconv.measure.intervals import paired_difference
from whyconv.networks import NetworkField
from whyconv.networks.dense import MLP
from whyconv.spec import Spec, checked
from whyconv.studies import Cell, Study, increasing
from whyconv.studies.answers import Answer, in_examples, in_outcome, words
from whyconv.studies.worth import Step
from whyconv.tasks import TaskField

if TYPE_CHECKING:
    from whyconv.measure.intervals import Interval


PIECES = ("network", "learner")
"""The fields of an arm that its control shares."""


class Arm(Spec):
    """One contestant: a network and a learner; ``task`` may change fields of the study's task for it.

    ``matches`` names the arm whose number of parameters an MLP adopts; ``largest_m`` limits a costly control
    to the smaller samples; ``seeds`` is its own number of repetitions, by default the study's.
    """

    network: NetworkField | None = None
    learner: LearnerField
    task: dict[str, Any] = Field(default_factory=dict)
    matches: str | None = None
    largest_m: int | None = Field(None, ge=1)
    seeds: int | None = Field(None, ge=1, le=10_000)


class ArmStudy(Study):
    """Contestants on one task; all see the same examples, and larger samples contain the smaller ones."""

    needed: ClassVar[tuple[str, ...]] = ()
    """The arms the criterion refers to."""

    task: TaskField
    arms: dict[str, Arm]
    test_size: int = Field(1000, ge=1, le=1_000_000)

    @field_validator("arms")
    @classmethod
    def _complete(cls, arms: dict[str, Arm]) -> dict[str, Arm]:
        """All needed arms are there, and every ``matches`` names an arm with a network."""
        for name in cls.needed:
            if name not in arms:
                raise ValueError(f"the arm {name!r} is missing, but the criterion needs it")
        for name, arm in arms.items():
            model = arms.get(arm.matches) if arm.matches is not None else None
            if arm.matches is not None and (model is None or model.network is None):
                raise ValueError(f"{name} matches {arm.matches!r}, which is not an arm with a network")
        return arms

    @classmethod
    def carries(cls, values: Mapping[str, Any], path: str) -> list[str]:
        """A network or learner that is set for an arm is set for the same arm on a changed task, too."""
        field, _, rest = path.partition(".")
        arm, _, place = rest.partition(".")
        arms = values["arms"]
        if field != "arms" or arm not in arms or place.partition(".")[0] not in PIECES:
            return []
        model = arms[arm]
        return [
            f"arms.{name}.{place}"
            for name, other in arms.items()
            if other.get("task")
            and not model.get("task")
            and all(other.get(part) == model.get(part) for part in PIECES)
        ]

    def cell(self, name: str, labels: Mapping[str, Any], changes: Mapping[str, Any], **more: Any) -> Cell:
        """The cell of an arm, where fields of the task are changed; ``more`` are fields of the cell."""
        arm = self.arms[name]
        task, network = changed(self.task, {**changes, **arm.task}), arm.network
        if arm.matches is not None and isinstance(network, MLP):
            model = self.arms[arm.matches].network
            if model is not None:
                network = changed(network, {"parameters": model.parameter_count(task.shape)})
        fields = {"network": network, "seeds": self.repetitions(arm.seeds), "test_size": self.test_size}
        return Cell({"arm": name, **labels}, task, arm.learner, **{**fields, **more})


class GridStudy(ArmStudy):
    """Arms times values times seeds."""

    m: tuple[int, ...]
    exact: bool = False
    risk: bool = False

    priors: ClassVar[tuple[Step, ...]] = ()
    """Pairs of arms that differ by a prior, for the answer; the first is what the study is about."""
    reach: ClassVar[float | None] = None
    """The outcome to reach, where m varies and the answer is a factor in examples, too."""

    _increasing = increasing("m", example="[40, 80, 160]")

    def values(self) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any], int]]:
        """Labels, changes to the task's fields, and m, for every column of the grid."""
        for m in self.m:
            yield {"m": m}, {}, m

    def cells(self) -> Iterator[Cell]:
        """Every arm at every value."""
        for labels, changes, m in self.values():
            for name, arm in self.arms.items():
                if arm.largest_m is None or m <= arm.largest_m:
                    yield self.cell(name, labels, changes, m=m, exact=self.exact, risk=self.risk)

    def told_at(self) -> Iterable[Mapping[str, Any]]:
        """The places, by their labels, where the answer compares outcomes: fixed before rows are seen."""
        return [{"m": self.m[-1]}]

    def answers(self, table: pd.DataFrame) -> list[Answer]:
        """For every prior a factor in examples, if there is an outcome to ``reach``, and differences."""
        factors, differences = [], []
        for step in self.priors if len(table) else ():
            if self.reach is not None and (found := factor(table, step, self.outcome, self.reach, self.on())):
                factors.append(found)
            for place in self.told_at():
                if found := compared(table, step, self.outcome, self.on(), place):
                    differences.append(found)
        known = [each for each in factors if each.known]
        return [*known, *differences, *(each for each in factors if not each.known)]


def factor(table: pd.DataFrame, step: Step, outcome: str, reach: float, data: str) -> Answer | None:
    """m* of both arms on the sizes of the grid that both have, from their common seeds; None without two."""
    seeds = sorted(set.intersection(*(set(selected(table, arm=arm)["seed"]) for arm in step[1:])))
    curves = [
        Curve.from_table(selected(table, arm=arm), value=outcome).complete(seeds)
        for arm in (step.without, step.given)
    ]
    if not seeds or min(len(curve.sizes) for curve in curves) < 2:
        return None
    without, given = (sample_complexity(curve, reach, curve.sizes[-1]) for curve in curves)
    where = f"for a {words(outcome)} of {reach:g}"
    return in_examples(step.prior, (step.without, without), (step.given, given), data, where)


def compared(
    table: pd.DataFrame, step: Step, outcome: str, data: str, place: Mapping[str, Any], where: str = ""
) -> Answer | None:
    """The outcomes of two arms at a place, seed by seed; None if they were not both measured there."""
    without, given = (
        by_seed(table, outcome, arm=arm, **place).groupby("seed").mean() for arm in (step.without, step.given)
    )
    if without.index.intersection(given.index).empty:
        return None
    where = where or f"at {', '.join(f'{name} = {value}' for name, value in place.items())}"
    return in_outcome(step.prior, (step.without, without), (step.given, given), outcome, data, where)


def changed(piece: Any, fields: Mapping[str, Any]) -> Any:
    """A copy of a piece with some fields changed, checked again."""
    if not fields:
        return piece
    values = {name: getattr(piece, name) for name in type(piece).model_fields}
    return checked(type(piece), {**values, **fields}, f"{piece.kind} {piece.name}")


def selected(table: pd.DataFrame, **labels: Any) -> pd.DataFrame:
    """The rows with these labels."""
    if not labels or table.empty:
        return table
    return table[np.logical_and.reduce([(table[name] == value).to_numpy() for name, value in labels.items()])]


def by_seed(table: pd.DataFrame, column: str = "test_error", **labels: Any) -> pd.Series:
    """The column of the rows with these labels, by seed."""
    return selected(table, **labels).set_index("seed")[column]


def advantage(table: pd.DataFrame, better: str, worse: str, **labels: Any) -> Interval:
    """The paired difference of test errors, ``worse`` - ``better``: positive if ``better`` is better."""
    return paired_difference(by_seed(table, arm=worse, **labels), by_seed(table, arm=better, **labels))
