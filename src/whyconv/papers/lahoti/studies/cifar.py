"""What locality, sharing and pooling are worth on real images: CIFAR-10, in examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pydantic import Field, field_validator, model_validator

from whyconv.spec import checked
from whyconv.studies import Judgement, Point, good
from whyconv.studies.grid import advantage, by_seed, changed
from whyconv.studies.images import (
    ClassesField,
    ImageStudy,
    announced,
    described,
    other_than,
    permuted,
    plain,
    shift_panels,
    shuffled,
    started_alike,
    translations,
)
from whyconv.studies.tuned import FIRST_TUNING_SEED, MEASURED, TUNING
from whyconv.studies.worth import Step, needs, worth, worths
from whyconv.tasks.image_classes import ImageClasses
from whyconv.trial import Row, Trial
from whyconv.verdict import Evidence, above, within, worst

if TYPE_CHECKING:
    import pandas as pd

FCN, LCN, CNN = "FCN", "LCN", "CNN"
POOLED_LCN, POOLED_CNN = "LCN + pooling", "CNN + pooling"
MAIN = (FCN, LCN, CNN, POOLED_LCN, POOLED_CNN)
BATCH = 32
LEARNER: Mapping[str, Any] = {
    "name": "gradient", "optimiser": "adam", "batch": BATCH, "loss": "cross-entropy", "tolerance": 0.1
}  # fmt: skip


class Twin(NamedTuple):
    """An arm under other circumstances, with the arm's rate, at the smallest and the largest m only."""

    of: str
    task: Mapping[str, Any] = {}
    network: Mapping[str, Any] = {}


TWINS: Mapping[str, Twin] = {
    permuted(POOLED_CNN): Twin(POOLED_CNN, {"permuted": True}),
    permuted(LCN): Twin(LCN, {"permuted": True}),
    permuted(FCN): Twin(FCN, {"permuted": True}, {"coupled": True}),
    shuffled(POOLED_CNN): Twin(POOLED_CNN, {"shuffled_labels": True}),
}


class Cifar(ImageStudy, name="lahoti.cifar"):
    """Test error against sample size, one prior after the other: networks with one hidden layer of ReLU.

    LCN: windows of ``kernel`` x ``kernel`` pixels every ``stride`` pixels, each with ``channels`` filters of
    its own; other ``kernels`` are further LCNs, and the FCN has the whole image for a window. CNN: the
    same filters everywhere. Between them filters are shared by blocks of g x g windows, g in ``groups``. With
    *pooling* the largest of ``pool`` x ``pool`` neighbouring windows counts. The readout is linear in all
    that is left. The FCN has ``fcn_width`` hidden units, if not given as many as the readout sees after
    pooling; an LCN without pooling has more, and so locality is told with another number of units (FCNs of
    256 and 1024 units erred alike here: .669, .617, .591 and .668, .611, .596 for m = 1000, 2000, 4000).

    A prior is *worth* m*(without it) / m*(with it), where m* is the least number of examples whose mean test
    error over seeds is at most ``target``; it is about half-way between the error of CNN with pooling at the
    smallest m and that of the FCN at the largest, so that both cross it. Sharing and pooling are taken with
    and without each other: infinitely wide CNNs and LCNs without pooling are the same Gaussian process
    (Novak et al. 2019), so that sharing alone need not be worth anything.

    Networks, sizes and target are ours. Every network is trained for as many ``steps`` at every m, unless
    its training loss is small before. ``tuning`` images, half of them held out, choose its rate among
    ``rates``, with ``tuning_seeds`` seeds of their own; test images choose nothing.
    """

    reference: ClassVar[str] = "Lahoti et al., the order CNN < LCN < FCN, on CIFAR-10 (ours)"
    title: ClassVar[str] = "What locality, sharing and pooling are worth on real images"
    criterion: ClassVar[str] = (
        "95 % intervals over seeds: FCN, LCN and the LCN with pooling each need more examples than the CNN "
        "with pooling to reach the target (ratios of m* above 1), and at the largest m the FCN errs more, "
        "seed by seed; a CNN trained on shuffled labels is within 0.05 of chance; the FCN on permuted "
        "pixels, started alike, has the FCN's loss in the first epoch up to rounding (1e-4), and its error "
        "within 0.03. What each prior is worth is told."
    )
    broken: ClassVar[str] = (
        "the CNN with pooling on images whose pixels went through one permutation, the same for all images, "
        "beside the FCN, which does not see it, and the LCN on such images: it must lose its advantage."
    )
    rule: ClassVar[str] = (
        "Adam, batches of 32, cross-entropy, no augmentation; every network is trained until its training "
        "loss is at most 0.1 or its steps, as many for every network and m, are spent."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {
            "task.images": "cifar-10", "task.batches": [1, 2, 3, 4, 5], "channels": 64, "seeds": 10,
            "m": [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 50_000], "kernels": [3, 9, 17],
            "groups": [2, 4, 8], "target": 0.5, "tuning": 8000, "tuning_seeds": 3, "test_size": 10_000,
            "steps": 30_000,
        },
    }  # fmt: skip
    adaptive: ClassVar[bool] = True

    task: ClassesField = Field("image-classes", validate_default=True)
    m: tuple[int, ...] = (500, 1000, 2000, 4000)
    kernel: int = Field(5, ge=1, le=1000)
    kernels: tuple[int, ...] = (3,)
    groups: tuple[int, ...] = (4,)
    channels: int = Field(16, ge=1, le=100_000)
    stride: int = Field(2, ge=1, le=100)
    pool: int = Field(4, ge=2, le=100)
    fcn_width: int | None = Field(None, ge=1, le=1_000_000)
    target: float = Field(0.61, gt=0, lt=1)
    steps: int = Field(1500, ge=1, le=10_000_000)
    rates: tuple[float, ...] = (0.00003, 0.0001, 0.0003, 0.001, 0.003)
    tuning: int = Field(4000, ge=2, le=1_000_000)
    tuning_seeds: int = Field(1, ge=1, le=100)
    test_size: int = Field(2000, ge=1, le=1_000_000)
    shifts: tuple[int, ...] = (1, 2, 4)
    seeds: int = Field(5, ge=1, le=10_000)

    @field_validator("task")
    @classmethod
    def _plain(cls, task: ImageClasses) -> ImageClasses:
        plain(task)
        return task

    @field_validator("m", "kernels", "groups", "rates")
    @classmethod
    def _increasing(cls, values: tuple[float, ...]) -> tuple[float, ...]:
        if not values or min(values) <= 0 or list(values) != sorted(set(values)):
            raise ValueError("m, kernels, groups and rates are lists of increasing numbers above 0")
        return values

    @model_validator(mode="after")
    def _sensible(self) -> Cifar:
        if len(self.sizes) < 2:
            there = self.task.image_count("train")
            raise ValueError(
                f"m = {list(self.m)} was given; take two sizes or more up to {there:,}, the images"
            )
        if self.kernel in self.kernels:
            raise ValueError(
                f"kernels = {list(self.kernels)} are others than kernel = {self.kernel}; leave it out"
            )
        return self

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sample sizes there are images for."""
        return tuple(m for m in self.m if m <= self.task.image_count("train"))

    @property
    def networks(self) -> Mapping[str, Mapping[str, Any]]:
        """The contestants, from the least knowledge of images to the most."""
        rows, columns, _ = (ceil(ceil(length / self.stride) / self.pool) for length in self.task.shape)
        windows = {"channels": [self.channels], "kernel": self.kernel, "stride": self.stride}
        windows |= {"padding": "same", "outputs": self.task.classes}
        pooled = {**windows, "pool": self.pool}
        width = self.fcn_width or rows * columns * self.channels
        fcn = {"name": "deep-fcn", "widths": [width], "outputs": self.task.classes}
        others = {sized(k): {"name": "deep-lcn", **windows, "kernel": k} for k in self.kernels[::-1]}
        between = {blocks(g): {"name": "deep-partly-shared", **pooled, "group": g} for g in self.groups}
        return {
            FCN: fcn, **others, LCN: {"name": "deep-lcn", **windows}, CNN: {"name": "deep-cnn", **windows},
            POOLED_LCN: {"name": "deep-lcn", **pooled}, **between,
            POOLED_CNN: {"name": "deep-cnn", **pooled},
        }  # fmt: skip

    def ladder(self) -> Iterator[Step]:
        """Pairs of networks that differ by one prior."""
        for kernel, arm in {**{k: sized(k) for k in self.kernels}, self.kernel: LCN}.items():
            yield Step(f"locality: windows of {kernel} x {kernel}", FCN, arm)
        yield Step("sharing, without pooling", LCN, CNN)
        for group in self.groups:
            yield Step(f"sharing by {group} x {group} windows, with pooling", POOLED_LCN, blocks(group))
        yield Step("sharing, with pooling", POOLED_LCN, POOLED_CNN)
        yield Step("pooling, without sharing", LCN, POOLED_LCN)
        yield Step("pooling, with sharing", CNN, POOLED_CNN)
        yield Step("locality, sharing and pooling", FCN, POOLED_CNN)

    def plan(self, rows: Mapping[str, Row]) -> list[Point]:
        """The tuning of every network; where that is done, its curve and its twins at the best rate."""
        points, rows = [], good(rows)
        for arm in self.networks:
            tuning = self._tuned(arm)
            points += tuning
            if (rate := self.best(tuning, rows)) is not None:
                points += self._measured(arm, rate)
        return points

    def outlook(self) -> list[Trial]:
        """The tuning, and measurements as if the middle rate were the best everywhere."""
        middle = self.rates[len(self.rates) // 2]
        points = [p for arm in self.networks for p in (*self._tuned(arm), *self._measured(arm, middle))]
        return [point.trial for point in points]

    def best(self, tuning: Sequence[Point], rows: Mapping[str, Row]) -> float | None:
        """The rate with the least error on held-out images, the smaller of equals; None until all are in."""
        errors = dict.fromkeys(self.rates, 0.0)
        for point in tuning:
            row = rows.get(point.trial.key)
            if row is None:
                return None
            errors[point.labels["rate"]] += float(row.result["held_out_error"])
        return min(self.rates, key=errors.__getitem__)

    def _tuned(self, arm: str) -> list[Point]:
        total = min(self.tuning, self.task.image_count("train"))
        held_out = {"target_error": 0.0, "held_out": total // 2}
        return [
            self._point(arm, total, FIRST_TUNING_SEED + number, TUNING, {"rate": rate, **held_out})
            for rate in self.rates
            for number in range(self.tuning_seeds)
        ]

    def _measured(self, arm: str, rate: float) -> list[Point]:
        ends = (self.sizes[0], self.sizes[-1])
        places = [(arm, m) for m in self.sizes]
        places += [(name, m) for name, twin in TWINS.items() if twin.of == arm for m in ends]
        seeds = range(self.seeds)
        return [self._point(name, m, seed, MEASURED, {"rate": rate}) for name, m in places for seed in seeds]

    def _point(self, name: str, m: int, seed: int, phase: str, learning: Mapping[str, Any]) -> Point:
        """The trial of an arm or a twin, with these fields of the learner."""
        twin = TWINS.get(name, Twin(name))
        epochs = ceil(self.steps / ceil((m - learning.get("held_out", 0)) / BATCH))
        shifts = self.shifts if phase == MEASURED else ()
        values = {
            "task": changed(self.task, {"shifted_tests": shifts, **twin.task}),
            "network": {**self.networks[twin.of], **twin.network},
            "learner": {**LEARNER, "epochs": epochs, **learning}, "m": m, "seed": seed,
            "test_size": min(self.test_size, self.task.image_count("test")),
        }  # fmt: skip
        labels = {"arm": name, "m": m, "rate": learning["rate"], "phase": phase}
        return Point(labels, checked(Trial, values, f"arm {name}"))

    def measured(self, table: pd.DataFrame) -> pd.DataFrame:
        """The lines of the measurement, without those of the tuning, arm by arm."""
        return table[table["phase"] == MEASURED] if len(table) else table

    def judge(self, table: pd.DataFrame) -> Judgement:
        """The criterion, with the networks as they are and on permuted pixels."""
        table = self.measured(table)
        plain = worst(self._ahead(table, POOLED_CNN, (FCN, LCN, POOLED_LCN)), self._sane(table))
        return Judgement(plain, self._ahead(table, permuted(POOLED_CNN), (FCN, permuted(LCN))))

    def _ahead(self, table: pd.DataFrame, cnn: str, others: Sequence[str]) -> Evidence:
        """Fewer examples than any of the others, and less error than the FCN with as many as there are."""
        found = []
        for arm in others:
            ratio = worth(table, arm, cnn, self.target, range(self.seeds))
            name = f"m* of {arm} over {cnn}"
            found.append(above(1, ratio, name) if ratio is not None else Evidence("undecided"))
        largest = self.sizes[-1]
        gap = advantage(table, cnn, FCN, m=largest)
        return worst(*found, above(0, gap, f"error, FCN - {cnn}, m={largest:,}"))

    def _sane(self, table: pd.DataFrame) -> Evidence:
        """Shuffled labels give chance; the FCN does not see that pixels were permuted."""
        from whyconv.measure.intervals import mean_interval

        found, chance = [], 1 - 1 / self.task.classes
        for m in (self.sizes[0], self.sizes[-1]):
            blind = mean_interval(by_seed(table, arm=shuffled(POOLED_CNN), m=m))
            name = f"error, {shuffled(POOLED_CNN)}, m={m:,}"
            found.append(within(0.05, chance, blind, name))
            same = advantage(table, FCN, permuted(FCN), m=m)
            name = f"error, {permuted(FCN)} - FCN, m={m:,}"
            found.append(within(0.03, 0, same, name))
            found.append(started_alike(table, permuted(FCN), FCN, m=m))
        return worst(*found)

    def unjudged(self) -> str:
        """The target is one for CIFAR-10."""
        return other_than("cifar-10", self.task)

    def data(self) -> str:
        """The images."""
        return announced(self.task)

    def remarks(self) -> str:
        """Data, target, rule, and how rates were chosen."""
        total = min(self.tuning, self.task.image_count("train"))
        rates = ", ".join(f"{rate:g}" for rate in self.rates)
        left_out = [m for m in self.m if m not in self.sizes]
        missing = f" Left out, more than there are: m = {', '.join(map(str, left_out))}." if left_out else ""
        return (
            f"{described(self.task)}{missing} m* is for a test error of {self.target:g}. {self.rule} Steps: "
            f"{self.steps:,}. Of the rates "
            f"{rates} every network has the one with the least error on {total // 2:,} held-out training "
            f"images after training on {total - total // 2:,}, by seeds used for nothing else "
            f"({self.tuning_seeds}); twins have their network's rate. The FCN has "
            f"{self.networks[FCN]['widths'][0]:,} hidden units."
        )

    def tables(self, table: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """What each prior is worth, and m* of every network."""
        table, seeds = self.measured(table), range(self.seeds)
        found = {
            f"What each prior is worth: m* without it over m* with it, for an error of {self.target:g}": (
                worths(table, self.ladder(), self.target, seeds)
            ),
            f"Examples needed for an error of {self.target:g}": (
                needs(table, [*self.networks, *TWINS], self.target, seeds)
            ),
        }
        found |= (
            translations(table[table["arm"].isin([*MAIN, *TWINS])], self.shifts, "m") if len(table) else {}
        )
        return {title: part for title, part in found.items() if len(part)}

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """Error against m by shift of the test, controls included; and one panel for every prior."""
        from whyconv.report.charts import curves

        table = self.measured(table)
        main = table[table["arm"].isin([*MAIN, *TWINS])] if len(table) else table
        ladder = table[table["arm"].isin(self.networks)] if len(table) else table
        axes = {"x_title": "training images m", "y_title": "test error", "log_x": True, "facet_title": ""}
        return {
            "Error": curves(
                shift_panels(main, self.shifts), "m", "test_error", title=self.title, facet="test",
                arms=[*MAIN, *TWINS], controls=list(TWINS), y_domain=span(main), **axes,
            ),
            "Priors": curves(
                self._panels(ladder), "m", "test_error", title="One prior after the other", facet="prior",
                arms=list(self.networks), y_domain=span(ladder), **axes,
            ),
        }  # fmt: skip

    def _panels(self, table: pd.DataFrame) -> pd.DataFrame:
        """The arms between which a prior is all that changes, once for every prior."""
        import pandas as pd

        if table.empty:
            return table
        panels = {
            "locality": [FCN, *map(sized, self.kernels), LCN],
            "sharing, without pooling": [LCN, CNN],
            "sharing, with pooling": [POOLED_LCN, *map(blocks, self.groups), POOLED_CNN],
            "pooling": [LCN, POOLED_LCN, CNN, POOLED_CNN],
        }
        long = pd.concat(
            [table[table["arm"].isin(arms)].assign(prior=name) for name, arms in panels.items()],
            ignore_index=True,
        )
        return long.assign(prior=pd.Categorical(long["prior"], categories=list(panels), ordered=True))


def span(table: pd.DataFrame) -> tuple[float, float]:
    """The tenths around all errors, for panels on one scale that does not start at 0."""
    errors = table.filter(regex="^test_error") if len(table) else None
    if errors is None:
        return (0.0, 1.0)
    return floor(10 * float(errors.min().min())) / 10, ceil(10 * float(errors.max().max())) / 10


def sized(kernel: int) -> str:
    """The name of an LCN with other windows."""
    return f"LCN, {kernel} x {kernel}"


def blocks(group: int) -> str:
    """The name of the network between LCN and CNN, with pooling."""
    return f"{group} x {group} shared + pooling"
