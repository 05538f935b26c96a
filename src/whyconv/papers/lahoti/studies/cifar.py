"""What locality, sharing and pooling are worth on real images: CIFAR-10, in examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, floor, inf, nan
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from whyconv.lazy import pd
from whyconv.measure.complexity import SampleComplexity, Search
from whyconv.measure.intervals import share_interval
from whyconv.report.charts import curves
from whyconv.report.image_picture import problem
from whyconv.studies import Cell, Judgement, Point, good, increasing
from whyconv.studies.answers import Answer, in_examples
from whyconv.studies.complexity import ComplexityStudy
from whyconv.studies.controls import opposed, sanity
from whyconv.studies.grid import advantage, by_seed, changed
from whyconv.studies.images import (
    ClassesStudy,
    Twin,
    described,
    permuted,
    shift_panels,
    shuffled,
    started_alike,
    translations,
    twins,
)
from whyconv.studies.tuned import MEASURED, TUNING, Tuner, at_rate, measurements
from whyconv.studies.worth import Step, examples_table, ladder_table, worth
from whyconv.trial import Row, Trial
from whyconv.verdict import Evidence, above, within, worst

FCN, LCN, CNN = "FCN", "LCN", "CNN"
POOLED_LCN, POOLED_CNN = "LCN + pooling", "CNN + pooling"
MAIN = (FCN, LCN, CNN, POOLED_LCN, POOLED_CNN)
BATCH = 32
LEARNER: Mapping[str, Any] = {
    "name": "gradient", "optimiser": "adam", "batch": BATCH, "loss": "cross-entropy", "tolerance": 0.1
}  # fmt: skip


TWINS = twins((POOLED_CNN, LCN, FCN))


class Cifar(ClassesStudy, ComplexityStudy, name="lahoti.cifar"):
    """Test error against sample size, one prior after the other: networks with one hidden layer of ReLU.

    LCN: windows of ``kernel`` x ``kernel`` pixels every ``stride`` pixels, each with ``channels`` filters of
    its own; other ``kernels`` are further LCNs, and the FCN has the whole image for a window. CNN: the same
    filters everywhere. Between them filters are shared by blocks of g x g windows, g in ``groups``. With
    *pooling* the largest of ``pool`` x ``pool`` neighbouring windows counts. The readout is linear in all
    that is left. The FCN has ``fcn_width`` hidden units, by default as many as the readout sees after
    pooling; an LCN without pooling has more, and locality is measured with another number of units (FCNs of
    256 and 1024 units erred alike here: .669, .617, .591 and .668, .611, .596 for m = 1000, 2000, 4000).

    A prior is *worth* m*(without it) / m*(with it), where m* is the least number of examples whose mean test
    error over seeds is at most ``target``. Every network is measured at the sizes ``m``, and the search goes
    on between them until m* is known to within ``resolution``; twins are measured at both ends of ``m``
    only, with their network's rate. Unless given, the target is the FCN's error on the held-out images on
    which its rate was chosen, so that no measurement chooses it: an error that an FCN reaches with about half
    as many images as choose the rate. Sharing and pooling are taken with and without each other: infinitely
    wide CNNs and LCNs without pooling are the same Gaussian process (Novak et al. 2019), so that sharing
    alone need not be worth anything (``lahoti.cifar-unpooled``).

    Networks and sizes are ours. Every network is trained for the same number of ``steps`` at every m,
    or until its training loss is small. ``tuning`` images, half of them held out, choose its rate among
    ``rates``, with ``tuning_seeds`` seeds used for nothing else; test images choose nothing.
    """

    says: ClassVar[str] = (
        "demonstrating the benefits of locality from LCNs and further benefits from weight sharing in CNNs "
        "(a summary of the paper, key results)"
    )
    reference: ClassVar[str] = "Lahoti et al., the order CNN < LCN < FCN, on CIFAR-10 (ours)"
    title: ClassVar[str] = "What are locality, sharing and pooling worth on real images?"
    met: ClassVar[str] = "FCN, LCN, CNN with pooling: each needs more examples than the next."
    unmet: ClassVar[str] = "The order FCN, LCN, CNN with pooling is not what was measured."
    criterion: ClassVar[str] = (
        "95 % intervals over seeds of ratios of m*, networks with pooling as the paper's sum over patches: "
        "the FCN needs more examples than the LCN, and the LCN more than the CNN (ratios above 1). Sanity, "
        "else undecided: a CNN trained on shuffled labels is within 0.05 of chance; the FCN on permuted "
        "pixels, with its initial weights permuted alike, has the FCN's loss in the first epoch up to "
        "rounding (1e-4), and its error within 0.03. What each prior is worth is reported."
    )
    broken: ClassVar[str] = (
        "If the study passes: the CNN on images whose pixels are permuted, in the same way for all images, "
        "must not need fewer examples than the LCN on images as they are. If not: the FCN must need more "
        "examples than the CNN, the two ends of the order."
    )
    rule: ClassVar[str] = (
        "Adam, batches of 32, cross-entropy, no augmentation; every network is trained until its training "
        "loss is at most 0.1 or its steps, the same number for every network and m, are spent."
    )
    thresholds: ClassVar[Mapping[str, float]] = {"ratio": 1.0, "chance": 0.05, "same": 0.03}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"first_seed": 1000},
        "paper": {
            "task.images": "cifar-10", "task.batches": [1, 2, 3, 4, 5], "channels": 64, "seeds": 10,
            "m": [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 50_000], "kernels": [3, 9, 17],
            "groups": [2, 4, 8], "tuning": 8000, "tuning_seeds": 3, "test_size": 10_000, "steps": 30_000,
            "first_seed": 1000,
        },
    }  # fmt: skip
    version: ClassVar[int] = 3

    order: ClassVar[tuple[str, ...]] = (FCN, POOLED_LCN, POOLED_CNN)
    """From the network that needs most examples to the one that needs fewest."""
    disorder: ClassVar[tuple[str, ...]] = (POOLED_LCN, permuted(POOLED_CNN))
    """What must not pass."""
    ends: ClassVar[tuple[str, ...]] = (FCN, POOLED_CNN)
    """What must pass."""
    headline: ClassVar[str] = "locality, sharing and pooling"
    """The prior that the answer begins with."""

    m: tuple[int, ...] = (500, 1000, 2000, 4000)
    resolution: float = Field(0.5, gt=0, le=1)
    kernel: int = Field(5, ge=1, le=1000)
    kernels: tuple[int, ...] = (3,)
    groups: tuple[int, ...] = (4,)
    channels: int = Field(16, ge=1, le=100_000)
    stride: int = Field(2, ge=1, le=100)
    pool: int = Field(4, ge=2, le=100)
    fcn_width: int | None = Field(None, ge=1, le=1_000_000)
    target: float | None = Field(None, gt=0, lt=1)
    steps: int = Field(1500, ge=1, le=10_000_000)
    rates: tuple[float, ...] = (0.00003, 0.0001, 0.0003, 0.001, 0.003)
    tuning: int = Field(4000, ge=2, le=1_000_000)
    tuning_seeds: int = Field(1, ge=1, le=100)
    test_size: int = Field(2000, ge=1, le=1_000_000)
    shifts: tuple[int, ...] = (1, 2, 4)
    seeds: int = Field(5, ge=1, le=10_000)

    _increasing = increasing("m", "kernels", "groups", "rates", example="[500, 1000]")

    @model_validator(mode="after")
    def _sensible(self) -> Cifar:
        if len(self.sizes) < 2:
            there = self.task.image_count("train")
            raise ValueError(
                f"m = {list(self.m)} was given; take two or more sizes up to {there:,}, all the images"
            )
        if self.kernel in self.kernels:
            raise ValueError(
                f"kernels = {list(self.kernels)} must differ from kernel = {self.kernel}; leave it out"
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

    @property
    def tuner(self) -> Tuner:
        """The rate with the least error on held-out images; ties go to the smaller."""
        return Tuner(
            self.rates,
            self.tuning_seeds,
            lambda rate, rows: (_held_out_error(rows), rate),
            self.first_tuning_seed,
        )

    def cells(self) -> Iterator[Cell]:
        """Every network with its search, and its twins at both ends; the rates are not chosen yet."""
        ends = (self.sizes[0], self.sizes[-1])
        for arm in self.networks:
            yield self._cell(arm, Twin(arm), Search(*ends, self.resolution, self.sizes))
            for name, twin in TWINS.items():
                if twin.of == arm:
                    yield self._cell(name, twin, Search(*ends, inf, ends))

    def _cell(self, name: str, twin: Twin, search: Search | None = None) -> Cell:
        return Cell(
            {"arm": name}, changed(self.task, {"shifted_tests": self.shifts, **twin.task}), LEARNER,
            {**self.networks[twin.of], **twin.network}, seeds=self.repetitions(), search=search,
            test_size=self.available(self.test_size, "test"),
        )  # fmt: skip

    def tuning_cell(self, arm: str) -> Cell:
        """A network on the images that choose its rate, half of them held out."""
        total = self.available(self.tuning, "train")
        learner = {**LEARNER, "target_error": 0.0, "held_out": total // 2}
        return self.sized(replace(self._cell(arm, Twin(arm)), task=self.task, learner=learner), total)

    def sized(self, cell: Cell, m: int) -> Cell:
        """The same number of steps for every m."""
        batches = ceil((m - cell.learner.get("held_out", 0)) / BATCH)
        return replace(cell.at(m), learner={**cell.learner, "epochs": ceil(self.steps / batches)})

    def goal(self, cell: Cell) -> float:
        """The same error for all; nan until it is known."""
        del cell
        return nan if self.target is None else self.target

    def aimed(self, table: pd.DataFrame) -> Self:
        """The study with its target, once the FCN's rate is chosen."""
        if self.target is not None or table.empty:
            return self
        tuning = table[(table["arm"] == FCN) & (table["phase"] == TUNING)]
        if len(tuning) < len(self.rates) * self.tuning_seeds:
            return self
        errors = tuning.groupby("rate")["held_out_error"].mean()
        return self.model_copy(update={"target": float(errors.min())})

    def plan(self, rows: Mapping[str, Row]) -> list[Point]:
        """The tuning of every network; once the target is known, searches and twins at the best rates."""
        points, rows, rate = [], good(rows), None
        tuning, _ = self.tuner.tune(self.tuning_cell(FCN), rows)
        study = self.aimed(self.table(tuning, rows))
        for cell in self.cells():
            if (arm := cell.labels["arm"]) in self.networks:
                tuning, rate = self.tuner.tune(self.tuning_cell(arm), rows)
                points += tuning
            if rate is not None and study.target is not None:
                points += study.searched(at_rate(cell, rate, MEASURED, cell.seeds), rows)
        return points

    def outlook(self) -> list[Trial]:
        """The tuning, and measurements as if the middle rate were the best everywhere."""
        middle = self.rates[len(self.rates) // 2]
        cells = [at_rate(cell, middle, MEASURED, cell.seeds) for cell in self.cells()]
        return [point.trial for point in [*self.plan({}), *(p for cell in cells for p in self.usual(cell))]]

    def measured(self, table: pd.DataFrame) -> pd.DataFrame:
        """The lines of the measurement, without those of the tuning, arm by arm."""
        order = {cell.labels["arm"]: number for number, cell in enumerate(self.cells())}
        found = measurements(table)
        if found.empty:
            return found
        return found.sort_values(["arm", "m"], kind="stable", key=lambda values: values.replace(order))

    def needed(self, table: pd.DataFrame) -> dict[str, SampleComplexity]:
        """m* by network and twin, the networks first."""
        found = {cell.labels["arm"]: self.complexity(table, cell) for cell in self.cells()}
        return {arm: m for arm in (*self.networks, *TWINS) if (m := found[arm]) is not None}

    def answers(self, table: pd.DataFrame) -> list[Answer]:
        """Every step of the ladder, the headline first."""
        study, table = self.aimed(table), self.measured(table)
        needed = study.needed(table) if len(table) else {}
        where = f"for a test error of {study.target or nan:.3g}"
        found = [
            in_examples(
                step.prior, (step.without, needed[step.without]), (step.given, needed[step.given]), self.on(),
                where,
            )
            for step in self.ladder()
            if step.without in needed and step.given in needed
        ]  # fmt: skip
        return sorted(found, key=lambda answer: answer.prior != self.headline)

    def judge(self, table: pd.DataFrame) -> Judgement:
        study, table = self.aimed(table), self.measured(table)
        needed = study.needed(table)
        target = Evidence("consistent", {"target: error": study.goal(next(iter(self.cells())))})
        plain = worst(target, self._ordered(needed, self.order), self._sane(table))
        return opposed(plain, self._ordered(needed, self.disorder), self._ordered(needed, self.ends))

    def _ordered(self, needed: Mapping[str, SampleComplexity], arms: Sequence[str]) -> Evidence:
        """Each network needs more examples than the next."""
        found = []
        for more, fewer in pairwise(arms):
            ratio = worth(needed, more, fewer)
            name = f"m* of {more} over {fewer}"
            unknown = Evidence("undecided", {name: "not measured"}, f"no admissible size for {name}")
            found.append(unknown if ratio is None else above(self.thresholds["ratio"], ratio, name))
        return worst(*found)

    def _sane(self, table: pd.DataFrame) -> Evidence:
        """Shuffled labels give chance; the FCN does not see that pixels were permuted."""
        found, chance = [], 1 - 1 / self.task.classes
        for m in (self.sizes[0], self.sizes[-1]):
            blind = share_interval(by_seed(table, arm=shuffled(POOLED_CNN), m=m))
            name = f"error, {shuffled(POOLED_CNN)}, m={m:,}"
            found.append(within(self.thresholds["chance"], chance, blind, name))
            same = advantage(table, FCN, permuted(FCN), m=m)
            name = f"error, {permuted(FCN)} - FCN, m={m:,}"
            found.append(within(self.thresholds["same"], 0, same, name))
            found.append(started_alike(table, permuted(FCN), FCN, m=m))
        return sanity(*found)

    def remarks(self) -> str:
        total = self.available(self.tuning, "train")
        rates = ", ".join(f"{rate:g}" for rate in self.rates)
        left_out = [m for m in self.m if m not in self.sizes]
        missing = f" Left out for lack of images: m = {', '.join(map(str, left_out))}." if left_out else ""
        aim = "the FCN's on the images that chose its rate" if self.target is None else f"{self.target:g}"
        return (
            f"{described(self.task)}{missing} m* is for a test error of {aim}. {self.rule} Steps: "
            f"{self.steps:,}. Of the rates "
            f"{rates} every network has the one with the least error on {total // 2:,} held-out training "
            f"images after training on {total - total // 2:,}, with seeds used for nothing else "
            f"({self.tuning_seeds}); twins have their network's rate. The FCN has "
            f"{self.networks[FCN]['widths'][0]:,} hidden units."
        )

    def tables(self, table: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """What each prior is worth, and m* of every network."""
        study, table = self.aimed(table), self.measured(table)
        needed, target = study.needed(table), f"{study.target or nan:.3g}"
        found = {
            f"What each prior is worth: m* without it over m* with it, for an error of {target}": (
                ladder_table(needed, self.ladder())
            ),
            f"Examples needed for an error of {target}": examples_table(needed, table),
        }
        found |= (
            translations(table[table["arm"].isin([*MAIN, *TWINS])], self.shifts, "m") if len(table) else {}
        )
        return {title: part for title, part in found.items() if len(part)}

    def pictures(self) -> dict[str, str]:
        """Images of every class, and the control's permuted pixels."""
        return problem(self.task.images, self.task.batches)

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """Error against m by shift of the test, controls included; and one panel for every prior."""
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


def _held_out_error(rows: Sequence[Row]) -> float:
    return sum(float(row.result["held_out_error"]) for row in rows)


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
