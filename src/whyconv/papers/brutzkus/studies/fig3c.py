"""Figure 3c: test error against sample size on images of four digits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from whyconv.lazy import pd
from whyconv.measure.intervals import paired_difference, share_interval
from whyconv.papers.brutzkus.digit_picture import figure5
from whyconv.papers.brutzkus.studies.detection_arms import BASELINES, CONV_POOL, MLP, SVM
from whyconv.report.charts import curves
from whyconv.studies import Judgement, only_task
from whyconv.studies.answers import ALL_THREE
from whyconv.studies.grid import Arm, GridStudy, by_seed
from whyconv.studies.images import (
    ROUNDING,
    ImageStudy,
    described,
    permuted,
    shift_panels,
    shuffled,
    started_alike,
    translations,
)
from whyconv.studies.worth import Step
from whyconv.tasks.digit_grid import DigitGrid
from whyconv.tasks.images.catalogue import DIGITS
from whyconv.verdict import Evidence, all_above, within, worst

PERMUTED, PERMUTED_MLP, SHUFFLED = permuted(CONV_POOL), permuted(MLP), shuffled(CONV_POOL)
CONTROLS = (PERMUTED, PERMUTED_MLP, SHUFFLED)


def arms() -> dict[str, Any]:
    """ConvPool, the MLP with as many parameters, the SVM; twins on permuted pixels and shuffled labels."""
    gradient = {"name": "gradient", "epochs": 500}
    pool = {"network": "conv-pool", "learner": gradient}
    return {
        CONV_POOL: pool,
        MLP: {"network": "mlp", "learner": gradient, "matches": CONV_POOL},
        SVM: {"learner": "svm"},
        PERMUTED: {**pool, "task": {"permuted": True}},
        PERMUTED_MLP: {
            "network": {"name": "mlp", "coupled": True}, "learner": gradient, "matches": CONV_POOL,
            "task": {"permuted": True}, "largest_m": 1000,
        },
        SHUFFLED: {**pool, "task": {"shuffled_labels": True}, "largest_m": 1000},
    }  # fmt: skip


class Figure3c(ImageStudy, GridStudy, name="brutzkus.fig3c"):
    """Test error against sample size: a 3 or a 5 among four digits, ConvPool, MLP and SVM."""

    reference: ClassVar[str] = "Brutzkus & Globerson, Figures 3c and 5"
    title: ClassVar[str] = "Does max-pooling find the digit that decides with fewer samples?"
    met: ClassVar[str] = "Max-pooling finds the digit that decides with fewer samples."
    unmet: ClassVar[str] = "Max-pooling is not ahead of both baselines as asked."
    says: ClassVar[str] = (
        "Section 7: 'Results in Fig. 3c again show excellent performance of the pooling model compared to "
        "the baselines'; caption of Figure 3: '(c) Results on an MNIST pattern detection problem.'"
    )
    criterion: ClassVar[str] = (
        "Wherever a baseline still errs on more than 2 % of the test, ConvPool errs less, and from m = 200 "
        "on less than half as often: the 95 % interval of the difference, seed by seed, lies above 0 (at "
        "least two sample sizes per baseline). Both networks have zero training error, and ConvPool trained "
        "on shuffled labels is within 0.1 of chance; the MLP on permuted pixels, with its initial weights "
        "permuted alike, has the MLP's loss in the first epoch up to rounding (1e-4), and its error within "
        "0.03. Shifted tests are not judged."
    )
    broken: ClassVar[str] = (
        "ConvPool on images whose pixels are permuted, in the same way for all images: its windows see no "
        "digits, so it must lose its advantage."
    )
    thresholds: ClassVar[Mapping[str, float]] = {
        "error still judged": 0.02, "half from m": 200, "sizes per baseline": 2, "gap": 0,
        "training error": 0, "chance": 0.5, "from chance": 0.1, "between twins": 0.03, "rounding": ROUNDING,
    }  # fmt: skip
    rule: ClassVar[str] = (
        "Every network: Adam, rate 1e-3, batches of 32, He initialisation, stopped at training loss <= 1e-3 "
        "or after 500 epochs. SVM: hard margin if the sample is proved separable, tuned soft margin "
        "otherwise."
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"m": [50, 200, 1000], f"arms.{SHUFFLED}.largest_m": 200},
        "paper": {"task.images": "mnist"},
        "embedded": {"task.images": "digits", "m": [50, 100, 200, 500, 1000, 2000]},
    }

    needed: ClassVar[tuple[str, ...]] = (CONV_POOL, *BASELINES, *CONTROLS)
    priors: ClassVar[tuple[Step, ...]] = (Step(ALL_THREE, MLP, CONV_POOL),)
    reach: ClassVar[float | None] = 0.1
    own: ClassVar[tuple[str, ...]] = tuple(name for name in ImageStudy.own if name != "shifted_tests")

    task: Annotated[DigitGrid, only_task(DigitGrid)] = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        {"name": "digit-grid", "shifted_tests": [1, 2, 4]}, validate_default=True
    )
    arms: dict[str, Arm] = Field(default_factory=arms, validate_default=True)
    m: tuple[int, ...] = (50, 100, 200, 500, 1000, 2000, 5000, 10_000)

    @model_validator(mode="after")
    def _controls_run(self) -> Figure3c:
        for name in CONTROLS:
            largest = self.arms[name].largest_m
            if largest is not None and largest < self.m[0]:
                raise ValueError(
                    f"the arm {name!r} ends at largest_m = {largest}, but m begins with {self.m[0]}; take a "
                    "smaller m as well, or a larger largest_m"
                )
        return self

    def told_at(self) -> list[dict[str, int]]:
        """The first sample size from which half the error is asked for."""
        return [{"m": m} for m in self.m if m >= self.thresholds["half from m"]][:1]

    def judge(self, table: pd.DataFrame) -> Judgement:
        plain = worst(self._ahead(table, CONV_POOL), self._fitted(table), self._sane(table))
        return Judgement(plain, self._ahead(table, PERMUTED))

    def _ahead(self, table: pd.DataFrame, contestant: str) -> Evidence:
        limit = self.thresholds
        measured = set(table[table["arm"] == contestant]["m"])
        gaps, counts = {}, []
        for baseline in BASELINES:
            errors = {m: by_seed(table, arm=baseline, m=m) for m in self.m if m in measured}
            judged = {m: error for m, error in errors.items() if error.mean() > limit["error still judged"]}
            counts.append(len(judged))
            for m, error in judged.items():
                share, words = (0.5, f"{baseline} / 2") if m >= limit["half from m"] else (1, baseline)
                gap = paired_difference(share * error, by_seed(table, arm=contestant, m=m))
                gaps[f"{words} - {contestant}, m={m}"] = gap
        if min(counts) < limit["sizes per baseline"]:
            why = "no admissible size: a baseline errs on more than 2 % at fewer than two sizes"
            return Evidence("undecided", gaps, why)
        return Evidence(all_above(gaps, limit["gap"]), gaps)

    def _fitted(self, table: pd.DataFrame) -> Evidence:
        trained = float(table[table["arm"].isin([CONV_POOL, MLP])]["train_error"].max())
        return Evidence(
            "consistent" if trained <= self.thresholds["training error"] else "fails",
            {"largest training error of a network": trained},
        )

    def _sane(self, table: pd.DataFrame) -> Evidence:
        """Shuffled labels give chance, and the MLP does not see that pixels were permuted.

        Both averaged over the twin's sample sizes, seed by seed.
        """

        def errors(arm: str, sizes: Iterable[int]) -> pd.Series:
            rows = table[(table["arm"] == arm) & table["m"].isin(sizes)]
            return rows.groupby("seed")["test_error"].mean()

        blind = share_interval(errors(SHUFFLED, self.m))
        limit, sizes = self.thresholds, set(table[table["arm"] == PERMUTED_MLP]["m"])
        same = paired_difference(errors(PERMUTED_MLP, sizes), errors(MLP, sizes))
        return worst(
            within(limit["from chance"], limit["chance"], blind, f"test error, {SHUFFLED}"),
            within(limit["between twins"], 0, same, f"test error, {PERMUTED_MLP} - {MLP}"),
            *(started_alike(table, PERMUTED_MLP, MLP, m=m) for m in sorted(sizes)),
        )

    def unjudged(self) -> str:
        """Other images than digits."""
        if self.task.images in ("mnist", DIGITS):
            return ""
        return f"these images are not digits ({described(self.task).rstrip('.')}); --preset paper is judged"

    def remarks(self) -> str:
        return f"{self.rule} {described(self.task)}"

    def pictures(self) -> dict[str, str]:
        """The paper's Figure 5: images of both classes."""
        return figure5(self.task)

    def tables(self, table: pd.DataFrame) -> dict[str, pd.DataFrame]:
        return translations(table, self.task.shifted_tests, "m")

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        """Error against m, one panel for the test as it is and one per shift."""
        shifts = self.task.shifted_tests
        chart = curves(
            shift_panels(table, shifts), "m", "test_error", title=self.title, x_title="training examples m",
            y_title="test error", log_x=True, facet="test", facet_title="", arms=self.needed,
            controls=CONTROLS,
        )  # fmt: skip
        return {"Figure 3c": chart}
