"""Lahoti et al.: the order of sample complexities, from the risk at sizes that were fixed beforehand.

m*(A) < m*(B) asks for neither of the two: one size m is enough at which A has reached the target and B has
not. Then m*(A) <= m, by definition, and m < m*(B), as far as the expected risk does not rise with m. A search
for both m* measures where risks are near their target, and there lie the runs in which a filter of an LCN has
not found its signal: rare, each worth several standard deviations. Between the two m* such a run decides
less; where there is little room (k = 10, d = 5) the sizes keep away from the LCN's m*, near which such runs
are most frequent.

The sizes are from pilot runs on the recorded seeds of an earlier design, which none of the judged runs uses;
sizes, seeds and rule were written down before these. docs/rates.md has their power.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar, Literal

from pydantic import Field

from whyconv.claims import Claim, Provenance
from whyconv.claims.seeds import offset
from whyconv.lazy import pd
from whyconv.measure.intervals import Interval, mean_interval
from whyconv.papers.lahoti.studies.places import LARGER, Place
from whyconv.papers.lahoti.studies.signal_study import (
    CNN,
    FCN,
    LCN,
    RATED,
    ROTATED,
    SignalField,
    contestants,
    known,
    risk_curves,
)
from whyconv.record import serving
from whyconv.settings import configure
from whyconv.studies import Cell, Judgement, Study
from whyconv.studies.grid import Arm, ArmStudy, selected
from whyconv.verdict import Evidence, Verdict, worst

SIZES: Mapping[Place, tuple[int, int]] = {
    (10, 5, 0.1): (32, 280),
    (10, 20, 0.1): (32, 400),
    (14, 10, 0.1): (32, 400),
}
"""By place (k, d, sigma): a size between the m* of CNN and LCN, and one between those of LCN and FCN."""
EXCESS = 0.03
"""The target is the oracle's risk and this, as in ``lahoti.fcn``."""
FIRST_SEED = 1000
"""Seeds of the recorded set; pilots ran on those from 0 to 239."""


class Between(ArmStudy, name="lahoti.between"):
    """CNN, LCN and FCN at sizes between their sample complexities, at the places of ``lahoti.fcn``."""

    listed: ClassVar[bool] = False
    reference: ClassVar[str] = "Lahoti et al., the separation (reconstructed)"
    title: ClassVar[str] = "Does each network reach the target where the next does not?"
    outcome: ClassVar[str] = "risk"
    criterion: ClassVar[str] = (
        "95 % intervals of the mean risk: at every place the CNN is below the target at a size at which the "
        "LCN is above it, and the LCN at one at which the FCN is above it."
    )
    broken: ClassVar[str] = "the CNN where every patch is rotated by a matrix of its own."
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"quick": {}}
    needed: ClassVar[tuple[str, ...]] = (CNN, LCN, FCN, ROTATED)

    task: SignalField = Field("signal", validate_default=True)  # pyright: ignore[reportIncompatibleVariableOverride]
    arms: dict[str, Arm] = Field(default_factory=lambda: contestants(LARGER), validate_default=True)
    seeds: int = Field(20, ge=2, le=10_000)
    first_seed: int = Field(FIRST_SEED, ge=0, le=10_000_000)
    test_size: int = Field(1500, ge=1, le=1_000_000)

    def cells(self) -> Iterator[Cell]:
        """Every network at both sizes of every place; the control's at the first place alone."""
        for number, (place, sizes) in enumerate(SIZES.items(), 1):
            labels = {"size": number, **dict(zip(("k", "d", "sigma"), place, strict=True))}
            for name in self.arms:
                for m in sizes if name != ROTATED or number == 1 else ():
                    changes = dict(zip(RATED, place, strict=True))
                    yield self.cell(name, {**labels, "m": m}, changes, m=m, risk=True)

    def judge(self, table: pd.DataFrame) -> Judgement:
        return Judgement(self.order(table), self.order(table, ROTATED))

    def order(self, table: pd.DataFrame, first: str = CNN) -> Evidence:
        """Whether ``first`` needs fewer examples than the LCN, and the LCN than the FCN, at every place."""
        names, parts = (first, LCN, FCN), []
        risks: dict[Place, dict[str, dict[int, Interval]]] = {}
        for cell in self.cells():
            k, d, sigma, m = (cell.labels[name] for name in ("k", "d", "sigma", "m"))
            found = selected(table, **cell.labels)["risk"] / (known(cell.task)[0] + EXCESS)
            risks.setdefault((k, d, sigma), {}).setdefault(cell.labels["arm"], {})[m] = mean_interval(found)
        for (k, d, sigma), by_arm in risks.items():
            if {*names} <= by_arm.keys():
                where = f"k = {k}, d = {d}, sigma = {sigma:g}"
                parts += [fewer({name: by_arm[name] for name in pair}, where) for pair in pairwise(names)]
        return worst(*parts)

    def figures(self, table: pd.DataFrame) -> dict[str, Any]:
        return {"Risk": risk_curves(table, "", "size", [CNN, LCN, FCN], [ROTATED])}


def fewer(risks: Mapping[str, Mapping[int, Interval]], where: str) -> Evidence:
    """Whether the first of two networks has reached its target, 1, at a size at which the second has not.

    Shown is the size that decides, or else the one that tells them apart most.
    """
    less, more = risks.values()
    right = [m for m in less if less[m].high < 1 < more[m].low]
    wrong = [m for m in less if more[m].high < 1 < less[m].low]
    verdict: Verdict = "fails" if wrong else "consistent" if right else "undecided"
    told = max(wrong or right or less, key=lambda m: abs(less[m].mean - more[m].mean))
    return Evidence(
        verdict,
        {
            f"risk of {name} over its target, m = {told}, {where}": found[told]
            for name, found in risks.items()
        },
    )


def between(first_seed: int) -> Between:
    """The study on the seeds in force."""
    study: Any = configure("lahoti.between", "quick", {"first_seed": first_seed})
    return study


@cache
def measured(first_seed: int) -> tuple[Between, serving.Measured]:
    """The study and its trials: kept rows where they match, else computed."""
    study = between(first_seed)
    return study, serving.measured(study)


class Ordering(Claim, name="lahoti.ordering"):
    """A CNN needs fewer examples than an LCN, and an LCN fewer than an FCN.

    At three places, 20 seeds each: the mean risk over the target, with its interval, at two sizes that lie
    between the sample complexities by earlier runs. A network needs fewer examples than another if at one of
    the sizes its interval lies below 1 and that of the other above, and more if at one of them it is the
    other way round; at each size this is wrong with a nominal probability of at most 2.5 % (Student's t; runs
    that stay behind, rarer than one in twenty, can be missing from a set). Risks must not rise with m.
    All places and both pairs must agree. How much less is measured by ``lahoti.fcn``.
    """

    reference: ClassVar[str] = "Lahoti et al., the separation"
    provenance: ClassVar[Provenance] = "reconstructed"
    trials: ClassVar[bool] = True
    expected: ClassVar[Verdict] = "consistent"
    broken: ClassVar = "the CNN where every patch is rotated by a matrix of its own"
    unsearched: ClassVar[str] = (
        "a statement about expected risks, estimated by runs of a study: its sets of seeds are "
        "the search (docs/seeds.md)"
    )

    def decide(self, broken: str) -> Evidence:
        study, found = measured(FIRST_SEED + offset())
        return study.order(found.table, ROTATED if broken else CNN)

    @classmethod
    def measures(cls) -> Study:
        return between(FIRST_SEED)

    @classmethod
    def origin_of_rows(cls) -> Literal["kept", "computed"]:
        return measured(FIRST_SEED + offset())[1].origin
