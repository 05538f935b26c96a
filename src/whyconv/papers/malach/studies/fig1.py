"""Figure 1: convolutional and fully connected networks on CIFAR-10, by number of parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, model_validator

from whyconv.lazy import pd
from whyconv.learners import LearnerField
from whyconv.measure.intervals import paired_difference, share_interval
from whyconv.networks import Network
from whyconv.networks.deep import DeepFCN
from whyconv.report.charts import curves
from whyconv.report.image_picture import problem
from whyconv.spec import build
from whyconv.studies import Cell, Judgement, increasing
from whyconv.studies.answers import Answer, in_outcome
from whyconv.studies.controls import opposed, sanity
from whyconv.studies.grid import by_seed, changed
from whyconv.studies.images import (
    ClassesStudy,
    described,
    permuted,
    shift_panels,
    shuffled,
    started_alike,
    training,
    translations,
    twins,
)
from whyconv.verdict import Evidence, above, within, worst

if TYPE_CHECKING:
    from whyconv.measure.intervals import Interval

CNN, FCN = "CNN", "FCN"


class Figure1(ClassesStudy, name="malach.fig1"):
    """Test accuracy against the number of parameters on CIFAR-10: CNN and FCN of several depths and widths.

    ``widths`` are channels of the CNN; each is paired with an FCN of the same depth and, as nearly as one
    common width allows, the same number of parameters. Such an FCN is narrow, a few dozen neurons for 64
    channels, so a network may be ahead of it without any knowledge of images: a CNN on permuted pixels is.
    Therefore one more FCN of every depth has ``largest_fcn`` parameters, many more than any CNN.

    Left open by the paper, chosen here: ``kernel`` 3, ``stride`` 2, no pooling, ReLU, a dense readout of all
    positions that are left, RMSprop with rate 1e-3 and batches of 128 (quick: 3e-4 and 32, for more steps in
    fewer epochs and less noise in the last of them), no augmentation, no weight decay.
    """

    says: ClassVar[str] = (
        "CNNs have a clear advantage over FCNs, regardless of the number of parameters used. As is often "
        "observed, a large number of parameters does not hurt the performance (introduction, on Figure 1)"
    )
    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Figure 1"
    title: ClassVar[str] = "CNN or FCN with the same number of parameters?"
    met: ClassVar[str] = "The CNN is clearly ahead, whatever the number of parameters."
    unmet: ClassVar[str] = "The CNN is not clearly ahead at every number of parameters."
    criterion: ClassVar[str] = (
        "Clear is 0.05 of accuracy; 95 % intervals over seeds. At every depth each CNN is clearly ahead of "
        "the FCN of as many parameters, seed by seed, and the widest CNN of the FCN with many more; and the "
        "most parameters do not clearly hurt, CNN or FCN, against any fewer. Sanity, else undecided: "
        "shuffled labels give chance within 0.05; the FCN on permuted pixels, with its initial weights "
        "permuted alike, has the FCN's loss in the first epoch up to rounding (1e-4) with half of the seeds "
        "(RMSprop divides small gradients by their size, and may amplify rounding), and its accuracy within "
        "0.03."
    )
    broken: ClassVar[str] = (
        "If the study passes: the CNN of the smallest depth on images whose pixels are permuted, in the same "
        "way for all images, must lose its clear lead over the FCN with many more parameters (it keeps one "
        "over FCNs of as many: these are narrow). If not: with a CNN trained on shuffled labels in the FCN's "
        "place, the smallest CNN must be clearly ahead."
    )
    rule: ClassVar[str] = (
        "ReLU, dense readout, no pooling; cross-entropy, no augmentation, no tuning; training stops only "
        "after the last epoch."
    )
    thresholds: ClassVar[Mapping[str, float]] = {"clear": 0.05, "chance": 0.05, "same": 0.03}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {
            "depths": [2, 4], "widths": [16, 64], "largest_fcn": 1_000_000, "m": 16_000, "test_size": 2000,
            "learner.rate": 3e-4, "learner.batch": 32, "learner.epochs": 4, "seeds": 8, "first_seed": 3000,
        },
        "paper": {"task.images": "cifar-10", "task.batches": [1, 2, 3, 4, 5], "first_seed": 3000},
    }  # fmt: skip
    outcome: ClassVar[str] = "accuracy"

    learner: LearnerField = Field(
        {
            "name": "gradient", "optimiser": "rmsprop", "rate": 1e-3, "batch": 128, "loss": "cross-entropy",
            "tolerance": 0, "epochs": 125,
        },
        validate_default=True,
    )  # fmt: skip
    kernel: int = Field(3, ge=1, le=1000)
    stride: int = Field(2, ge=1, le=1000)
    depths: tuple[int, ...] = (2, 4, 6)
    widths: tuple[int, ...] = (16, 32, 64, 128, 256, 512)
    largest_fcn: int = Field(30_000_000, ge=1, le=10_000_000_000)
    m: int = Field(50_000, ge=1, le=10_000_000)
    test_size: int = Field(10_000, ge=1, le=1_000_000)
    shifts: tuple[int, ...] = (1, 2, 4)
    seeds: int = Field(3, ge=1, le=10_000)

    _increasing = increasing("depths", "widths", example="[2, 4]")

    @model_validator(mode="after")
    def _larger(self) -> Figure1:
        most = max(self._budgets(depth)[-1] for depth in self.depths)
        if self.largest_fcn <= most:
            raise ValueError(
                f"largest_fcn = {self.largest_fcn:,} was given; the widest CNN has {most:,} parameters, and "
                "this FCN must have more"
            )
        return self

    def cnn(self, depth: int, width: int) -> Network:
        fields = {
            "channels": [width] * depth,
            "kernel": self.kernel,
            "stride": self.stride,
            "padding": "same",
        }
        return build("network", {"name": "deep-cnn", **fields, "outputs": self.task.classes})

    def fcn(self, depth: int, budget: int) -> DeepFCN:
        """The fully connected one with as many parameters."""
        fields = {"depth": depth, "parameters": budget, "outputs": self.task.classes}
        return build("network", {"name": "deep-fcn", **fields})

    def cells(self) -> Iterator[Cell]:
        """CNN and FCN at every depth and width; twins at the smallest depth."""
        for depth in self.depths:
            for width in self.widths:
                cnn = self.cnn(depth, width)
                budget = cnn.parameter_count(self.task.shape)
                both = {CNN: cnn, FCN: self.fcn(depth, budget)}
                for name, network in both.items():
                    yield self._cell(deep(name, depth), depth, budget, network)
                for name, twin in twins((CNN, FCN)).items() if depth == self.depths[0] else ():
                    if name != shuffled(CNN) or width == self.widths[0]:
                        network = changed(both[twin.of], twin.network)
                        yield self._cell(name, depth, budget, network, twin.task)
            largest = self.fcn(depth, self.largest_fcn)
            yield self._cell(deep(FCN, depth), depth, self.largest_fcn, largest)

    def _cell(
        self, arm: str, depth: int, budget: int, network: Network, fields: Mapping[str, Any] | None = None
    ) -> Cell:
        task = changed(self.task, {"shifted_tests": self.shifts, **(fields or {})})
        labels = {"arm": arm, "depth": depth, "budget": budget}
        m, test_size = self.available(self.m, "train"), self.available(self.test_size, "test")
        return Cell(labels, task, self.learner, network, m, self.repetitions(), test_size)

    def answers(self, table: pd.DataFrame) -> list[Answer]:
        """At every depth the widest CNN against the FCN of as many parameters, and the largest FCN."""
        found = []
        for depth in self.depths if len(table) else ():
            own = self._budgets(depth)[-1]
            cnn = by_seed(table, "accuracy", arm=deep(CNN, depth), budget=own)
            for other in (self.largest_fcn, own):
                fcn = by_seed(table, "accuracy", arm=deep(FCN, depth), budget=other)
                if cnn.index.intersection(fcn.index).empty:
                    continue
                m = self.available(self.m, "train")
                where = f"with {own:,} parameters at m = {m:,}"
                names = f"{deep(FCN, depth)}, with {other:,}", deep(CNN, depth)
                both = (names[0], fcn), (names[1], cnn)
                found.append(in_outcome("locality and sharing", *both, "accuracy", self.on(), where))
        return found

    def judge(self, table: pd.DataFrame) -> Judgement:
        first = self.depths[0]
        plain = worst(
            *(self._ahead(table, deep(CNN, depth), depth) for depth in self.depths),
            self._harmless(table),
            self._sane(table),
        )
        return opposed(plain, self._ahead(table, permuted(CNN), first), self._above_chance(table))

    def _ahead(self, table: pd.DataFrame, arm: str, depth: int) -> Evidence:
        """Clearly ahead of every FCN with as many parameters, and of the largest FCN."""
        fcn, budgets = deep(FCN, depth), self._budgets(depth)
        pairs = [*((budget, budget) for budget in budgets), (budgets[-1], self.largest_fcn)]
        return worst(
            *(
                above(
                    self.thresholds["clear"], _gain(table, (arm, own), (fcn, other)),
                    f"{arm}, {own:,} parameters - {fcn}, {other:,}",
                )
                for own, other in pairs
            )
        )  # fmt: skip

    def _above_chance(self, table: pd.DataFrame) -> Evidence:
        """The smallest CNN against its twin on shuffled labels."""
        arm, blind, budget = deep(CNN, self.depths[0]), shuffled(CNN), self._budgets(self.depths[0])[0]
        gain = _gain(table, (arm, budget), (blind, budget))
        return above(self.thresholds["clear"], gain, f"{arm} - {blind}, {budget:,} parameters")

    def _harmless(self, table: pd.DataFrame) -> Evidence:
        """The most parameters against any fewer."""
        found = []
        for depth in self.depths:
            budgets = self._budgets(depth)
            sizes = {deep(CNN, depth): budgets, deep(FCN, depth): [*budgets, self.largest_fcn]}
            for arm, (*fewer, most) in sizes.items():
                for less in fewer:
                    gain = _gain(table, (arm, most), (arm, less))
                    name = f"{arm}, {most:,} - {less:,} parameters"
                    found.append(above(-self.thresholds["clear"], gain, name))
        return (
            worst(*found)
            if len(self.widths) > 1
            else Evidence(
                "undecided", {"widths": 1}, "no admissible size: one width cannot show whether more hurt"
            )
        )

    def _sane(self, table: pd.DataFrame) -> Evidence:
        """Shuffled labels give chance; the FCN does not see that pixels were permuted."""
        found, first, chance = [], self.depths[0], 1 / self.task.classes
        budgets = self._budgets(first)
        blind = share_interval(by_seed(table, "accuracy", arm=shuffled(CNN), budget=budgets[0]))
        name = f"accuracy, {shuffled(CNN)}, {budgets[0]:,} parameters"
        found.append(within(self.thresholds["chance"], chance, blind, name))
        for budget in budgets:
            same = _gain(table, (permuted(FCN), budget), (deep(FCN, first), budget))
            name = f"{permuted(FCN)} - {deep(FCN, first)}, {budget:,} parameters"
            found.append(within(self.thresholds["same"], 0, same, name))
            found.append(started_alike(table, permuted(FCN), deep(FCN, first), 0.5, budget=budget))
        return sanity(*found)

    def _budgets(self, depth: int) -> list[int]:
        return [self.cnn(depth, width).parameter_count(self.task.shape) for width in self.widths]

    def remarks(self) -> str:
        m, first = self.available(self.m, "train"), self.depths[0]
        narrow, *_, wide = (
            self.fcn(first, budget).sizes(self.task.shape)[0]
            for budget in (*self._budgets(first), self.largest_fcn)
        )
        fewer = f" (m = {self.m:,} is more than there are)" if m < self.m else ""
        return (
            f"{described(self.task)} {m:,} of them are trained on{fewer}. With as many parameters as "
            f"the CNN, FCNs are narrow; those of depth {first} are {narrow} to {wide} neurons wide. "
            f"Windows of {self.kernel} x {self.kernel}, stride {self.stride}. Depth counts hidden "
            f"layers. {training(self.learner)}; {self.rule}"
        )

    def tables(self, table: pd.DataFrame) -> dict[str, pd.DataFrame]:
        return translations(table, self.shifts, "budget")

    def pictures(self) -> dict[str, str]:
        """Images of every class, and the control's permuted pixels."""
        return problem(self.task.images, self.task.batches)

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """Accuracy against parameters, one panel for the test as it is and one for every shift."""
        controls = [permuted(CNN), permuted(FCN), shuffled(CNN)]
        order = [deep(name, depth) for name in (CNN, FCN) for depth in self.depths]
        chart = curves(
            shift_panels(table, self.shifts), "budget", "accuracy", title=self.title, log_x=True,
            x_title="trainable parameters", y_title="test accuracy",
            facet="test", facet_title="", arms=[*order, *controls], controls=controls,
        )  # fmt: skip
        return {"Accuracy": chart}


def deep(name: str, depth: int) -> str:
    """The name of a contestant of some depth."""
    return f"{name}, depth {depth}"


def _gain(table: pd.DataFrame, better: tuple[str, int], worse: tuple[str, int]) -> Interval:
    """Accuracy of one arm and budget over another, paired by seed."""
    return paired_difference(*(by_seed(table, "accuracy", arm=arm, budget=b) for arm, b in (better, worse)))
