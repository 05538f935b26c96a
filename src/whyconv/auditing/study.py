"""The study behind an audit: order test, tuning, and rounds of one seed over all arms and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import ceil
from typing import Annotated, Any, ClassVar

from pydantic import Field

from whyconv.auditing.arms import ARMS, FCN, GLOBAL_MAX, POOLED, SHARED_MAX, USUAL, networks
from whyconv.auditing.budget import first_within, for_order, forecast, sizes_within
from whyconv.auditing.phases import (
    CONTROL,
    FOREST,
    LINEAR,
    MAJORITY,
    ORDER,
    PERMUTED_BEST,
    PERMUTED_FCN,
    REFERENCE,
    SHUFFLED,
    Setup,
)
from whyconv.auditing.results import settled
from whyconv.auditing.savings import MOST_ROUNDS
from whyconv.auditing.tuning import tuned
from whyconv.lazy import pd
from whyconv.studies import Cell, Judgement, Point, Study, good, increasing, only_task
from whyconv.studies.tuned import MEASURED
from whyconv.tasks.own_data import OwnData
from whyconv.trial import Row, Trial
from whyconv.verdict import Evidence

BATCH = 32
ORDER_ARMS = (SHARED_MAX, GLOBAL_MAX)
"""The networks of the order test."""
LOOKS = (5, 10, 20, MOST_ROUNDS)
"""After how many rounds an audit may stop because all is decided: the fewer looks, the fewer false ones."""


class Audit(Study, name="audit"):
    """What locality, sharing and pooling would save on a user's own data.

    References and the order test come first: the same sample in ``orders`` random orders. Then tuning
    (:mod:`whyconv.auditing.tuning`). Then rounds, each a split of its own: all arms at all ``sizes``, nested,
    and the controls. A round counts once it is whole.

    Adam in batches of 32, at most ``steps`` steps whatever the size, or until the training loss is at most
    ``tolerance``; an arm that still learns then gets four times the steps, up to ``growths`` times.

    ``budget``: the seconds of a core that were given, of which the parts get their shares
    (:mod:`whyconv.auditing.budget`); None: no limit. ``target``: an error whose number of examples is asked.
    """

    title: ClassVar[str] = "What locality, sharing and pooling would save"
    criterion: ClassVar[str] = "Every prior is judged by itself; see the savings."
    broken: ClassVar[str] = "The same examples with their places permuted."
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"quick": {}}
    listed: ClassVar[bool] = False
    needs_data: ClassVar[bool] = True
    adaptive: ClassVar[bool] = True

    task: Annotated[OwnData, only_task(OwnData)]
    data_name: str = "data"
    kind_of_grid: str = "series"
    metric: str = "error"
    rarest: int = Field(0, ge=0)
    """Examples of the smallest class; 0: not known, or none."""
    sizes: tuple[int, ...] = Field(min_length=1)
    arms: tuple[str, ...] = USUAL
    windows: tuple[int, ...] = (3,)
    channels: int = Field(16, ge=1, le=10_000)
    steps: int = Field(1000, ge=1, le=10_000_000)
    tolerance: float = Field(0.02, ge=0)
    rates: tuple[float, ...] = (0.001, 0.004, 0.016)
    extensions: int = Field(1, ge=0, le=10)
    growths: int = Field(2, ge=0, le=6)
    budget: float | None = Field(None, gt=0)
    target: float | None = Field(None, gt=0)
    orders: int = Field(39, ge=0, le=10_000)
    order_size: int = Field(1000, ge=1, le=10_000_000)
    order_steps: int = Field(500, ge=1, le=10_000_000)
    notes: tuple[str, ...] = ()
    reference_rounds: int = Field(3, ge=0, le=10_000)
    """Rounds with a linear model and a forest; in all others the majority alone."""
    seeds: int = Field(MOST_ROUNDS, ge=1, le=10_000)
    first_seed: int = Field(0, ge=0, le=2_000_000_000)

    _increasing = increasing("sizes", "windows", "rates", example="[100, 200]")

    @property
    def outcome(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.column

    @property
    def question(self) -> tuple[Any, ...]:
        """Equal for audits that differ in the time given, or in the target, only."""
        return self.task, self.metric, self.arms, self.first_seed

    @property
    def column(self) -> str:
        """The measured column of the metric."""
        return f"test_{self.metric}"

    @property
    def smooth(self) -> str:
        """The measured column that breaks ties."""
        return "test_mse" if self.task.labels == 0 else "test_logloss"

    @property
    def constant(self) -> str:
        """The best answer that ignores the features."""
        return "majority" if self.task.labels else "mean"

    @property
    def outputs(self) -> int:
        return self.task.labels if self.task.labels > 2 else 1

    @property
    def tuning_sizes(self) -> tuple[int, ...]:
        """Two sizes that inner splits have: about an eighth and a half of all training examples."""
        fitting = [m for m in self.sizes if m <= self.task.most(True)] or [self.task.most(True)]
        return tuple(sorted({fitting[max(0, len(fitting) - 3)], fitting[-1]}))

    def learner(self, m: int, rate: float, steps: int | None = None) -> dict[str, Any]:
        """The same number of steps for every size."""
        loss = {0: "squared", 2: "logistic"}.get(self.task.labels, "cross-entropy")
        epochs = ceil((steps or self.steps) / ceil(m / BATCH))
        return {
            "name": "gradient", "rate": rate, "batch": BATCH, "loss": loss, "tolerance": self.tolerance,
            "epochs": epochs,
        }  # fmt: skip

    def cell(
        self,
        labels: Mapping[str, Any],
        network: Any,
        m: int,
        rate: float,
        seeds: range,
        *,
        steps: int | None = None,
        **task: Any,
    ) -> Cell:
        changed = self.task.model_copy(update=task)
        return Cell(
            {**labels, "m": m, "rate": rate}, changed, self.learner(m, rate, steps), network, m, seeds,
            test_size=self.task.tested(bool(task.get("inner"))),
        )  # fmt: skip

    def references(self, number: int) -> list[Point]:
        """Other methods on all training examples of a round."""
        m, seed = self.sizes[-1], self.first_seed + number
        names = (MAJORITY, LINEAR, FOREST) if number < self.reference_rounds else (MAJORITY,)
        return [
            point
            for name in names
            for point in Cell(
                {"arm": name, "phase": REFERENCE, "m": m}, self.task,
                {"name": "reference", "model": name, "classes": self.task.labels}, None, m,
                range(seed, seed + 1), self.task.test,
            ).points()
        ]  # fmt: skip

    def order_points(self) -> list[Point]:
        """The same sample as it is and in random orders: two networks that pool, with all windows but the
        smallest and largest (:mod:`whyconv.auditing.order`).

        A single window, then fewer steps, if that is more than its share of the time.
        """
        inner = self.windows[1:-1] or self.windows
        middle = inner[len(inner) // 2 :][:1]
        tried = [(inner, 1), (middle, 1), (middle, 2), (middle, 4)]
        ways = [(windows, ceil(self.order_steps / part)) for windows, part in tried]
        if self.budget is not None:
            costs = [(way, (self.orders + 1) * forecast(self._in_orders(*way, range(1)))) for way in ways]
            ways = [first_within(costs, for_order(self.budget))]
        return self._in_orders(*ways[0], range(self.orders + 1))

    def _in_orders(self, windows: Sequence[int], steps: int, orders: range) -> list[Point]:
        m, seed, points = min(self.order_size, self.sizes[-1]), self.first_seed + 20_000, []
        for arm, window in product(ORDER_ARMS, windows):
            network = networks(self.task.grid, self.outputs, window, self.channels)[arm]
            for number in orders:
                labels = {"arm": arm, "phase": ORDER, "order": number, "window": window}
                seeds = range(seed, seed + 1)
                cell = self.cell(labels, network, m, self.middle, seeds, steps=steps, permuted=number)
                points += cell.points()
        return points

    @property
    def middle(self) -> float:
        return self.rates[len(self.rates) // 2]

    def merit(self, rows: Sequence[Row]) -> tuple[float, float]:
        """The mean outcome, then what breaks ties."""
        first, second = (
            sum(float(row.result[name]) for row in rows) / len(rows) for name in (self.column, self.smooth)
        )
        return first, second

    def tuned(self, rows: Mapping[str, Row]) -> tuple[list[Point], dict[str, Setup] | None]:
        """The trials of tuning, and what was chosen for every arm once all are in."""
        return tuned(self, rows, self.order_points())

    def winner(self, setups: Mapping[str, Setup], among: Sequence[str] = ()) -> str:
        """The arm with the least outcome in tuning."""
        names = [arm for arm in setups if not among or arm in among]
        return min(names, key=lambda arm: setups[arm].outcome) if names else ""

    def pooled(self, setups: Mapping[str, Setup]) -> str:
        """The arm that stands for the pooled CNN."""
        return self.winner(setups, POOLED)

    def round(self, number: int, setups: Mapping[str, Setup], sizes: Sequence[int]) -> list[Point]:
        """One split: all arms at these sizes, the controls, and references."""
        seed = self.first_seed + number
        one, order = range(seed, seed + 1), 1_000_000 + seed
        points = self.references(number)

        def measured(name: str, arm: str, m: int, phase: str, **task: Any) -> list[Point]:
            setup = setups[arm]
            labels = {"arm": name, "phase": phase, "window": setup.window or 0}
            return self.cell(labels, setup.network, m, setup.rate, one, steps=setup.steps, **task).points()

        for m in sizes:
            for arm in setups:
                points += measured(arm, arm, m, MEASURED)
            if FCN in setups:
                points += measured(PERMUTED_FCN, FCN, m, CONTROL, permuted=order)
        best = self.winner(setups)
        points += measured(PERMUTED_BEST, best, self.sizes[-1], CONTROL, permuted=order)
        points += measured(SHUFFLED, best, self.sizes[-1], CONTROL, shuffled_labels=True)
        return points

    def plan(self, rows: Mapping[str, Row]) -> list[Point]:
        """References and order test; tuning; then round after round, until all is decided.

        A round with a failed trial does not count, and others follow.
        """
        known, rows = rows, good(rows)
        order = self.order_points()
        points = self.references(0) + order
        if _lacking(points, rows):
            return points
        tried, setups = tuned(self, rows, order)
        points += tried
        if setups is None:
            return points
        sizes = sizes_within(self.sizes, setups, self.budget)
        for number in range(self.seeds):
            new = self.round(number, setups, sizes)
            points += new
            if _lacking(new, known) or (number + 1 in LOOKS and settled(self, points, rows)):
                break
        return points

    def outlook(self) -> list[Trial]:
        """What is planned without rows: how many rounds there will be depends on the time."""
        return [point.trial for point in self.plan({})]

    def data(self) -> str:
        return f"{self.data_name}: {self.task.count:,} examples of {self.task.grid}."

    def unjudged(self) -> str:
        return "An audit judges every prior by itself; its savings have the verdicts."

    def judge(self, table: pd.DataFrame) -> Judgement:
        del table
        shown = Evidence("undecided", {})
        return Judgement(shown, shown)

    def measured(self, table: pd.DataFrame) -> pd.DataFrame:
        """The lines of the rounds."""
        return table[table["phase"].isin([MEASURED, CONTROL])] if len(table) else table

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """The learning curves of all arms."""
        from whyconv.report.charts import curves

        table = self.measured(table)
        arms = [arm for arm in (*ARMS, PERMUTED_FCN) if len(table) and arm in set(table["arm"])]
        chart = curves(
            table[table["arm"].isin(arms)] if len(table) else table, "m", self.column, title=self.title,
            arms=arms, controls=[PERMUTED_FCN], x_title="training examples m",
            y_title=f"test {self.metric}", log_x=True,
        )  # fmt: skip
        return {"Learning curves": chart}


class OrderTest(Audit, name="audit-order"):
    """The order test of an audit and nothing else."""

    def plan(self, rows: Mapping[str, Row]) -> list[Point]:
        del rows
        return self.order_points()


def _lacking(points: Sequence[Point], rows: Mapping[str, Row]) -> bool:
    return any(point.trial.key not in rows for point in points)
