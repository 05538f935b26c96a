"""Lahoti et al.: the rates of the theorems against measured sample complexity.

Growth is judged as in ``lahoti.rates``, by the exponents of m* (:mod:`whyconv.papers.lahoti.studies.rivals`),
but from the three places a network for which a check has time, tuned descent only: no sigma, and no place to
spare that would show lack of fit. That can contradict a rate; it cannot confirm one, so a rate that is not
contradicted is *undecided*, and ``whyconv run lahoti.rates`` decides, with the two-step algorithm that the
upper bounds are proved for. docs/rates.md has its power. The statements are reconstructed from second-hand
text. ``patches`` = k, ``patch_dim`` = d.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from whyconv.claims import Claim, Provenance
from whyconv.claims.seeds import offset
from whyconv.exact.transcription import DIFFER
from whyconv.measure.scaling import exponents
from whyconv.papers.lahoti.claims import pinned
from whyconv.papers.lahoti.exact.rates import RATES, Rate
from whyconv.papers.lahoti.studies.fcn import SMALL
from whyconv.papers.lahoti.studies.places import Place
from whyconv.papers.lahoti.studies.rivals import DIRECTIONS, RAYS, Kind, compared, middle
from whyconv.papers.lahoti.studies.signal_study import CNN, FCN, LCN, ROTATED
from whyconv.record import serving
from whyconv.settings import configure
from whyconv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from whyconv.papers.lahoti.studies.fcn import FullyConnected
    from whyconv.record.serving import Measured
    from whyconv.studies import Study

COMMAND = "whyconv run lahoti.rates --preset paper --set first_seed=1000"
STARS: Mapping[str, tuple[Place, ...]] = {
    CNN: ((14, 20, 0.16), (14, 80, 0.16), (40, 40, 0.16)),
    LCN: ((10, 10, 0.1), (10, 40, 0.1), (20, 20, 0.1)),
    FCN: SMALL,
}
"""Where growth is measured."""


def part(first_seed: int) -> FullyConnected:
    """``lahoti.fcn``, and CNN and LCN at further places."""
    places = {name: (*SMALL, *STARS[name]) for name in (CNN, LCN)}
    changes = {"places": {**places, FCN: SMALL, ROTATED: SMALL[:1]}, "sizes.resolution": 0.4}
    changes |= {"arms.CNN.seeds": 12, "arms.LCN.seeds": 12, "arms.CNN.largest_m": 400}
    changes["first_seed"] = first_seed
    study: Any = configure("lahoti.fcn", "quick", changes)
    return study


@cache
def measured(first_seed: int) -> tuple[FullyConnected, Measured]:
    """The study and its trials: kept rows where they match, else computed."""
    study = part(first_seed)
    return study, serving.measured(study)


class _Measured(Claim):
    """A claim on what :func:`part` measures."""

    trials: ClassVar[bool] = True
    unsearched: ClassVar[str] = (
        "a statement about growth, fitted to runs of a study: sets of seeds are the search (docs/seeds.md)"
    )

    @classmethod
    def measures(cls) -> Study:
        return part(0)

    @classmethod
    def origin_of_rows(cls) -> Literal["kept", "computed"]:
        return measured(offset())[1].origin


class _Rate(_Measured):
    """A rate as a bound on a network's m*; the controls are rates that miss it by a factor."""

    provenance: ClassVar[Provenance] = "reconstructed"
    expected: ClassVar[Verdict] = "undecided"
    network: ClassVar[str]
    side: ClassVar[Kind]
    bound: ClassVar[str]
    near: ClassVar[Mapping[str, Rate]]
    """The rates of the controls."""

    def decide(self, broken: str) -> Evidence:
        study, rows = measured(offset())
        rate = self.near[broken] if broken else RATES[self.bound]
        star, numbered = STARS[self.network], study.numbered()
        needed = {
            numbered[size]: m
            for size, m in study.complexities(rows.table, self.network).items()
            if numbered[size] in star
        }
        rays = {ray: DIRECTIONS[ray] for ray in RAYS}
        found = exponents([({"k": k, "d": d}, m) for (k, d, _), m in needed.items()], rays)
        decided = compared(self.side, rate, found, middle(star))
        numbers = {f"m* at k = {k}, d = {d}, sigma = {sigma:g}": m for (k, d, sigma), m in needed.items()}
        differ = pinned.rates(self.bound)
        verdict: Verdict = "fails" if decided.verdict == "fails" or differ else "undecided"
        return Evidence(verdict, {**decided.numbers, **numbers, DIFFER: differ, "decided by": COMMAND})


class CNNUpper(_Rate, name="lahoti.cnn-upper"):
    """A CNN needs at most O(sigma^2 (k + d) ln(kd)) examples.

    Contradicted by exponents more than 0.25 above 1 + 1/ln(kd) in k or in d, or above 1 + 2/ln(kd) in both
    together. Confirmed, if at all, by ``whyconv run lahoti.rates``.
    """

    reference: ClassVar[str] = "Lahoti et al., CNN upper bound"
    broken: ClassVar = {
        "without-d": "sigma^2 k ln(kd) as the bound, without d",
        "constant": "sigma^2 as the bound, without k and d",
    }
    network: ClassVar[str] = CNN
    side: ClassVar[Kind] = "upper"
    bound: ClassVar[str] = "cnn-upper"
    near: ClassVar[Mapping[str, Rate]] = {
        "without-d": Rate("σ²k ln(kd)", ((1, 0),), logarithm=True),
        "constant": Rate("σ²", ((0, 0),)),
    }


class LCNUpper(_Rate, name="lahoti.lcn-upper"):
    """An LCN needs at most O(sigma^2 k (k + d) ln(kd)) examples.

    Contradicted by exponents more than 0.25 above 2 + 1/ln(kd) in k, 1 + 1/ln(kd) in d, or 2 + 2/ln(kd) in
    both together. Confirmed, if at all, by ``whyconv run lahoti.rates``.
    """

    reference: ClassVar[str] = "Lahoti et al., LCN upper bound"
    broken: ClassVar = {
        "without-d": "sigma^2 k^2 ln(kd) as the bound, without d",
        "d-only": "sigma^2 d ln(kd) as the bound, without k",
    }
    network: ClassVar[str] = LCN
    side: ClassVar[Kind] = "upper"
    bound: ClassVar[str] = "lcn-upper"
    near: ClassVar[Mapping[str, Rate]] = {
        "without-d": Rate("σ²k² ln(kd)", ((2, 0),), logarithm=True),
        "d-only": Rate("σ²d ln(kd)", ((0, 1),), logarithm=True),
    }


class LCNLower(_Rate, name="lahoti.lcn-lower"):
    """An LCN needs at least on the order of sigma^2 k d examples.

    Contradicted by exponents more than 0.25 below 1 in k or in d, or below 2 in both together. Confirmed, if
    at all, by ``whyconv run lahoti.rates``.
    """

    reference: ClassVar[str] = "Lahoti et al., LCN lower bound"
    broken: ClassVar = {
        "d-squared": "sigma^2 k d^2 as the bound",
        "d-1.5": "sigma^2 k d^1.5 as the bound",
    }
    network: ClassVar[str] = LCN
    side: ClassVar[Kind] = "lower"
    bound: ClassVar[str] = "lcn-lower"
    near: ClassVar[Mapping[str, Rate]] = {
        "d-squared": Rate("σ²kd²", ((1, 2),)),
        "d-1.5": Rate("σ²kd^1.5", ((1, 1.5),)),
    }


class FCNLower(_Rate, name="lahoti.fcn-lower"):
    """An FCN needs at least on the order of sigma^2 k^2 d examples.

    Contradicted by exponents more than 0.25 below 2 in k, 1 in d, or 3 in both together. Confirmed, if at
    all, by ``whyconv run lahoti.rates``, whose paper preset has larger sizes.
    """

    reference: ClassVar[str] = "Lahoti et al., FCN lower bound"
    broken: ClassVar = {
        "d-squared": "sigma^2 k^2 d^2 as the bound",
        "d-1.5": "sigma^2 k^2 d^1.5 as the bound",
    }
    network: ClassVar[str] = FCN
    side: ClassVar[Kind] = "lower"
    bound: ClassVar[str] = "fcn-lower"
    near: ClassVar[Mapping[str, Rate]] = {
        "d-squared": Rate("σ²k²d²", ((2, 2),)),
        "d-1.5": Rate("σ²k²d^1.5", ((2, 1.5),)),
    }
