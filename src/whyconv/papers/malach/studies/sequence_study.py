"""What the studies of digit sequences share: the contestants, their twins, accuracy against n."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from whyconv.lazy import pd
from whyconv.learners import LearnerField
from whyconv.measure.intervals import paired_difference, share_interval
from whyconv.papers.malach.digit_pictures import felt, problem
from whyconv.report.charts import curves
from whyconv.studies import Cell, increasing, only_task
from whyconv.studies.answers import LOCALITY, SHARING, Answer
from whyconv.studies.grid import by_seed, changed, compared
from whyconv.studies.images import ImageStudy, Twin, described, shift_panels, training, translations
from whyconv.studies.worth import Step
from whyconv.tasks.images.catalogue import known
from whyconv.tasks.sequence import COLUMNS, ROWS
from whyconv.tasks.sequence import Sequence as SequenceTask

if TYPE_CHECKING:
    from whyconv.measure.intervals import Interval

CNN, LCN, FCN = "CNN", "LCN", "FCN"
CONTESTANTS = (CNN, LCN, FCN)
WINDOW = 3
"""Digits in a kernel of 24 x 24."""


class SequenceStudy(ImageStudy):
    """Accuracy of CNN, LCN and FCN against the number n of digits, one hidden layer of ReLU.

    Readings of what the paper leaves open. ``stride``: the 24 x 24 kernels step by a *digit* (8 pixels, n - 2
    windows) or by a *pixel*. ``reading`` of "1024 neurons" for CNN and LCN: *window*, that many channels at
    every window; *all*, that many activations in all. ``neurons`` is the number. ``pool``: CNN and LCN take
    the maximum over so many neighbouring windows (1, as in the paper: every window has its own readout).
    """

    outcome: ClassVar[str] = "accuracy"
    own: ClassVar[tuple[str, ...]] = (*ImageStudy.own, "digits", "where")
    where: ClassVar[str]
    """Which digits count."""
    priors: ClassVar[tuple[Step, ...]] = (Step(LOCALITY, FCN, LCN), Step(SHARING, LCN, CNN))

    task: Annotated[SequenceTask, only_task(SequenceTask)] = Field("sequence", validate_default=True)
    learner: LearnerField = Field(
        {
            "name": "gradient", "optimiser": "adadelta", "rate": 1.0, "options": {"rho": 0.95, "eps": 1e-7},
            "batch": 128, "loss": "hinge", "tolerance": 0, "epochs": 30,
        },
        validate_default=True,
    )  # fmt: skip
    digits: tuple[int, ...] = (5, 7, 9, 11, 13, 15, 17, 19)
    m: int = Field(60_000, ge=1, le=10_000_000)
    test_size: int = Field(10_000, ge=1, le=1_000_000)
    neurons: int = Field(1024, ge=1, le=100_000)
    stride: Literal["digit", "pixel"] = "digit"
    reading: Literal["window", "all"] = "window"
    pool: int = Field(1, ge=1, le=10_000)
    shifts: tuple[int, ...] = (1, 2, 4)
    seeds: int = Field(3, ge=1, le=10_000)

    _increasing = increasing("digits", count=2, above=WINDOW - 1, example="[5, 9, 13]")

    @property
    def twins(self) -> Mapping[str, Twin]:
        """The controls, at the smallest and the largest n only."""
        return {}

    def network(self, arm: str, n: int) -> dict[str, Any]:
        if arm == FCN:
            return {"name": "deep-fcn", "widths": [self.neurons]}
        step = COLUMNS if self.stride == "digit" else 1
        windows = (n - WINDOW) * COLUMNS // step + 1
        channels = self.neurons if self.reading == "window" else max(1, round(self.neurons / windows))
        name = "deep-cnn" if arm == CNN else "deep-lcn"
        return {
            "name": name, "channels": [channels], "kernel": [ROWS, WINDOW * COLUMNS], "stride": [ROWS, step],
            "padding": "valid", "pool": self.pool,
        }  # fmt: skip

    def cells(self) -> Iterator[Cell]:
        """Every contestant at every n, twins at both ends."""
        contestants = {arm: Twin(arm) for arm in CONTESTANTS}
        for n in self.digits:
            here = {**contestants, **(self.twins if n in (self.digits[0], self.digits[-1]) else {})}
            for arm, twin in here.items():
                fields = {"digits": n, "where": self.where, "shifted_tests": self.shifts, **twin.task}
                yield Cell(
                    {"arm": arm, "n": n}, changed(self.task, fields), self.learner,
                    {**self.network(twin.of, n), **twin.network}, self.m, self.repetitions(), self.test_size,
                )  # fmt: skip

    def accuracy(self, table: pd.DataFrame, arm: str, n: int) -> Interval:
        return share_interval(by_seed(table, "accuracy", arm=arm, n=n))

    def gain(self, table: pd.DataFrame, better: str, worse: str, n: int) -> Interval:
        return paired_difference(*(by_seed(table, "accuracy", arm=arm, n=n) for arm in (better, worse)))

    def on(self) -> str:
        return f"{super().on()}, parity of {self.task.counted} among n"

    def told_at(self) -> int:
        """The number of digits that the answer is about."""
        return self.digits[-1]

    def answers(self, table: pd.DataFrame) -> list[Answer]:
        place = {"n": self.told_at()}
        found = (compared(table, step, self.outcome, self.on(), place) for step in self.priors)
        return [each for each in found if each] if len(table) else []

    def unjudged(self) -> str:
        """Other images and other parities than the paper's."""
        if self.task.images != "mnist":
            of = known(self.task.images).phrase or self.task.images
            return f"these images are {of}, but the criterion is stated for MNIST; --preset mnist is judged"
        if self.task.counted != WINDOW:
            return f"the parity of {self.task.counted} digits is not the paper's; --preset mnist is judged"
        return ""

    def remarks(self) -> str:
        counted = {1: "one digit", 2: "two digits", 3: "three digits"}.get(
            self.task.counted, f"{self.task.counted} digits"
        )
        stride = "a digit (8 pixels)" if self.stride == "digit" else "one pixel"
        neurons = "at every window" if self.reading == "window" else "in all"
        pooled = f", pooled over {self.pool} windows" if self.pool > 1 else ""
        return (
            f"{described(self.task)} Parity of {counted}; {self.m:,} sequences in every epoch. Readings of "
            f"what the paper leaves open: kernels of 24 x 24 step by {stride}; the {self.neurons} neurons of "
            f"CNN and LCN are {neurons}{pooled}; digits are cut to 24 x 8 by {self.task.cut}; "
            f"{training(self.learner)}; {self.rule}"
        )

    def tables(self, table: pd.DataFrame) -> dict[str, pd.DataFrame]:
        return translations(table, self.shifts, "n")

    def pictures(self) -> dict[str, str]:
        """Sequences of the sizes that were run, and, if tests are shifted, why a shift is felt."""
        where = changed(self.task, {"where": self.where, "digits": self.digits[-1]})
        return {**problem(where, self.digits), **(felt(where) if self.shifts else {})}

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """Accuracy against n, one panel for the test as it is and one for every shift."""
        order: Sequence[str] = [*CONTESTANTS, *self.twins]
        long = shift_panels(table, self.shifts)
        top = 1.0 if long.empty else min(1.0, ceil(20 * long["accuracy"].max() + 0.5) / 20)
        chart = curves(
            long, "n", "accuracy", title=self.title, x_title="digits n", y_title="test accuracy",
            y_domain=(0.4, top), facet="test", facet_title="", arms=order, controls=list(self.twins),
        )  # fmt: skip
        return {"Accuracy": chart}


RULE = (
    "a linear readout of all windows; training stops only after the last epoch; a score of exactly zero "
    "counts as -1."
)


QUICK: Mapping[str, Any] = {
    "task.images": "digits", "task.counted": 2, "digits": [5, 9, 19], "neurons": 64, "m": 4000,
    "learner.epochs": 10,
}  # fmt: skip
"""Embedded digits; the parity of three of them is out of reach there."""
MNIST: Mapping[str, Any] = {
    "task.images": "mnist", "digits": [5, 9, 13, 19], "neurons": 256, "m": 30_000, "learner.epochs": 8,
    "seeds": 5,
}  # fmt: skip
"""Sizes at which the effects appear within 40 minutes on two cores."""
