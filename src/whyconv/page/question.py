"""A question of the page: a study whose settings are switches and sliders with few values each.

Values are few so that compiled programs are used again, and so that nothing from an address reaches a trial
but one of these values. ``whyconv run page.signal --set patches=40`` runs the same trials.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field, model_validator

from whyconv.errors import UserError
from whyconv.lazy import pd
from whyconv.report.charts import curves
from whyconv.spec import build, checked, to_json
from whyconv.studies import Cell, Judgement, Study
from whyconv.studies.answers import Answer
from whyconv.studies.grid import compared, factor
from whyconv.studies.worth import Step
from whyconv.verdict import Evidence

FEWEST, USUAL, MOST = 3, 5, 30
"""Seeds: with fewer there is hardly an interval, with more a point takes too long."""
LONGEST_COUNT = 9
"""Digits of a number of seeds."""
PER_CLICK = 3
"""Seeds that the button adds."""
LOCALITY, SHARING, POOLING = "locality", "weight sharing", "max-pooling"
TOGETHER = f"{LOCALITY} and {SHARING}"
CROWNED = "ConvPool in place of CNN"
NETWORKS = {
    "FCN": "fully connected: every unit sees the whole input",
    "LCN": "locally connected: a unit sees one window of the input, and has weights of its own",
    "CNN": "convolutional: a unit sees one window, and all windows share their weights",
    "ConvPool average": "convolutional, and the responses of a filter are averaged",
    "ConvPool": "convolutional, and the responses of a filter are pooled, usually to the largest",
}
"""The contestants, for somebody who has never heard of them."""


@dataclass(frozen=True)
class Knob:
    """A setting as the page shows it: its words, and the prior that it breaks, if it does."""

    name: str
    label: str
    help: str
    breaks: str = ""
    words: Mapping[Any, str] | None = None
    """Names of values that are not numbers."""
    so: str = ""
    """What is so if the value is not the usual one, to be said after "if": it makes the task another one."""


@dataclass(frozen=True)
class Story:
    """A preset in one sentence, as settings of the question."""

    title: str
    says: str
    point: str
    """The prior whose worth the story is about."""
    settings: Mapping[str, Any]


class Question(Study):
    """Networks side by side on one task; every setting is a choice among few values."""

    listed: ClassVar[bool] = False
    criterion: ClassVar[str] = "None: the page shows what is measured, with intervals, and judges nothing."
    broken: ClassVar[str] = "every switch is one: it breaks a prior, which must then be worth nothing."
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"quick": {}}

    label: ClassVar[str]
    """The task in two or three words."""
    knobs: ClassVar[tuple[Knob, ...]]
    stories: ClassVar[tuple[Story, ...]] = ()
    priors: ClassVar[tuple[Step, ...]]
    notes: ClassVar[Mapping[str, str]] = {}
    """What a reader should know of a comparison, by prior."""
    reach: ClassVar[float]
    """The test error to reach, for factors in examples."""
    test_size: ClassVar[int] = 500
    chance: ClassVar[float] = 0.5

    m: int = 1
    seeds: int = Field(USUAL, ge=FEWEST, le=MOST)

    @abstractmethod
    def contestants(self) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """Network and learner of every contestant."""

    @abstractmethod
    def world(self) -> dict[str, Any]:
        """The task."""

    @abstractmethod
    def about(self) -> str:
        """The task under these settings in a few sentences, for somebody who has never heard of it."""

    def heading(self) -> str:
        """The title; with switches set, what it is asked under."""
        fields = type(self).model_fields
        here = [knob.so for knob in self.knobs
                if knob.so and getattr(self, knob.name) != fields[knob.name].default]  # fmt: skip
        return f"{self.title.removesuffix('?')} if {' and '.join(here)}?" if here else self.title

    def story(self) -> Story | None:
        """The story that these settings tell, with any number of seeds."""
        told = (each for each in self.stories if type(self)(**{**each.settings, "seeds": self.seeds}) == self)
        return next(told, None)

    def alike(self, step: Step) -> bool:
        """Whether the settings make both networks of a step the same one."""
        arms = self.contestants()
        return arms[step.without] == arms[step.given]

    @abstractmethod
    def example(self) -> str:
        """A picture of an example under these settings, as SVG; it shows no measurement."""

    @classmethod
    def choices(cls, name: str) -> tuple[Any, ...]:
        """The values of a setting."""
        extra = cls.model_fields[name].json_schema_extra
        return tuple(extra["choices"]) if isinstance(extra, dict) else (False, True)  # pyright: ignore

    @model_validator(mode="after")
    def _chosen(self) -> Question:
        """Every setting is one of its choices."""
        for name in self.names():
            if name != "seeds" and getattr(self, name) not in self.choices(name):
                allowed = ", ".join(map(written, self.choices(name)))
                raise ValueError(f"{name} = {written(getattr(self, name))} was given; take one of {allowed}")
        return self

    def __hash__(self) -> int:
        return hash(to_json(self.canonical()))

    @classmethod
    def asked(cls, given: Mapping[str, str]) -> Question:
        """The question with settings as they stand in an address; refuses what is no choice."""
        values: dict[str, Any] = {}
        for name, text in given.items():
            if name == "seeds":
                values[name] = _count(text)
                continue
            known = {written(value): value for value in cls.choices(name)} if name in cls.names() else {}
            if text not in known:
                allowed = (
                    f"take one of {', '.join(known)}" if known else f"choose from {', '.join(cls.names())}"
                )
                raise UserError(f"{name} = {text} was given; {allowed}.")
            values[name] = known[text]
        return checked(cls, values, cls.name)

    @classmethod
    def names(cls) -> list[str]:
        """The settings that an address may have, in the order of the page."""
        return [*(knob.name for knob in cls.knobs), "m", "seeds"]

    def stated(self) -> dict[str, str]:
        """The settings as an address has them: those that differ from the defaults."""
        fields = type(self).model_fields
        return {
            name: written(getattr(self, name))
            for name in self.names()
            if getattr(self, name) != fields[name].default
        }

    def sizes(self) -> list[int]:
        """The sample sizes up to the largest."""
        return [m for m in self.choices("m") if m <= self.m]

    def cells(self) -> Iterator[Cell]:
        """Every contestant at every size, the smallest first: a curve appears at once and grows."""
        task = build("task", self.world())
        arms = {
            name: (build("network", network), build("learner", learner))
            for name, (network, learner) in self.contestants().items()
        }
        for m in self.sizes():
            for name, (network, learner) in arms.items():
                yield Cell(
                    {"arm": name, "m": m}, task, learner, network, m, self.repetitions(), self.test_size
                )

    def answers(self, table: pd.DataFrame) -> list[Answer]:
        """For every prior a factor in examples if both networks reach the error, else a difference."""
        found = []
        for step in self.priors if len(table) else ():
            if self.alike(step):
                continue
            settled = self.settled(table, step)
            saved = factor(settled, step, self.outcome, self.reach, self.on())
            place = {"m": self.told_at(step)}
            apart = compared(settled, step, self.outcome, self.on(), place)
            found += [each for each in (saved, apart) if each is not None and each.known]
        return found

    def settled(self, table: pd.DataFrame, step: Step) -> pd.DataFrame:
        """The rows from seeds that both arms have at all sizes, once there are enough of these.

        So an answer that is known stays known while seeds are being added.
        """
        own = table[table["arm"].isin(step[1:])]
        trials = own.groupby("seed").size()
        whole = trials.index[trials == 2 * len(self.sizes())]
        return table[table["seed"].isin(whole)] if len(whole) >= FEWEST else table

    def note(self, step: Step) -> str:
        """What a reader should know of a comparison under these settings, in a short sentence."""
        return self.notes.get(step.prior, "")

    def told_at(self, step: Step) -> int:
        """The size at which errors are compared: fixed before rows are seen."""
        del step
        return self.sizes()[len(self.sizes()) // 2]

    def on(self) -> str:
        return self.label

    def unjudged(self) -> str:
        return "the page's questions have no criterion; they show what is measured"

    def judge(self, table: pd.DataFrame) -> Judgement:
        """Never a verdict."""
        del table
        return Judgement(Evidence("undecided", {}), Evidence("undecided", {}))

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        chart = curves(
            table, "m", self.outcome, title=self.title, x_title="training examples m", y_title="test error",
            log_x=True, arms=list(self.contestants()), y_domain=self.domain(),
        )  # fmt: skip
        return {self.title: chart}

    def domain(self) -> tuple[float, float]:
        """The axis of errors: from none to above chance, where single runs with few examples may be."""
        return 0.0, min(1.0, self.chance + 0.2)


def among(*values: Any, usual: Any) -> Any:
    """A setting that has one of these values."""
    return Field(usual, json_schema_extra={"choices": list(values)})


def written(value: Any) -> str:
    """A value as an address has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _count(text: str) -> int:
    short = len(text) <= LONGEST_COUNT and text.isascii() and text.isdigit()
    if not short or not FEWEST <= int(text) <= MOST:
        raise UserError(f"seeds = {text} was given; take a whole number from {FEWEST} to {MOST}.")
    return int(text)
