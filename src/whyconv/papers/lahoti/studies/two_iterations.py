"""Where Lahoti et al. may break: gradient descent that has not converged after two iterations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any, ClassVar

from pydantic import Field, field_validator

from whyconv.lazy import pd
from whyconv.measure.intervals import mean_interval, paired_difference
from whyconv.papers.lahoti.exact.rates import rate
from whyconv.papers.lahoti.pictures import problem as signals
from whyconv.report.charts import curves
from whyconv.studies import Cell, Judgement, Study
from whyconv.studies.answers import Answer, in_outcome
from whyconv.studies.grid import by_seed, selected
from whyconv.verdict import Evidence, above, within, worst

Place = tuple[int, int, float]
"""(k, d, sigma sqrt(k))."""
NETWORKS = {"CNN": "lsa-cnn", "LCN": "lsa-lcn"}
TWO = 2
"""How many iterations the analysis has."""


class TwoIterations(Study, name="lahoti.two-iterations"):
    """Alignment and risk of the two-step algorithm after one, two, three and more iterations.

    m = 4 times the rates sigma^2 (k+d) ln(kd) of the CNN and sigma^2 k (k+d) ln(kd) of the LCN. Iterations
    after the second repeat it on the same half of the examples. Alignment: the mean over patches of the
    cosine between filter and signal. At other multiples of the rate (``factor``) the same is measured.
    """

    reference: ClassVar[str] = (
        'Lahoti et al., failure signatures of a summary: "if gradient descent does not converge within two '
        'iterations, the analysis breaks down" (reconstructed)'
    )
    title: ClassVar[str] = "Are two iterations of gradient descent enough?"
    met: ClassVar[str] = "Two iterations are enough."
    unmet: ClassVar[str] = "Two iterations are not enough."
    says: ClassVar[str] = (
        '"If gradient descent does not converge within two iterations, the analysis breaks down" (failure '
        "signatures of a summary of the paper)."
    )
    criterion: ClassVar[str] = (
        "95 % intervals, for both networks at every place: from two iterations to the largest number, "
        "alignment and risk change by less than 0.05 (paired), and the alignment after two lies above 0.25."
    )
    broken: ClassVar[str] = (
        "one iteration in place of two if these are enough, three if they are not: the same criterion must "
        "then say otherwise."
    )
    lost: ClassVar[str] = "does not pass, as it must not"
    rule: ClassVar[str] = (
        "Loss -y f, two halves of the examples, filters in the unit ball; threshold and step sizes as quoted "
        "second-hand."
    )
    thresholds: ClassVar[Mapping[str, float]] = {"converged": 0.05, "failure": 0.25}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"first_seed": 20_000, "seeds": 60},
        "paper": {
            "first_seed": 20_000,
            "seeds": 100,
            "places": [[20, 20, 0.5], [30, 10, 0.5], [10, 30, 0.5], [20, 20, 0.25]],
        },
    }
    outcome: ClassVar[str] = "alignment"

    places: tuple[Place, ...] = ((20, 20, 0.5), (10, 30, 0.5), (20, 20, 0.25))
    iterations: tuple[int, ...] = (1, 2, 3, 10)
    factor: float = Field(4.0, gt=0, le=1000)
    seeds: int = Field(20, ge=1, le=10_000)

    @field_validator("iterations")
    @classmethod
    def _one_two_three_more(cls, iterations: tuple[int, ...]) -> tuple[int, ...]:
        rising = list(iterations) == sorted(set(iterations))
        if not rising or len(iterations) < TWO + 2 or iterations[: TWO + 1] != (1, TWO, TWO + 1):
            raise ValueError("iterations must be 1, 2, 3 and larger numbers, increasing, as in [1, 2, 3, 10]")
        return iterations

    def cells(self) -> Iterator[Cell]:
        for number, (k, d, share) in enumerate(self.places, 1):
            sigma = share / k**0.5
            task = {"name": "signal", "patches": k, "patch_dim": d, "sigma": sigma}
            for name, network in NETWORKS.items():
                m = max(2, ceil(self.factor * rate(f"{name.lower()}-upper", k, d, sigma)))
                for steps in self.iterations:
                    labels = {"arm": name, "place": number, "iterations": steps, "m": m}
                    learner = {"name": "two-step", "steps": steps}
                    yield Cell(labels, task, learner, network, m, self.repetitions(), risk=True)

    def on(self) -> str:
        return "signal"

    def answers(self, table: pd.DataFrame) -> list[Answer]:
        """What further iterations add to the alignment, on average over places, network by network."""
        found, last = [], self.iterations[-1]
        for name in NETWORKS if len(table) else ():
            after, before = (
                selected(table, arm=name, iterations=steps).groupby("seed")["alignment"].mean()
                for steps in (last, TWO)
            )
            if not after.index.intersection(before.index).empty:
                both = (f"{name} after {TWO} iterations", before), (f"{name} after {last} iterations", after)
                where = "on average over places"
                found.append(in_outcome("going on", *both, "alignment", self.on(), where))
        return found

    def judge(self, table: pd.DataFrame) -> Judgement:
        found = self._judged(table, TWO)
        return Judgement(found, self._judged(table, TWO + 1 if found.verdict == "fails" else TWO - 1))

    def _judged(self, table: pd.DataFrame, steps: int) -> Evidence:
        last, parts = self.iterations[-1], []
        for number, (k, d, share) in enumerate(self.places, 1):
            for name in NETWORKS:
                where = f"{name}, k = {k}, d = {d}, sigma sqrt(k) = {share:g}"
                for column in ("alignment", "risk"):
                    after, before = (
                        by_seed(table, column, arm=name, place=number, iterations=count)
                        for count in (last, steps)
                    )
                    change = paired_difference(after, before)
                    what = f"{column}, {last} iterations minus {steps}, {where}"
                    parts.append(within(self.thresholds["converged"], 0.0, change, what))
                    if column == "alignment":
                        found = mean_interval(before)
                        parts.append(above(self.thresholds["failure"], found, f"alignment, {steps}, {where}"))
        return worst(*parts)

    def pictures(self) -> dict[str, str]:
        """Inputs of the sizes that were run."""
        return signals(list(self.cells())[-1].task)

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        return {
            column.capitalize(): curves(
                table, "iterations", column, title=f"{column.capitalize()} by iteration",
                x_title="iterations", y_title=column, log_x=True, facet="place", arms=list(NETWORKS),
            )
            for column in ("alignment", "risk")
        }  # fmt: skip
