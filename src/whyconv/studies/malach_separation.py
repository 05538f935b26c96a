"""The computational separation on bits: gradient descent with windows, without, and with the wrong ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import log2
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, field_validator

from whyconv.networks import NetworkField
from whyconv.spec import build
from whyconv.studies import Judgement
from whyconv.studies._grid import changed, worst
from whyconv.studies._tuned import Cell, TunedStudy
from whyconv.verdict import Evidence, Number

if TYPE_CHECKING:
    import pandas as pd

CNN, LCN, FCN = "CNN", "LCN", "FCN"
HIDDEN = "CNN, hidden order"
MAJORITY, BIASED = "FCN, majority", "FCN, biased bits"
CHANCE = 0.4


class Separation(TunedStudy, name="malach.separation"):
    """Gradient descent learns parity of log n neighbouring bits with windows; without, only at small n.

    The target is the parity of k = log2(n) neighbouring bits, the hardest k-pattern; D is uniform. Each
    network is trained by full-batch gradient descent on the hinge loss until its error on held-out
    examples is 10 %. Operations are those of the plain network, in closed form, whatever form was run.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Theorems 4 and 12"
    title: ClassVar[str] = "Windows make parity of log n bits learnable by gradient descent"
    criterion: ClassVar[str] = (
        "With every seed, CNN and LCN reach 10 % error at every n; with every seed the FCN reaches it at the "
        "smallest n; at the largest n the FCN reaches it with no seed, its mean test error has a 95 % "
        "interval above 0.4, and yet with every seed it learns majority, and parity of biased bits, there."
    )
    broken: ClassVar[str] = (
        "the CNN on the same examples with the bits in a hidden order: its windows miss the pattern, so it "
        "must lose what it had."
    )
    rule: ClassVar[str] = (
        "Full-batch gradient descent, hinge loss, biases not trained; CNN and LCN from the theorem's start, "
        "FCN from N(0, 1/n). Step sizes are tuned for every network and n with the same grid, seeds and "
        "budget. Theorem 12 speaks of the population's gradient at the start. With a finite sample and a "
        "tuned, large step the FCN does learn n = 32 (k = 5) with most seeds; chance begins at n = 64."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {},
        "paper": {"n_bits": [8, 16, 32, 64, 128], "m": 16384, "budget": 1000, "tuning_seeds": 3, "seeds": 10,
                  "rates": [0.1, 0.3, 1, 3, 10, 30]},
    }  # fmt: skip

    n_bits: tuple[int, ...] = (8, 16, 32, 64)
    target: str = "parity"
    bias: float = Field(0.8, gt=0, lt=1)
    arms: dict[str, NetworkField] = Field(
        default_factory=lambda: {
            CNN: {"name": "cnn", "filters": 1024},
            LCN: {"name": "lcn", "filters": 1024},
            FCN: {"name": "fcn", "filters": 512},
        },
        validate_default=True,
    )

    @field_validator("n_bits")
    @classmethod
    def _powers(cls, n_bits: tuple[int, ...]) -> tuple[int, ...]:
        if not n_bits or min(n_bits) < 2 or list(n_bits) != sorted(set(n_bits)):
            raise ValueError("n_bits must be a list of increasing numbers of bits, as in [8, 16, 32]")
        return n_bits

    @field_validator("arms")
    @classmethod
    def _complete(cls, arms: dict[str, Any]) -> dict[str, Any]:
        for name in (CNN, LCN, FCN):
            if name not in arms:
                raise ValueError(f"the arm {name!r} is missing, and the criterion needs it")
        return arms

    def cells(self) -> Iterator[Cell]:
        """The arms on parity at every n; the contrasts and the control beside them."""
        for n in self.n_bits:
            k = round(log2(n))
            fields = {"n_bits": n, "k_window": k, "target": self.target}
            task = build("task", {"name": "k-pattern", **fields})
            arms = {
                name: changed(network, {"k_window": k} if "k_window" in type(network).model_fields else {})
                for name, network in self.arms.items()
            }
            for name, network in arms.items():
                yield Cell({"arm": name, "n": n}, task, network)
            yield Cell({"arm": HIDDEN, "n": n}, build("task", {"name": "k-junta", **fields}), arms[CNN])
            yield Cell({"arm": MAJORITY, "n": n}, changed(task, {"target": "majority"}), arms[FCN])
            biased = changed(task, {"law": "biased", "mean": self.bias})
            yield Cell({"arm": BIASED, "n": n}, biased, arms[FCN])

    def judge(self, table: pd.DataFrame) -> Judgement:
        """The criterion, with the CNN and with its control."""
        rows = self.measured(table)
        return Judgement(self._judged(rows, CNN), self._judged(rows, HIDDEN))

    def _judged(self, rows: pd.DataFrame, contestant: str) -> Evidence:
        from whyconv.measure.intervals import mean_interval

        smallest, largest = self.n_bits[0], self.n_bits[-1]

        def reached(arm: str, n: int) -> float:
            return float(rows[(rows["arm"] == arm) & (rows["n"] == n)]["reached"].mean())

        windows = {f"{arm}, n={n}": reached(arm, n) for arm in (contestant, LCN) for n in self.n_bits}
        learns = {
            f"{FCN}, n={smallest}": reached(FCN, smallest),
            **{f"{arm}, n={largest}": reached(arm, largest) for arm in (MAJORITY, BIASED)},
        }
        last = rows[(rows["arm"] == FCN) & (rows["n"] == largest)]
        error = mean_interval(last["test_error"])
        stuck = reached(FCN, largest) == 0 and error.low > CHANCE
        learnt = reached(FCN, largest) == 1 or error.high < CHANCE
        numbers: dict[str, Number] = {
            f"share of seeds at the target, {place}": share for place, share in {**windows, **learns}.items()
        }
        numbers |= {f"steps, {arm}": self._steps(rows, arm) for arm in (contestant, LCN, FCN)}
        numbers |= {f"operations, {arm}": self._operations(rows, arm) for arm in (contestant, LCN, FCN)}
        everywhere = min(windows.values()) == 1 and min(learns.values()) == 1
        return worst(
            Evidence("consistent" if everywhere else "fails", numbers),
            Evidence(
                "consistent" if stuck else "fails" if learnt else "undecided",
                {f"share of seeds at the target, FCN, n={largest}": reached(FCN, largest),
                 f"test error, FCN, n={largest}": str(error)},
            ),
        )  # fmt: skip

    def _steps(self, rows: pd.DataFrame, arm: str) -> str:
        """Mean steps by n; a lower bound where some seeds were cut off."""
        return self._by_n(rows, arm, "steps_taken", "{:.3g}")

    def _operations(self, rows: pd.DataFrame, arm: str) -> str:
        return self._by_n(rows, arm, "train_flops", "{:.2g}")

    def _by_n(self, rows: pd.DataFrame, arm: str, column: str, shape: str) -> str:
        told = []
        for n in self.n_bits:
            part = rows[(rows["arm"] == arm) & (rows["n"] == n)]
            bound = "" if part["reached"].all() else "> "
            told.append(f"{n}: {bound}{shape.format(part[column].mean())}")
        return ", ".join(told)

    def pictures(self) -> dict[str, str]:
        """The paper's Figure 2: a k-pattern."""
        from whyconv.report.k_pattern_picture import figure2

        return figure2()

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """Steps, test error and operations against n."""
        from whyconv.report.charts import curves

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
