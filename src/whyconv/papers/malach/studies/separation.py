"""The computational separation on bits: gradient descent with windows, without, and with the wrong ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import log2
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, field_validator

from whyconv.lazy import np, pd
from whyconv.measure.intervals import mean_interval
from whyconv.networks import NetworkField
from whyconv.papers.malach.pictures import figure2
from whyconv.report.charts import curves
from whyconv.spec import build
from whyconv.studies import Cell, Judgement, increasing
from whyconv.studies.grid import changed
from whyconv.studies.tuned import TunedStudy
from whyconv.verdict import Evidence, Number, worst

if TYPE_CHECKING:
    from whyconv.measure.intervals import Interval

CNN, LCN, FCN = "CNN", "LCN", "FCN"
HIDDEN = "CNN, hidden order"
MAJORITY, BIASED = "FCN, majority", "FCN, biased bits"
CHANCE, STEEPEST, MORE = 0.4, 6.0, 2.0
"""A chance-level error; the largest power of n called moderate; the FCN's operations over the CNN's."""


class Separation(TunedStudy, name="malach.separation"):
    """Gradient descent learns parity of log n neighbouring bits with windows; without, only at small n.

    The target is the parity of k = log2(n) neighbouring bits, the hardest k-pattern; D is uniform. The
    sample grows like n, and CNN and FCN have the same number of parameters, q (n + 2). Each network is
    trained by full-batch gradient descent on the hinge loss until its error on held-out examples is 10 %.
    Operations are those of the plain network, in closed form, whatever form was run.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Theorems 4 and 12"
    title: ClassVar[str] = "Windows make parity of log n bits learnable by gradient descent"
    criterion: ClassVar[str] = (
        "With every seed, CNN and LCN reach 10 % error at every n, and their operations grow like a power of "
        "n whose 95 % interval lies below 6; with every seed the FCN reaches it at the smallest n. At the "
        "largest n the FCN reaches it with no seed, after at least twice the CNN's operations and without "
        "having fitted its sample (else undecided), and the 95 % interval of its test error lies above 0.4; "
        "yet there it learns majority, and parity of biased bits, with every seed."
    )
    broken: ClassVar[str] = (
        "the CNN on the same examples with the bits in a hidden order: its windows miss the pattern, so it "
        "must lose its advantage."
    )
    rule: ClassVar[str] = (
        "The target is reached when the error on held-out examples is at most 10 % and the test error at "
        "most 12 %. Full-batch gradient descent, hinge loss, biases not trained; CNN and LCN from the "
        "theorem's start, FCN from N(0, 1/n). Step sizes are tuned for every network and n by the same rule. "
        "Theorem 12 is about the population gradient at the start; the gradient of a finite sample is noisy, "
        "and with that noise an FCN can learn parities in n^O(k) steps (Barak et al. 2022), so small n are "
        "learned."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {
            "n_bits": [8, 16, 32, 64, 128], "budget": 1000, "tuning_seeds": 3, "seeds": 10,
            "rates": [0.1, 0.3, 1, 3, 10, 30, 100],
            "arms.CNN.filters": 1024, "arms.LCN.filters": 1024, "arms.FCN.filters": 1024,
        },
    }  # fmt: skip

    rates: tuple[float, ...] = (0.3, 3.0, 30.0)
    budget: int = Field(200, ge=1, le=1_000_000)
    n_bits: tuple[int, ...] = (8, 16, 32, 64)
    examples_per_bit: int = Field(384, ge=1, le=100_000)
    bias: float = Field(0.9, gt=0, lt=1)
    arms: dict[str, NetworkField] = Field(
        default_factory=lambda: {
            CNN: {"name": "cnn", "filters": 512},
            LCN: {"name": "lcn", "filters": 512},
            FCN: {"name": "fcn", "filters": 512},
        },
        validate_default=True,
    )

    _increasing = increasing("n_bits", count=2, above=1, example="[8, 16, 32]")

    @field_validator("arms")
    @classmethod
    def _complete(cls, arms: dict[str, Any]) -> dict[str, Any]:
        for name in (CNN, LCN, FCN):
            if name not in arms:
                raise ValueError(f"the arm {name!r} is missing, but the criterion needs it")
        return arms

    def cells(self) -> Iterator[Cell]:
        """The arms on parity at every n; the contrasts and the control beside them."""
        for n in self.n_bits:
            k, m = round(log2(n)), self.examples_per_bit * n
            fields = {"n_bits": n, "k_window": k}
            task = build("task", {"name": "k-pattern", **fields})
            arms = {
                name: changed(network, {"k_window": k} if "k_window" in type(network).model_fields else {})
                for name, network in self.arms.items()
            }
            for name, network in arms.items():
                yield self.cell({"arm": name, "n": n}, task, network, m)
            yield self.cell(
                {"arm": HIDDEN, "n": n}, build("task", {"name": "k-junta", **fields}), arms[CNN], m
            )
            yield self.cell({"arm": MAJORITY, "n": n}, changed(task, {"target": "majority"}), arms[FCN], m)
            biased = changed(task, {"law": "biased", "mean": self.bias})
            yield self.cell({"arm": BIASED, "n": n}, biased, arms[FCN], m)

    def judge(self, table: pd.DataFrame) -> Judgement:
        rows = self.measured(table)
        return Judgement(self._judged(rows, CNN), self._judged(rows, HIDDEN))

    def _judged(self, rows: pd.DataFrame, contestant: str) -> Evidence:
        """With windows, without them, and the operations spent; each part may fail."""
        return worst(self._with_windows(rows, contestant), self._without(rows), self._spent(rows, contestant))

    def _with_windows(self, rows: pd.DataFrame, contestant: str) -> Evidence:
        """CNN and LCN reach the target everywhere, with operations that grow like a moderate power of n."""
        shares = {
            f"share of seeds at the target, {arm}": self._by_n(rows, arm, "reached", "{:.2g}")
            for arm in (contestant, LCN)
        }
        everywhere = all(
            _cell(rows, arm, n)["reached"].all() for arm in (contestant, LCN) for n in self.n_bits
        )
        powers = {arm: self._power(rows, arm) for arm in (contestant, LCN)}
        numbers: dict[str, Number] = {**shares}
        numbers |= {f"operations grow like n to the power, {arm}": power for arm, power in powers.items()}
        if not everywhere or any(interval.low > STEEPEST for interval in powers.values()):
            return Evidence("fails", numbers)
        moderate = all(interval.high < STEEPEST for interval in powers.values())
        return Evidence("consistent" if moderate else "undecided", numbers)

    def _without(self, rows: pd.DataFrame) -> Evidence:
        """The FCN learns at the smallest n and is at chance at the largest, where it learns other targets."""
        smallest, largest = self.n_bits[0], self.n_bits[-1]
        last = _cell(rows, FCN, largest)
        error, fitted = mean_interval(last["test_error"]), float((last["stopped"] == "loss").mean())
        numbers: dict[str, Number] = {
            f"share of seeds at the target, {arm}": self._by_n(rows, arm, "reached", "{:.2g}")
            for arm in (FCN, MAJORITY, BIASED)
        }
        numbers[f"test error, FCN, n={largest}"] = error
        numbers[f"share of seeds that fitted their sample, FCN, n={largest}"] = fitted
        learns = [_cell(rows, FCN, smallest), _cell(rows, MAJORITY, largest), _cell(rows, BIASED, largest)]
        if not all(cell["reached"].all() for cell in learns) or last["reached"].any() or error.high < CHANCE:
            return Evidence("fails", numbers)
        return Evidence("consistent" if error.low > CHANCE and not fitted else "undecided", numbers)

    def _spent(self, rows: pd.DataFrame, contestant: str) -> Evidence:
        """At the largest n the FCN spent at least twice the operations of the network with windows."""
        largest = self.n_bits[-1]
        given = _cell(rows, FCN, largest)["train_flops"].min()
        needed = _cell(rows, contestant, largest)["train_flops"].mean()
        numbers: dict[str, Number] = {}
        for arm in (contestant, LCN, FCN):
            numbers[f"steps, {arm}"] = self._by_n(rows, arm, "steps_taken", "{:.3g}")
            numbers[f"operations, {arm}"] = self._by_n(rows, arm, "train_flops", "{:.2g}")
            numbers[f"step size, {arm}"] = self._by_n(rows, arm, "rate", "{:.3g}", bounds=False)
        numbers[f"operations of FCN over {contestant}, n={largest}"] = float(given / needed)
        return Evidence("consistent" if given >= MORE * needed else "undecided", numbers)

    def _power(self, rows: pd.DataFrame, arm: str) -> Interval:
        """The slope of log operations on log n, seed by seed."""
        part = rows[rows["arm"] == arm]
        return mean_interval(
            float(np.polyfit(np.log(each["n"]), np.log(each["train_flops"]), 1)[0])
            for _, each in part.groupby("seed")
        )

    def _by_n(self, rows: pd.DataFrame, arm: str, column: str, shape: str, bounds: bool = True) -> str:
        """Means by n; marked as lower bounds where some seeds were cut off."""
        means = []
        for n in self.n_bits:
            part = _cell(rows, arm, n)
            bound = "" if not bounds or column == "reached" or part["reached"].all() else "> "
            means.append(f"{n}: {bound}{shape.format(float(part[column].mean()))}")
        return ", ".join(means)

    def pictures(self) -> dict[str, str]:
        """The paper's Figure 2: a k-pattern."""
        return figure2()

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        rows = self.measured(table)
        parity = rows[rows["arm"].isin([*self.arms, HIDDEN])] if len(rows) else rows
        shared: dict[str, Any] = {
            "x_title": "bits n; the pattern has log2(n) of them", "log_x": True, "controls": [HIDDEN],
            "arms": [*self.arms, HIDDEN, MAJORITY, BIASED],
        }  # fmt: skip
        return {
            "Steps to 10 % error": curves(
                parity, "n", "steps_taken", title="Steps of gradient descent to 10 % error, parity",
                y_title="steps", log_y=True, y_domain=(0.8, 1.6 * self.budget),
                ceiling=(self.budget, f"not reached within {self.budget:,} steps"), **shared,
            ),
            "Test error": curves(
                rows, "n", "test_error", title="Test error at the end of training", y_title="test error",
                y_domain=(0.0, 0.6), **shared,
            ),
            "Operations": curves(
                parity, "n", "train_flops", log_y=True, y_title="floating-point operations",
                title="Operations to 10 % error, parity; a lower bound where it is not reached", **shared,
            ),
        }  # fmt: skip


def _cell(rows: pd.DataFrame, arm: str, n: int) -> pd.DataFrame:
    """The lines of one arm at one n."""
    return rows[(rows["arm"] == arm) & (rows["n"] == n)]
