"""Lahoti et al.: the rates of the theorems against measured sample complexity.

The claims on rates judge like ``lahoti.rates``, by the exponents of m* in k, d and sigma
(:mod:`whyconv.papers.lahoti.studies.rivals`), on a part of that study that a check has time for: tuned descent
only, fewer seeds. Its intervals are too wide to be inside of what a rate allows (docs/rates.md has the power
by simulation), so a rate that is not contradicted is *undecided* here; ``whyconv run lahoti.rates`` decides,
and also measures the two-step algorithm that the upper bounds are proved for. What agrees is *consistent*,
never *holds*: growth on a finite range cannot prove a bound. The statements are reconstructed from second-hand
text. ``patches`` = k, ``patch_dim`` = d.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from whyconv.claims import Claim, Provenance
from whyconv.lazy import pd
from whyconv.papers.lahoti.exact.rates import RATES, Rate
from whyconv.papers.lahoti.studies.rates import SETTINGS
from whyconv.papers.lahoti.studies.rivals import Kind
from whyconv.papers.lahoti.studies.signal_study import CNN, FCN, LCN, ROTATED
from whyconv.runner.coordinator import complete
from whyconv.settings import configure
from whyconv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from whyconv.papers.lahoti.studies.fcn import FullyConnected
    from whyconv.papers.lahoti.studies.rates import Rates

SEEDS = {CNN: 6, LCN: 5, FCN: 5}
COMMAND = "whyconv run lahoti.rates"


def part() -> Rates:
    """What a check has time for: tuned descent, with fewer seeds and coarser searches."""
    arms = {
        name: {"network": network, "learner": dict(learner), "largest_m": largest, "seeds": SEEDS[name]}
        for name, (network, learner, largest, _) in SETTINGS.items()
        if name in SEEDS
    }
    study: Any = configure("lahoti.rates", "quick", {"arms": arms, "sizes.resolution": 0.5})
    return study


@cache
def measured() -> tuple[Rates, pd.DataFrame]:
    """The part of the study and the table of its trials, from a run in a folder of its own."""
    return _run(part())


@cache
def ordered() -> tuple[FullyConnected, pd.DataFrame]:
    """The same of ``lahoti.fcn`` in its quick preset."""
    return _run(configure("lahoti.fcn", "quick"))


def _run(study: Any) -> tuple[Any, pd.DataFrame]:
    with TemporaryDirectory(prefix="whyconv-check-") as folder:
        summary = complete(study, folder)
    return study, study.table(summary.points, summary.rows)


class _Rate(Claim):
    """A rate as a bound on a network's m*; the controls are rates that miss it by a factor."""

    provenance: ClassVar[Provenance] = "reconstructed"
    expected: ClassVar[Verdict] = "undecided"
    network: ClassVar[str]
    kind: ClassVar[Kind]
    bound: ClassVar[str]
    near: ClassVar[Mapping[str, Rate]]
    """The rates of the controls."""

    def decide(self, broken: str) -> Evidence:
        study, table = measured()
        rate = self.near[broken] if broken else RATES[self.bound]
        decided = study.compared(table, self.network, self.kind, rate)
        found = study.complexities(table, self.network)
        needed = {f"m* at {study.described[size]}": m for size, m in found.items()}
        return Evidence(decided.verdict, {**decided.numbers, **needed, "decided by": COMMAND})


class CNNUpper(_Rate, name="lahoti.cnn-upper"):
    """A CNN needs at most O(sigma^2 (k + d) ln(kd)) examples.

    Contradicted by exponents more than 0.25 above 1 + 1/ln(kd) in k or in d, above 1 + 2/ln(kd) in both
    together, or not within 0.5 of 2 in sigma. Decided by ``whyconv run lahoti.rates``.
    """

    reference: ClassVar[str] = "Lahoti et al., CNN upper bound"
    broken: ClassVar = {
        "without-d": "sigma^2 k ln(kd) as the bound, without d",
        "constant": "sigma^2 as the bound, without k and d",
    }
    network: ClassVar[str] = CNN
    kind: ClassVar[Kind] = "upper"
    bound: ClassVar[str] = "cnn-upper"
    near: ClassVar[Mapping[str, Rate]] = {
        "without-d": Rate("σ²k ln(kd)", ((1, 0),), logarithm=True),
        "constant": Rate("σ²", ((0, 0),)),
    }


class LCNUpper(_Rate, name="lahoti.lcn-upper"):
    """An LCN needs at most O(sigma^2 k (k + d) ln(kd)) examples.

    Contradicted by exponents more than 0.25 above 2 + 1/ln(kd) in k, 1 + 1/ln(kd) in d, 2 + 2/ln(kd) in both
    together, or not within 0.5 of 2 in sigma. Decided by ``whyconv run lahoti.rates``.
    """

    reference: ClassVar[str] = "Lahoti et al., LCN upper bound"
    broken: ClassVar = {
        "without-d": "sigma^2 k^2 ln(kd) as the bound, without d",
        "d-only": "sigma^2 d ln(kd) as the bound, without k",
    }
    network: ClassVar[str] = LCN
    kind: ClassVar[Kind] = "upper"
    bound: ClassVar[str] = "lcn-upper"
    near: ClassVar[Mapping[str, Rate]] = {
        "without-d": Rate("σ²k² ln(kd)", ((2, 0),), logarithm=True),
        "d-only": Rate("σ²d ln(kd)", ((0, 1),), logarithm=True),
    }


class LCNLower(_Rate, name="lahoti.lcn-lower"):
    """An LCN needs at least on the order of sigma^2 k d examples.

    Contradicted by exponents more than 0.25 below 1 in k or in d, below 2 in both together, or not within
    0.5 of 2 in sigma. Decided by ``whyconv run lahoti.rates``.
    """

    reference: ClassVar[str] = "Lahoti et al., LCN lower bound"
    broken: ClassVar = {"d-squared": "sigma^2 k d^2 as the bound", "d-cubed": "sigma^2 k d^3 as the bound"}
    network: ClassVar[str] = LCN
    kind: ClassVar[Kind] = "lower"
    bound: ClassVar[str] = "lcn-lower"
    near: ClassVar[Mapping[str, Rate]] = {
        "d-squared": Rate("σ²kd²", ((1, 2),)),
        "d-cubed": Rate("σ²kd³", ((1, 3),)),
    }


class FCNLower(_Rate, name="lahoti.fcn-lower"):
    """An FCN needs at least on the order of sigma^2 k^2 d examples.

    Contradicted by exponents more than 0.25 below 2 in k, 1 in d, 3 in both together, or not within 0.5 of 2
    in sigma. Decided by ``whyconv run lahoti.rates``, whose paper preset has larger sizes.
    """

    reference: ClassVar[str] = "Lahoti et al., FCN lower bound"
    broken: ClassVar = {
        "d-squared": "sigma^2 k^2 d^2 as the bound",
        "d-cubed": "sigma^2 k^2 d^3 as the bound",
    }
    network: ClassVar[str] = FCN
    kind: ClassVar[Kind] = "lower"
    bound: ClassVar[str] = "fcn-lower"
    near: ClassVar[Mapping[str, Rate]] = {
        "d-squared": Rate("σ²k²d²", ((2, 2),)),
        "d-cubed": Rate("σ²k²d³", ((2, 3),)),
    }


class Ordering(Claim, name="lahoti.ordering"):
    """A CNN needs fewer examples than an LCN, and an LCN fewer than an FCN.

    Ratios of m* with intervals, paired by seed, at three sizes (``lahoti.fcn``). An m* that is not reached
    counts as more than the largest m; *undecided* if that lies below what the LCN needs.
    """

    reference: ClassVar[str] = "Lahoti et al., the separation"
    provenance: ClassVar[Provenance] = "reconstructed"
    expected: ClassVar[Verdict] = "consistent"
    broken: ClassVar = "the CNN where every patch is rotated by a matrix of its own"

    def decide(self, broken: str) -> Evidence:
        study, table = ordered()
        return study.order(table, ROTATED if broken else CNN)
