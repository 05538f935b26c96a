"""Section 5: searching for the order of the bits, when it is unknown which ones are neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import comb, log
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, field_validator, model_validator

from whyconv.lazy import np, pd
from whyconv.measure.intervals import mean_interval, paired_difference
from whyconv.networks import NetworkField
from whyconv.networks.window import CNN
from whyconv.papers.malach.pictures import figure2
from whyconv.report.charts import curves
from whyconv.studies import Cell, Judgement, Point, Study, increasing
from whyconv.studies.answers import LOCALITY, Answer, in_effort, in_tries
from whyconv.studies.grid import changed
from whyconv.trial import Row
from whyconv.verdict import Evidence, Number, above, below, worst

if TYPE_CHECKING:
    from whyconv.measure.intervals import Interval

RANDOM, CLIMB, GREEDY = "random orders", "hill climbing", "greedy on correlations"
STRATEGIES = {RANDOM: "random", CLIMB: "climb", GREEDY: "greedy"}
GUIDED = (CLIMB, GREEDY)
PARITY, MAJORITY, EXACTLY_ONE = "parity", "majority", "exactly one"


class ArchitectureSearch(Study, name="malach.architecture-search"):
    """Evaluations of a search for the bits' order: blind for parity, guided where single bits help.

    Of all orders a share of (n-k+1) / C(n,k) puts the k bits of the target next to each other, so blind
    guessing takes C(n,k) / (n-k+1) evaluations on average. An order whose windows miss them gives a network
    no signal of parity (claim ``malach.nas``), so no search can know it is getting closer. For contrast:
    majority, the sign of a sum of single bits, for which almost any order will do; and *exactly one* (of the
    k bits is +1), for which the order matters and single bits reveal it.
    """

    says: ClassVar[str] = (
        "no architecture search algorithm can help in solving the k-pattern problem (section 5)"
    )
    reference: ClassVar[str] = "Malach & Shalev-Shwartz, section 5"
    title: ClassVar[str] = "Can a search find the order of the bits?"
    met: ClassVar[str] = "Searching for the order of the bits is blind for parity."
    unmet: ClassVar[str] = "A search for the order of the bits is not blind for parity."
    criterion: ClassVar[str] = (
        "For parity, all n together, 95 % intervals: random orders need C(n,k)/(n-k+1) evaluations to within "
        "a factor of 2, and no other strategy helps by that factor (the log of the ratio of evaluations, "
        "seed by seed, lies below log 2)."
    )
    broken: ClassVar[str] = (
        "exactly one (of the k bits is +1) in place of parity: single bits reveal the order, so the greedy "
        "strategy helps."
    )
    lost: ClassVar[str] = "the search is not blind there, as it must not be"
    rule: ClassVar[str] = (
        "One evaluation trains a CNN with 20 steps of gradient descent; a search succeeds when the error on "
        "held-out examples is at most 5 %, and is cut off after 20 C(n,k)/(n-k+1) evaluations (counted as "
        "if it had succeeded then). Majority, for which almost any order will do, is shown for contrast."
    )
    thresholds: ClassVar[Mapping[str, float]] = {"factor": 2.0}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"first_seed": 1000},
        "paper": {"n_bits": [8, 12, 16, 24, 32, 48], "seeds": 40, "first_seed": 1000},
    }

    seeds: int = Field(20, ge=1, le=10_000)
    n_bits: tuple[int, ...] = (8, 16, 24)
    k_window: int = Field(3, ge=1, le=8)
    network: NetworkField = Field(
        default_factory=lambda: {"name": "cnn", "filters": 256}, validate_default=True
    )
    m: int = Field(2560, ge=2, le=1_000_000)

    @field_validator("network")
    @classmethod
    def _windows(cls, network: Any) -> Any:
        if not isinstance(network, CNN) or network.stride != 1:
            raise ValueError("the network must be cnn, lcn or partly-shared with stride 1")
        return network

    _increasing = increasing("n_bits", example="[8, 16, 24]")

    @model_validator(mode="after")
    def _fits(self) -> ArchitectureSearch:
        if self.k_window > self.n_bits[0]:
            raise ValueError(f"k_window = {self.k_window} bits do not fit into n_bits = {self.n_bits[0]}")
        return self

    def blind(self, n_bits: int) -> float:
        """C(n,k) / (n-k+1): the mean number of random orders until one puts the target's bits together."""
        return comb(n_bits, self.k_window) / (n_bits - self.k_window + 1)

    def targets(self) -> dict[str, dict[str, Any]]:
        ones = [bin(window).count("1") for window in range(2**self.k_window)]
        table = [1 if count == 1 else -1 for count in ones]
        return {
            PARITY: {"target": "parity"},
            MAJORITY: {"target": "majority"},
            EXACTLY_ONE: {"target": "table", "table": table},
        }

    def cells(self) -> Iterator[Cell]:
        """Every strategy on every target at every n."""
        network = changed(self.network, {"k_window": self.k_window})
        for target, asked in self.targets().items():
            for n in self.n_bits:
                task = {"name": "k-junta", "n_bits": n, "k_window": self.k_window, **asked}
                for arm, strategy in STRATEGIES.items():
                    learner = {"name": "order-search", "strategy": strategy, "target_error": 0.05}
                    learner |= {"evaluations": round(20 * self.blind(n))}
                    labels = {"arm": arm, "target": target, "n": n}
                    yield Cell(labels, task, learner, network, self.m, self.repetitions())

    def table(self, points: Sequence[Point], rows: Mapping[str, Row]) -> pd.DataFrame:
        """One line per trial, with the evaluations in units of blind guessing."""
        table = super().table(points, rows)
        if len(table):
            table["in_blind_searches"] = table["evaluations"] / table["n"].map(self.blind)
        return table

    def on(self) -> str:
        return f"parity of {self.k_window} hidden bits"

    def answers(self, table: pd.DataFrame) -> list[Answer]:
        """What knowing the order saves at the largest n, and what guidance saves, all n together."""
        part = table[table["target"] == PARITY] if len(table) else table
        if part.empty:
            return []
        last = self.n_bits[-1]
        found, blind = [], part[(part["arm"] == RANDOM) & (part["n"] == last)]["evaluations"]
        if len(blind):
            known, where = "a known order", f"at n = {last}"
            found.append(in_tries(LOCALITY, blind, "evaluations", known, RANDOM, self.on(), where))
        by_place = part.set_index(["n", "seed"])
        for arm in GUIDED:
            blind, guided = (by_place[by_place["arm"] == name]["evaluations"] for name in (RANDOM, arm))
            if not blind.index.intersection(guided.index).empty:
                where = f"n = {self.n_bits[0]} to {last}"
                both = (RANDOM, blind), (arm, guided)
                found.append(in_effort(f"guidance ({arm})", *both, "evaluations", self.on(), where))
        return found

    def judge(self, table: pd.DataFrame) -> Judgement:
        return Judgement(self._judged(table, PARITY), self._judged(table, EXACTLY_ONE))

    def _judged(self, table: pd.DataFrame, target: str) -> Evidence:
        factor = self.thresholds["factor"]
        needed, gains = self._needed(table, target), {arm: self._gain(table, target, arm) for arm in GUIDED}
        numbers: dict[str, Number] = {_evaluations(MAJORITY): self._needed(table, MAJORITY)}
        return worst(
            above(1 / factor, needed, _evaluations(target)),
            below(factor, needed, _evaluations(target)),
            *(
                below(log(factor), gain, f"{target}, log of {RANDOM} over {arm}")
                for arm, gain in gains.items()
            ),
            Evidence("consistent", numbers),
        )

    def _needed(self, table: pd.DataFrame, target: str) -> Interval:
        """Evaluations of random orders in units of blind guessing, all n pooled."""
        chosen = table[(table["arm"] == RANDOM) & (table["target"] == target)]
        return mean_interval(chosen["in_blind_searches"])

    def _gain(self, table: pd.DataFrame, target: str, arm: str) -> Interval:
        """The log of random orders' evaluations over those of another strategy, paired by n and seed."""
        part = table[table["target"] == target].set_index(["n", "seed"])
        logs = np.log(part["evaluations"].astype(float))
        return paired_difference(logs[part["arm"] == RANDOM], logs[part["arm"] == arm])

    def pictures(self) -> dict[str, str]:
        """The paper's Figure 2: a k-pattern."""
        return figure2()

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """Evaluations against n, one chart per target, with blind guessing beside them."""
        charts = {}
        theory = pd.DataFrame(
            [
                {"arm": "C(n,k)/(n-k+1)", "n": n, "evaluations": self.blind(n), "seed": seed}
                for n in self.n_bits
                for seed in range(2)
            ]
        )
        for target in self.targets():
            part = table[table["target"] == target] if len(table) else table
            drawn = pd.concat([part, theory]) if len(part) else part
            charts[f"Evaluations, {target}"] = curves(
                drawn, "n", "evaluations", title=f"Evaluations until the order is found, {target} of "
                f"{self.k_window} bits", x_title="bits n", y_title="evaluations", log_x=True, log_y=True,
                y_domain=(0.8, 25 * self.blind(self.n_bits[-1])), controls=["C(n,k)/(n-k+1)"],
            )  # fmt: skip
        return charts


def _evaluations(target: str) -> str:
    return f"{target}, {RANDOM}, in C(n,k)/(n-k+1)"
