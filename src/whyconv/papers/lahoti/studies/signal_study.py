"""What the studies of Lahoti et al. share: the contestants, targets near the oracle's risk, one axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from whyconv.lazy import np, pd
from whyconv.measure.complexity import Ratio, Search, contrast, ratio
from whyconv.papers.lahoti.exact.rates import rate
from whyconv.papers.lahoti.pictures import problem as signals
from whyconv.report.charts import curves
from whyconv.report.complexity_chart import complexities
from whyconv.spec import checked, once
from whyconv.studies import Cell, Judgement, increasing, only_task
from whyconv.studies.answers import LOCALITY, SHARING
from whyconv.studies.complexity import ComplexityStudy, Found, Sizes
from whyconv.studies.grid import Arm, ArmStudy
from whyconv.studies.worth import Step
from whyconv.tasks.signal import Signal
from whyconv.verdict import Evidence, Number, above, worst

CNN, LCN, FCN = "CNN", "LCN", "FCN"
ROTATED = "CNN on rotated patches"
RATES: Mapping[str, Mapping[str, str]] = {
    CNN: {"cnn-upper": "σ²(k+d) ln(kd)"},
    LCN: {"lcn-upper": "σ²k(k+d) ln(kd)", "lcn-lower": "σ²kd"},
    FCN: {"fcn-lower": "σ²k²d"},
}
"""Theory's rates by arm: the name in :mod:`.rates`, and the formula."""
RATED: tuple[str, ...] = ("patches", "patch_dim", "sigma")
"""The fields of the task that the rates depend on."""
AUTHORS = {
    "name": "projected",
    "rates": [0.1, 0.01, 0.001],
    "bias_rates": [0.01, 0.001, 0.0001],
    "steps": 2000,
}
"""The step sizes that the authors searched; the number of steps is ours, theirs is not known."""
BROKEN = (
    "the CNN on the same examples with every patch rotated by a matrix of its own: no filter fits two "
    "patches, so sharing must lose its advantage."
)
FAIR = (
    "Squared loss, full-batch projected gradient descent from |w| near 1 and b = 0.03 (the authors' "
    "optimiser, start and number of steps are not known). Every network gets the same grid of step sizes, "
    "the same number of steps and the same examples; in each repetition the pair counts that does best on "
    "1500 validation examples of its own, for every network alike."
)


def contestants(learner: Any = "projected") -> dict[str, Any]:
    """CNN, LCN and FCN by the same learner, and the CNN where patches share nothing."""
    return {
        CNN: {"network": "lsa-cnn", "learner": learner},
        LCN: {"network": "lsa-lcn", "learner": learner},
        FCN: {"network": "lsa-fcn", "learner": learner},
        ROTATED: {"network": "lsa-cnn", "learner": learner, "task": {"rotated": "patches"}},
    }


def sharers(learner: Any = "projected") -> dict[str, Any]:
    """CNN and LCN, and the CNN where patches share nothing: what weight sharing alone is worth."""
    return {name: arm for name, arm in contestants(learner).items() if name != FCN}


def factor_change(cnn: Found, lcn: Found, first: float, last: float) -> Any:
    """(m*(LCN) / m*(CNN) at ``last``) over the same at ``first``, with its interval, paired by seed."""
    ends = contrast([1, -1, -1, 1], [lcn[last], cnn[last], lcn[first], cnn[first]])
    return Ratio(*(exp(end) for end in ends), count=lcn[first].count)


def risk_curves(
    table: pd.DataFrame, more: str, facet: str, arms: Sequence[str], controls: Sequence[str] = ()
) -> Any:
    """The learning curves of a study, a panel for each value of ``facet``; ``more`` ends the title."""
    return curves(
        table, "m", "risk", title=f"Risk against examples{more}", x_title="training examples m",
        y_title="risk", log_x=True, log_y=True, facet=facet, arms=arms, controls=controls,
    )  # fmt: skip


def with_learner(learner: Mapping[str, Any], *arms: str) -> dict[str, Any]:
    """Overrides for a preset: this learner for all of the arms."""
    return {f"arms.{arm}.learner": dict(learner) for arm in arms or (CNN, LCN, FCN, ROTATED)}


SignalField = Annotated[Signal, only_task(Signal, "has no known oracle")]
TELLING = 0.7
"""A target is informative about locality only if it is at most this share of a linear filter's risk."""


@once
def known(task: Signal) -> tuple[float, float]:
    """The oracle's risk, and that of the best linear filter."""
    return task.oracle()[0], task.linear_risk()


class SignalStudy(ArmStudy, ComplexityStudy):
    """m* for the risk on the task signal; the target is the oracle's risk plus ``excess``, or ``target``.

    An arm may change fields of the task (a control's rotation, say), but not the oracle's risk. Every arm
    gets the same grid of step sizes, tried side by side in each trial.
    """

    outcome: ClassVar[str] = "risk"
    priors: ClassVar[tuple[Step, ...]] = (Step(SHARING, LCN, CNN), Step(LOCALITY, FCN, LCN))

    task: SignalField = Field("signal", validate_default=True)  # pyright: ignore[reportIncompatibleVariableOverride]
    sizes: Sizes = Field(default_factory=lambda: checked(Sizes, {}, "sizes"))
    excess: float = Field(0.03, gt=0, le=10)
    target: float | None = Field(None, gt=0, le=10)
    test_size: int = Field(1500, ge=1, le=1_000_000)

    @model_validator(mode="after")
    def _attainable(self) -> SignalStudy:
        for name, arm in self.arms.items():
            if arm.largest_m is not None and arm.largest_m <= self.sizes.low:
                raise ValueError(
                    f"arms.{name}.largest_m = {arm.largest_m} and sizes.low = {self.sizes.low} were given, "
                    "but a search goes from low up to the largest m; take a larger one"
                )
        if self.target is None:
            return self
        for cell in self.cells():
            oracle = known(cell.task)[0]
            if self.target < oracle:
                where = f"{self.axis} = {cell.labels[self.axis]:g}"
                raise ValueError(
                    f"target = {self.target:g} was given, but at {where} the oracle's risk is "
                    f"{oracle:.4g}; take a larger one, or none for oracle + excess"
                )
        return self

    def cell(self, name: str, labels: Mapping[str, Any], changes: Mapping[str, Any], **more: Any) -> Cell:
        """The cell of an arm, with the search of its m*."""
        cap = self.arms[name].largest_m or self.sizes.cap
        search = Search(self.sizes.low, cap, self.sizes.resolution)
        return super().cell(name, labels, changes, search=search, risk=True, **more)

    def goal(self, cell: Cell) -> float:
        return self.target if self.target is not None else known(cell.task)[0] + self.excess

    def comparable(self, cell: Cell) -> bool:
        """Whether the target is out of a linear filter's reach; elsewhere a comparison is meaningless."""
        return self.goal(cell) <= TELLING * known(cell.task)[1]

    def pictures(self) -> dict[str, str]:
        """Inputs of the sizes that were run."""
        return signals(list(self.cells())[-1].task)

    def beside(self, cell: Cell) -> dict[str, Any]:
        """What a linear filter reaches."""
        return {"linear filter": known(cell.task)[1]}


class AxisStudy(SignalStudy):
    """Sample complexity along one field of the task."""

    needed: ClassVar[tuple[str, ...]] = (CNN, LCN, FCN, ROTATED)
    field: ClassVar[str]
    """The field of the task that varies."""
    axis_title: ClassVar[str]

    arms: dict[str, Arm] = Field(default_factory=contestants, validate_default=True)
    values: tuple[float, ...]
    seeds: int = Field(10, ge=1, le=10_000)

    _increasing = increasing("values", count=2, above=None, example="[10, 20, 30]")

    def cells(self) -> Iterator[Cell]:
        """Every value of the field, with all arms."""
        for value in self.values:
            shown = int(value) if value == int(value) else value  # 10 in tables, not 10.0
            for name in self.arms:
                yield self.cell(name, {self.axis: shown}, {self.field: value})

    def judge(self, table: pd.DataFrame) -> Judgement:
        return Judgement(self.judged(table, CNN), self.judged(table, ROTATED))

    def judged(self, table: pd.DataFrame, contestant: str) -> Evidence:
        """The criterion, with this arm as the CNN; *vacuous* where no target is informative."""
        cnn, lcn = self.paired(table, contestant, LCN)
        if len(lcn) < 2:
            return Evidence(
                "vacuous", {"values where the target is out of a linear filter's reach": len(lcn)}
            )
        left = [f"{value:g}" for value in self.values if value not in lcn]
        left_out: dict[str, Number] = {}
        if left:
            left_out[f"left out, as a linear filter gets there: {self.axis}"] = ", ".join(left)
        ordered = list(self.ratios(lcn, cnn, f"LCN over {contestant}", self.thresholds["LCN over CNN"]))
        if FCN in self.arms:
            ordered += self.ratios(
                *self.paired(table, FCN, LCN), "FCN over LCN", self.thresholds["FCN over LCN"]
            )
        return worst(*self.growth(cnn, lcn), *ordered, Evidence("consistent", left_out))

    def growth(self, cnn: Found, lcn: Found) -> list[Evidence]:
        """What the criterion says about m* along the axis; here nothing, the factor's change is reported."""
        first, last = min(lcn), max(lcn)
        change = factor_change(cnn, lcn, first, last)
        return [Evidence("consistent", {f"factor at {self.axis} = {last:g} over {first:g}": change})]

    def ratios(self, more: Found, less: Found, pair: str, least: float) -> Iterator[Evidence]:
        """At every value one takes more than ``least`` times the examples of the other."""
        for value, found in more.items():
            yield above(least, ratio(found, less[value]), f"m* of {pair} at {self.axis} = {value:g}")

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """m* with theory's rates, and the learning curves behind it."""
        drawn, arms = self.drawn(table), list(self.needed)
        return {
            "Examples needed": complexities(
                drawn, title="Examples until the risk falls to its target",
                x_title=self.axis_title, arms=arms, controls=[ROTATED],
                theory=self.theory(drawn) if self.field in RATED else None,
            ),
            "Risk": risk_curves(table, "; more examples where the search looked", self.axis, arms, [ROTATED]),
        }  # fmt: skip

    def theory(self, drawn: pd.DataFrame) -> pd.DataFrame:
        """Theory's rates over the measurements, scaled to their geometric mean; none without any m*."""
        lines = []
        tasks = {cell.labels[self.axis]: cell.task for cell in self.cells()}
        for arm, rates in RATES.items():
            if arm not in self.arms:
                continue
            reached = drawn[(drawn["arm"] == arm) & drawn["m"].notna()] if len(drawn) else drawn
            for name, formula in rates.items() if len(reached) else ():
                sizes = {x: rate(name, task.patches, task.patch_dim, task.sigma) for x, task in tasks.items()}
                scale = np.exp(np.mean(np.log(reached["m"]) - np.log([sizes[x] for x in reached["x"]])))
                lines += [(arm, x, scale * size, formula) for x, size in sizes.items()]
        return pd.DataFrame(lines, columns=["arm", "x", "y", "label"])
