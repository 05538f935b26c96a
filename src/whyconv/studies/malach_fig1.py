"""Figure 1: convolutional and fully connected networks on CIFAR-10, by number of parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

from pydantic import Field, field_validator

from whyconv.learners import LearnerField
from whyconv.networks import Network
from whyconv.networks.deep import DeepFCN
from whyconv.spec import build, checked
from whyconv.studies import Judgement, Point, Study
from whyconv.studies._complexity import above, below
from whyconv.studies._grid import all_above, by_seed, changed, worst
from whyconv.studies._images import described, needs, permuted, plain, shift_panels, shuffled
from whyconv.tasks.image_classes import ImageClasses
from whyconv.tasks.images.catalogue import DIGITS
from whyconv.trial import Row, Trial
from whyconv.verdict import Evidence

if TYPE_CHECKING:
    import pandas as pd

    from whyconv.measure.intervals import Interval

CNN, FCN = "CNN", "FCN"
AHEAD = 0.05
"""How far the widest CNN must be ahead of the FCN."""
HARM = 0.03
"""What more width may cost before it counts as harm."""


ClassesField = Annotated[ImageClasses, needs(ImageClasses)]


class Cell(NamedTuple):
    """A contestant or a twin: its name, network and task, its depth and number of parameters."""

    arm: str
    network: Network
    task: ImageClasses
    depth: int
    budget: int


class Figure1(Study, name="malach.fig1"):
    """Test accuracy against the number of parameters on CIFAR-10: CNN and FCN of several depths and widths.

    Left open by the paper, chosen here: 3 x 3 kernels with stride 2, ReLU, a dense readout of all positions
    that are left; RMSprop with rate 1e-3 and batches of 128, no augmentation, no weight decay. ``widths`` are
    channels of the CNN; beside each stands an FCN of the same depth with the same number of parameters, as
    nearly as one common width allows.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Figure 1"
    title: ClassVar[str] = "CNN and FCN with the same number of parameters"
    criterion: ClassVar[str] = (
        "95 % intervals over seeds: at every depth and width the CNN is more accurate than the FCN of as "
        "many parameters, seed by seed, and at the greatest width, where the FCN is no bottleneck, by more "
        "than 0.05; the greatest width costs neither more than 0.03 against the smallest; shuffled labels "
        "give chance within 0.05; the FCN on permuted pixels, started alike, is within 0.03 of the FCN."
    )
    broken: ClassVar[str] = (
        "the CNN on images whose pixels went through one permutation, the same for all images: it must lose "
        "its advantage."
    )
    rule: ClassVar[str] = (
        "3 x 3 kernels, stride 2, ReLU, dense readout; RMSprop, rate 1e-3, batches of 128, cross-entropy, no "
        "augmentation, no tuning; no other stop than the number of epochs."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"depths": [2, 4], "widths": [32, 128], "m": 4000, "learner.epochs": 8, "test_size": 2000},
        "paper": {"task.images": "cifar-10"},
    }
    outcome: ClassVar[str] = "accuracy"

    task: ClassesField = Field("image-classes", validate_default=True)
    learner: LearnerField = Field(
        {
            "name": "gradient", "optimiser": "rmsprop", "rate": 1e-3, "batch": 128, "loss": "cross-entropy",
            "tolerance": 0, "epochs": 125,
        },
        validate_default=True,
    )  # fmt: skip
    depths: tuple[int, ...] = (2, 4, 6)
    widths: tuple[int, ...] = (16, 32, 64, 128, 256, 512)
    m: int = Field(50_000, ge=1, le=10_000_000)
    test_size: int = Field(10_000, ge=1, le=1_000_000)
    shifts: tuple[int, ...] = (1, 2, 4)
    seeds: int = Field(3, ge=1, le=10_000)

    @field_validator("task")
    @classmethod
    def _plain(cls, task: ImageClasses) -> ImageClasses:
        plain(task)
        return task

    @field_validator("depths", "widths")
    @classmethod
    def _increasing(cls, sizes: tuple[int, ...]) -> tuple[int, ...]:
        if not sizes or min(sizes) < 1 or list(sizes) != sorted(set(sizes)):
            raise ValueError("depths and widths are lists of increasing numbers from 1 on, as in [2, 4]")
        return sizes

    def cnn(self, depth: int, width: int) -> Network:
        """The convolutional contestant."""
        fields = {"channels": [width] * depth, "kernel": 3, "stride": 2, "padding": "same"}
        return build("network", {"name": "deep-cnn", **fields, "outputs": self.task.classes})

    def fcn(self, depth: int, budget: int, coupled: bool = False) -> DeepFCN:
        """The fully connected one with as many parameters."""
        fields = {"depth": depth, "parameters": budget, "outputs": self.task.classes, "coupled": coupled}
        return build("network", {"name": "deep-fcn", **fields})

    def cells(self) -> Iterator[Cell]:
        """CNN and FCN at every depth and width; twins at the smallest depth."""
        task = changed(self.task, {"shifted_tests": self.shifts})
        for depth in self.depths:
            for width in self.widths:
                cnn = self.cnn(depth, width)
                budget = cnn.parameter_count(task.shape)
                yield Cell(deep(CNN, depth), cnn, task, depth, budget)
                yield Cell(deep(FCN, depth), self.fcn(depth, budget), task, depth, budget)
                if depth == self.depths[0]:
                    moved, noisy = (changed(task, {name: True}) for name in ("permuted", "shuffled_labels"))
                    yield Cell(permuted(CNN), cnn, moved, depth, budget)
                    yield Cell(permuted(FCN), self.fcn(depth, budget, True), moved, depth, budget)
                    yield Cell(shuffled(CNN), cnn, noisy, depth, budget)

    def plan(self, rows: Mapping[str, Row]) -> list[Point]:
        """Every cell for every seed; no more images than there are."""
        del rows
        m = min(self.m, self.task.image_count("train"))
        values = {"learner": self.learner, "m": m}
        values["test_size"] = min(self.test_size, self.task.image_count("test"))
        return [
            Point(
                {"arm": cell.arm, "depth": cell.depth, "budget": cell.budget},
                checked(
                    Trial, {**values, "task": cell.task, "network": cell.network, "seed": seed}, cell.arm
                ),
            )
            for cell in self.cells()
            for seed in range(self.seeds)
        ]

    def table(self, points: list[Point], rows: Mapping[str, Row]) -> pd.DataFrame:
        """One line per trial, with its accuracy."""
        table = super().table(points, rows)
        return table.assign(accuracy=1 - table["test_error"]) if len(table) else table

    def judge(self, table: pd.DataFrame) -> Judgement:
        """The criterion, with the CNN as it is and on permuted pixels."""
        first = self.depths[0]
        plain = worst(
            *(self._ahead(table, deep(CNN, depth), depth) for depth in self.depths),
            self._harmless(table),
            self._sane(table),
        )
        return Judgement(plain, self._ahead(table, permuted(CNN), first))

    def _ahead(self, table: pd.DataFrame, arm: str, depth: int) -> Evidence:
        gaps = {
            f"{arm} - {deep(FCN, depth)}, {budget:,} parameters": _gain(table, arm, deep(FCN, depth), budget)
            for budget in self._budgets(depth)
        }
        numbers = {name: str(gap) for name, gap in gaps.items()}
        widest = dict(list(gaps.items())[-1:])
        return worst(Evidence(all_above(gaps, 0), numbers), Evidence(all_above(widest, AHEAD)))

    def _harmless(self, table: pd.DataFrame) -> Evidence:
        """The largest width against the smallest."""
        from whyconv.measure.intervals import paired_difference

        found = []
        for depth in self.depths:
            *_, largest = budgets = self._budgets(depth)
            for arm in (deep(CNN, depth), deep(FCN, depth)):
                wide, narrow = (by_seed(table, "accuracy", arm=arm, budget=b) for b in (largest, budgets[0]))
                name = f"{arm}: widest - narrowest"
                if len(budgets) > 1:
                    found.append(above(-HARM, paired_difference(wide, narrow), name))
        return worst(*found) if found else Evidence("undecided", {"widths": len(self.widths)})

    def _sane(self, table: pd.DataFrame) -> Evidence:
        """Shuffled labels give chance; the FCN does not see that pixels were permuted."""
        from whyconv.measure.intervals import mean_interval

        found, first, chance = [], self.depths[0], 1 / self.task.classes
        for budget in self._budgets(first):
            blind = mean_interval(by_seed(table, "accuracy", arm=shuffled(CNN), budget=budget))
            name = f"accuracy, {shuffled(CNN)}, {budget:,} parameters"
            found += [above(chance - 0.05, blind, name), below(chance + 0.05, blind, name)]
            same = _gain(table, permuted(FCN), deep(FCN, first), budget)
            name = f"{permuted(FCN)} - {deep(FCN, first)}, {budget:,} parameters"
            found += [above(-0.03, same, name), below(0.03, same, name)]
        return worst(*found)

    def _budgets(self, depth: int) -> list[int]:
        return [self.cnn(depth, width).parameter_count(self.task.shape) for width in self.widths]

    def unjudged(self) -> str:
        """The embedded digits are not the paper's images."""
        if self.task.images == DIGITS:
            return (
                "these are the embedded 8 x 8 digits, since CIFAR-10 is not on this machine; whyconv data "
                "fetch cifar-10 brings it"
            )
        return ""

    def data(self) -> str:
        """The images."""
        return described(self.task)

    def remarks(self) -> str:
        """Data, sample and rule."""
        m = min(self.m, self.task.image_count("train"))
        narrow, wide = (
            self.fcn(self.depths[0], self._budgets(self.depths[0])[end]).sizes(self.task.shape)[0]
            for end in (0, -1)
        )
        return (
            f"{described(self.task)} {m:,} of them are trained on. With as many parameters as the CNN, the "
            f"FCN of depth {self.depths[0]} is {narrow} to {wide} neurons wide. {self.rule}"
        )

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """Accuracy against parameters, one panel for the test as it is and one for every shift."""
        from whyconv.report.charts import curves

        controls = [permuted(CNN), permuted(FCN), shuffled(CNN)]
        order = [deep(name, depth) for name in (CNN, FCN) for depth in self.depths]
        chart = curves(
            shift_panels(table, self.shifts), "budget", "accuracy", title=self.title, log_x=True,
            x_title="trainable parameters of the CNN; the FCN has as many", y_title="test accuracy",
            facet="test", facet_title="", arms=[*order, *controls], controls=controls,
        )  # fmt: skip
        return {"Accuracy": chart}


def deep(name: str, depth: int) -> str:
    """The name of a contestant of some depth."""
    return f"{name}, depth {depth}"


def _gain(table: pd.DataFrame, better: str, worse: str, budget: int) -> Interval:
    from whyconv.measure.intervals import paired_difference

    return paired_difference(*(by_seed(table, "accuracy", arm=arm, budget=budget) for arm in (better, worse)))
