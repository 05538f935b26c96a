"""Comment 7: does the theorem need its own initialisation, or do natural ones learn k-patterns as well?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import Field, field_validator, model_validator

from whyconv.lazy import jnp, np, pd
from whyconv.measure.intervals import rate_interval
from whyconv.networks import NetworkField
from whyconv.networks.tables import all_windows
from whyconv.networks.window import Windowed
from whyconv.papers.malach.exact.window_features import least_norm_readouts
from whyconv.papers.malach.pictures import figure2
from whyconv.report.charts import curves
from whyconv.spec import build
from whyconv.streams import stream
from whyconv.studies import Cell, Judgement, increasing
from whyconv.studies.answers import Answer
from whyconv.studies.controls import nearest
from whyconv.studies.grid import changed
from whyconv.studies.tuned import TunedStudy
from whyconv.studies.worth import Step
from whyconv.tasks import TaskField
from whyconv.tasks.bits import KPattern
from whyconv.verdict import Evidence, Number, above, worst

THEOREM, NORMAL, UNIFORM = "theorem's start", "normal start", "uniform start"
FEATURES = "normal start, readout alone"
HIDDEN, SHORT = "normal start, hidden order", "normal start, windows one bit short"
NATURAL = (NORMAL, UNIFORM, FEATURES)


class NaturalInit(TunedStudy, name="malach.natural-init"):
    """A CNN learns k-patterns from Gaussian and uniform starts too, and with random filters left as they are.

    The paper's Comment 7 says that a similar result can be shown for natural initialisations with random
    features; it proves nothing, so this is an experiment. Arms differ in the law of W and b alone, and in
    whether W is trained. Also reported: the least norm of a readout of one window that equals the target
    exactly, with which the theorem's bound grows.
    """

    says: ClassVar[str] = (
        "A similar result can be shown for more natural initialization (e.g., normal distribution) "
        "(Comment 7)"
    )
    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Comment 7"
    title: ClassVar[str] = "Do natural initialisations learn k-patterns as well?"
    met: ClassVar[str] = "Natural initialisations learn k-patterns as well."
    unmet: ClassVar[str] = "Not every natural initialisation learns k-patterns."
    criterion: ClassVar[str] = (
        "With the largest number of filters every start reaches 10 % error with a probability above 2/3 "
        "(95 % interval of Clopper and Pearson), even where only the readout is trained."
    )
    broken: ClassVar[str] = (
        "a normal start with windows of k - 1 bits, one too few to hold the pattern; and with the bits in a "
        "hidden order. Of the two, the one that comes nearer to passing."
    )
    lost: ClassVar[str] = "does not learn it, as it must not"
    rule: ClassVar[str] = (
        "Full-batch gradient descent, hinge loss, biases not trained, readout from 0; step sizes tuned for "
        "every arm by the same rule. The target is reached when the error on held-out examples is at most "
        "10 % and the test error at most 12 %."
    )
    thresholds: ClassVar[Mapping[str, float]] = {"probability of success": 2 / 3}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"first_seed": 1000},
        "paper": {
            "filters": [16, 32, 64, 128, 256, 512, 1024, 4096], "tuning_seeds": 3, "first_seed": 1000,
        },
    }  # fmt: skip

    task: TaskField = Field(
        default_factory=lambda: {"name": "k-pattern", "n_bits": 16, "k_window": 4}, validate_default=True
    )
    filters: tuple[int, ...] = (16, 64, 256)
    m: int = Field(4096, ge=1, le=1_000_000)
    rates: tuple[float, ...] = (0.01, 0.1, 1.0)
    budget: int = Field(4000, ge=1, le=1_000_000)
    seeds: int = Field(20, ge=1, le=10_000)
    few_seeds: int = Field(5, ge=1, le=10_000)
    """Seeds with fewer filters, which are shown and not judged."""
    arms: dict[str, NetworkField] = Field(
        default_factory=lambda: {
            THEOREM: {"name": "cnn"},
            NORMAL: {"name": "cnn", "init_law": "normal"},
            UNIFORM: {"name": "cnn", "init_law": "uniform"},
            FEATURES: {"name": "cnn", "init_law": "normal", "frozen": ["w", "b"]},
        },
        validate_default=True,
    )

    _increasing = increasing("filters", example="[16, 64, 256]")

    @field_validator("task")
    @classmethod
    def _bits(cls, task: Any) -> Any:
        if not isinstance(task, KPattern):
            raise ValueError(f"the task must be k-pattern or k-junta, but {task.name} was given")
        return task

    @field_validator("arms")
    @classmethod
    def _windows(cls, arms: dict[str, Any]) -> dict[str, Any]:
        for name in (THEOREM, *NATURAL):
            if not isinstance(arms.get(name), Windowed):
                raise ValueError(f"the criterion needs the arm {name!r}, a network over windows")
        return arms

    @model_validator(mode="after")
    def _not_trivial(self) -> NaturalInit:
        assert isinstance(self.task, KPattern)
        if self.task.label_noise >= self.target_error:
            raise ValueError(
                f"label_noise = {self.task.label_noise:g} is the least possible error, but target_error = "
                f"{self.target_error:g} asks for less; take less noise or a larger target"
            )
        rarer = self.task.rarer_label()
        if rarer is not None and rarer <= 1.2 * self.target_error:
            raise ValueError(
                f"the target {self.task.target} has one label on all but {rarer:.3g} of the windows, so a "
                f"constant reaches target_error = {self.target_error:g}; take a smaller one or another target"
            )
        return self

    def cells(self) -> Iterator[Cell]:
        """Every start with every number of filters, and the controls with the largest."""
        assert isinstance(self.task, KPattern)
        k, hidden = self.task.k_window, build("task", {**self.task.canonical(), "name": "k-junta"})
        for filters in self.filters:
            seeds = self.seeds if filters == self.filters[-1] else self.few_seeds
            arms = {
                name: (self.task, changed(network, {"filters": filters, "k_window": k}))
                for name, network in self.arms.items()
            }
            _, normal = arms[NORMAL]
            if filters == self.filters[-1]:
                arms[HIDDEN] = (hidden, normal)
                if k > 1:
                    arms[SHORT] = (self.task, changed(normal, {"k_window": k - 1}))
            for name, (task, network) in arms.items():
                yield self.cell({"arm": name, "filters": filters}, task, network, self.m, seeds=seeds)

    def answers(self, table: pd.DataFrame) -> list[Answer]:
        """What the theorem's start, and training the filters, save in steps, with the most filters."""
        steps = (
            Step("the theorem's start instead of a normal one", NORMAL, THEOREM),
            Step("training the filters", FEATURES, NORMAL),
        )
        return self.in_steps(table, steps, {"filters": self.filters[-1]}, f"with q = {self.filters[-1]}")

    def judge(self, table: pd.DataFrame) -> Judgement:
        rows = self.measured(table)
        controls = {arm: self._judged(rows, (arm,)) for arm in (SHORT, HIDDEN) if arm in set(rows["arm"])}
        return nearest(self._judged(rows, NATURAL), controls)

    def _judged(self, rows: pd.DataFrame, natural: tuple[str, ...]) -> Evidence:
        found, numbers = [], dict[str, Number]()
        for arm in (THEOREM, *natural):
            for filters, part in rows[rows["arm"] == arm].groupby("filters"):
                name = f"share of seeds at the target, {arm}, q={filters}"
                rate = rate_interval(int(part["reached"].sum()), len(part))
                if filters == self.filters[-1]:
                    found.append(above(self.thresholds["probability of success"], rate, name))
                numbers[name] = rate
        for arm in (THEOREM, NORMAL, UNIFORM):
            numbers[f"least norm of a readout, {arm}, q={self.filters[-1]}"] = self.least_norm(arm)
        return worst(*found, Evidence("consistent", numbers))

    def least_norm(self, arm: str, seed: int = 0) -> float | str:
        """The least norm of a readout of one window that equals the target on all 2^k windows."""
        assert isinstance(self.task, KPattern)
        k = self.task.k_window
        network = changed(self.arms[arm], {"filters": self.filters[-1], "k_window": k})
        params = network.init(stream("init", network.canonical(), seed), (k,))
        pre = jnp.asarray(all_windows(k)) @ params["w"][0] + params["b"][0]
        table = np.asarray(network.sigma(pre), dtype=float)
        target = np.asarray(self.task.truth_table(stream("world", self.task.lineage(), seed)), dtype=float)
        readout, residual = least_norm_readouts(table, target[:, None])
        return float(np.linalg.norm(readout)) if residual < 1e-3 else "none: the features do not span it"

    def pictures(self) -> dict[str, str]:
        """The paper's Figure 2: a k-pattern."""
        return figure2()

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        rows = self.measured(table)
        shared: dict[str, Any] = {
            "x_title": "filters q", "log_x": True, "controls": [SHORT, HIDDEN],
            "arms": [*self.arms, SHORT, HIDDEN],
        }  # fmt: skip
        return {
            "Test error": curves(
                rows, "filters", "test_error", title="Test error at the end of training",
                y_title="test error", y_domain=(0.0, 0.6), **shared,
            ),
            "Steps to 10 % error": curves(
                rows, "filters", "steps_taken", title="Steps of gradient descent to 10 % error",
                y_title="steps", log_y=True, y_domain=(0.8, 1.6 * self.budget),
                ceiling=(self.budget, f"not reached within {self.budget:,} steps"), **shared,
            ),
        }  # fmt: skip
