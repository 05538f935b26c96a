"""Studies of a grid: arms, and comparisons of arms seed by seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, field_validator

from whyconv.lazy import np, pd
from whyconv.learners import LearnerField
from whyconv.measure.intervals import paired_difference
from whyconv.networks import NetworkField
from whyconv.networks.dense import MLP
from whyconv.spec import Spec, checked
from whyconv.studies import Cell, Study, increasing
from whyconv.tasks import TaskField

if TYPE_CHECKING:
    from whyconv.measure.intervals import Interval


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
