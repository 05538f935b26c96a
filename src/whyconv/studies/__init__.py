"""Studies: a plan of trials, and how to summarise, draw and judge their rows. One figure, one study."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from whyconv.errors import UserError
from whyconv.lazy import pd
from whyconv.spec import Piece, build, checked
from whyconv.studies.answers import Answer
from whyconv.tasks import Task
from whyconv.text import labelled
from whyconv.trial import Row, Trial
from whyconv.verdict import Evidence

if TYPE_CHECKING:
    import altair

    from whyconv.measure.complexity import Search


@dataclass(frozen=True)
class Point:
    """A trial with its place in the study: ``labels`` such as ``{"arm": "ConvPool", "m": 40}``."""

    made: ClassVar[int] = 0
    """How many were made in this process; shows the progress of a long plan."""

    labels: Mapping[str, Any]
    trial: Trial

    def __post_init__(self) -> None:
        Point.made += 1


@dataclass(frozen=True)
class Cell:
    """A place in a study: what is trained on what, with how many examples, and how often.

    Pieces may be given as specs. A study that searches for m* gives ``search`` instead of ``m``. Every trial
    of every study comes from :meth:`points`.
    """

    labels: Mapping[str, Any]
    task: Any
    learner: Any
    network: Any = None
    m: int = 1
    seeds: range = range(1)
    test_size: int = 1000
    exact: bool = False
    risk: bool = False
    search: Search | None = None

    def at(self, m: int) -> Cell:
        """The same place with this many examples."""
        return replace(self, m=m, labels={**self.labels, "m": m})

    def points(self) -> list[Point]:
        """One trial for every seed."""
        values = {"task": self.task, "network": self.network, "learner": self.learner, "m": self.m}
        values |= {"test_size": self.test_size, "exact": self.exact, "risk": self.risk}
        if not self.seeds:
            return []
        first = checked(Trial, {**values, "seed": self.seeds[0]}, f"arm {self.labels['arm']}")
        others = (first.seeded(seed) for seed in self.seeds[1:])
        return [Point(self.labels, trial) for trial in (first, *others)]


@dataclass(frozen=True)
class Judgement:
    """The study's verdict, and that of its control: the same criterion with the control in place."""

    evidence: Evidence
    control: Evidence


def good(rows: Mapping[str, Row]) -> dict[str, Row]:
    """The rows a plan may rely on; a failed trial (out of memory, say) is not a measurement."""
    return {key: row for key, row in rows.items() if row.status == "ok"}


def only_task(kind: type[Task], why: str = "was given") -> BeforeValidator:
    """A validator for a field that takes tasks of one kind only, or their specs."""

    def built(value: Any) -> Any:
        task = build("task", value)
        if not isinstance(task, kind):
            raise ValueError(f"the task {task.name} {why}; this study needs the task {kind.name}")
        return task

    return BeforeValidator(built)


def increasing(*fields: str, example: str, count: int = 1, above: float | None = 0) -> Any:
    """A validator for fields that list ``count`` or more increasing numbers ``above`` a limit."""

    def checked_order(values: tuple[float, ...], info: ValidationInfo) -> tuple[float, ...]:
        low = above is not None and bool(values) and min(values) <= above
        if len(values) < count or low or list(values) != sorted(set(values)):
            few = "two or more " if count == 2 else ""
            limit = "" if above is None else f" above {above:g}"
            raise ValueError(
                f"{info.field_name} must be a list of {few}increasing numbers{limit}, as in {example}"
            )
        return values

    return field_validator(*fields)(checked_order)


class Study(Piece):
    """One question put to many trials.

    The fields are the settings (``--set task.positions=20`` sets a field of a field); ``presets`` are sets of
    overrides. ``plan`` is called with the good rows known so far, until every row it wants is there: a grid
    ignores the rows, an adaptive search reads them and may decide only once all seeds of a point are in. A
    failed trial is not a measurement (:func:`good`): the search waits until it has been run again.
    """

    kind: ClassVar[str] = "study"
    required: ClassVar[tuple[str, ...]] = ("title", "criterion", "broken", "presets")
    title: ClassVar[str]
    """The question, neutral: what it turns out to be is said by :meth:`concludes`."""
    met: ClassVar[str] = "The criterion is met."
    """What the study shows if it is *consistent*, in a sentence."""
    unmet: ClassVar[str] = "The criterion is not met."
    """What it shows if it *fails*."""
    says: ClassVar[str] = ""
    """The sentence of the paper that the criterion is taken from, with its place; frozen with it."""
    criterion: ClassVar[str]
    """How the study judges itself, in a sentence."""
    broken: ClassVar[str]
    """What the control is, in a sentence."""
    lost: ClassVar[str] = "loses its advantage, as it must"
    """What the control does where the study is *consistent*, after "control:"."""
    rule: ClassVar[str] = ""
    """What is held fixed and a reader of the figure must know: stopping rule, initial scale."""
    needs_data: ClassVar[bool] = False
    """Whether its settings alone cannot build it: it asks about data of a user."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]]
    """Overrides by name; ``quick`` takes a minute or so, ``paper`` has the paper's sizes."""

    outcome: ClassVar[str] = "test_error"
    """The measured column whose means are shown."""
    adaptive: ClassVar[bool] = False
    """Whether ``plan`` wants more trials once it has seen rows."""

    thresholds: ClassVar[Mapping[str, float]] = {}
    """The numbers of the criterion by name, frozen with it: ``judge`` reads them here."""

    seeds: int = Field(5, ge=1, le=10_000)
    first_seed: int = Field(0, ge=0, le=10_000_000)
    """The first of the consecutive seeds: a criterion that was changed after a run needs others."""

    def repetitions(self, count: int | None = None) -> range:
        """The seeds: as many as the study has, or ``count``."""
        return range(self.first_seed, self.first_seed + (count or self.seeds))

    @property
    def first_tuning_seed(self) -> int:
        """The first seed of trials that only tune; the repetitions have others."""
        return self.first_seed + 10_000

    def cells(self) -> Iterable[Cell]:
        """Every place of the study, in the order of the plan."""
        raise UserError(f"the study {self.name} defines neither cells nor plan; define one of them.")

    def plan(self, rows: Mapping[str, Row]) -> list[Point]:
        """Every trial wanted, given the rows so far (by trial key); those without a row get run."""
        del rows
        return [point for cell in self.cells() for point in cell.points()]

    def outlook(self) -> list[Trial]:
        """The trials behind the time forecast; an adaptive study may guess those still to come."""
        return [point.trial for point in self.plan({})]

    @abstractmethod
    def judge(self, table: pd.DataFrame) -> Judgement:
        """The verdict from the finished rows."""

    def answers(self, table: pd.DataFrame) -> list[Answer]:
        """What each prior is worth by these rows, the one that the study is about first.

        ``table`` may lack trials; what it does not show is left out.
        """
        del table
        return []

    def on(self) -> str:
        """The data in a few words: the task with the settings that are not its defaults."""
        task = getattr(self, "task", None)
        if task is None:
            return ""
        fields = {name: value for name, value in task.canonical().items() if name != "name"}
        return ", ".join(filter(None, (task.name, labelled(fields))))

    def data(self) -> str:
        """The data the study reads, in a sentence shown before a run; empty if it reads none."""
        return ""

    @classmethod
    def carries(cls, values: Mapping[str, Any], path: str) -> list[str]:
        """Where else a user's assignment to ``path`` goes: to controls, which must differ in nothing else.

        ``values`` are the fields before the assignment.
        """
        del values, path
        return []

    def unjudged(self) -> str:
        """Why results of these settings are shown but not judged, in a sentence; empty if they are judged."""
        return ""

    def remarks(self) -> str:
        """What a reader of the figure must know about these settings: rule, data, readings chosen."""
        return self.rule

    @abstractmethod
    def figures(self, table: pd.DataFrame) -> dict[str, altair.TopLevelMixin]:
        """Charts by title, from one line per trial."""

    def tables(self, table: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Derived tables by title: what was measured, in the study's own terms, such as m* with intervals.

        ``table`` may lack trials. Cells are numbers or texts; a missing one is shown as a dash.
        """
        del table
        return {}

    def measured(self, table: pd.DataFrame) -> pd.DataFrame:
        """The lines whose means are shown: all, or all but those that only served to tune."""
        return table

    def pictures(self) -> dict[str, str]:
        """SVG pictures by title that explain the setting; they show no measurement."""
        return {}

    def table(self, points: Sequence[Point], rows: Mapping[str, Row]) -> pd.DataFrame:
        """One line per trial with a good row: labels, seed, the measured columns, and seconds if known."""
        lines = []
        for point in points:
            row = rows.get(point.trial.key)
            if row is not None and row.status == "ok":
                line = {**point.labels, "seed": point.trial.seed, **row.result}
                if isfinite(row.seconds):
                    line.setdefault("seconds", row.seconds)
                lines.append(line)
        return pd.DataFrame(lines)
