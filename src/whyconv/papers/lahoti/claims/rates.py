"""Lahoti et al.: the rates of the theorems against measured sample complexity.

All of these read the rows of one study, ``lahoti.fcn`` in its quick preset, which is run once (about a minute
on two cores) by the first of them. A slope of log m* on the logarithm of a rate cannot prove a bound, and one
learner says nothing about others: what agrees is *consistent*, not *holds*. The statements are reconstructed
from second-hand text. ``patches`` = k, ``patch_dim`` = d.
"""

from __future__ import annotations

from functools import cache
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from whyconv.claims import Claim, Provenance
from whyconv.lazy import pd
from whyconv.papers.lahoti.studies.fcn import wrong
from whyconv.papers.lahoti.studies.signal_study import CNN, ROTATED
from whyconv.runner.coordinator import complete
from whyconv.settings import configure
from whyconv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from whyconv.papers.lahoti.studies.fcn import FullyConnected


@cache
def measured() -> tuple[FullyConnected, pd.DataFrame]:
    """The study and the table of its trials, from a run in a folder of its own."""
    study: Any = configure("lahoti.fcn", "quick")
    with TemporaryDirectory(prefix="whyconv-check-") as folder:
        summary = complete(study, folder)
    return study, study.table(summary.points, summary.rows)


class _Rate(Claim):
    """A rate as a bound: the slope of log m* on its logarithm, and on that of a power of it."""

    provenance: ClassVar[Provenance] = "reconstructed"
    expected: ClassVar[Verdict] = "consistent"
    network: ClassVar[str]
    bound: ClassVar[str]

    def decide(self, broken: str) -> Evidence:
        study, table = measured()
        decided = study.slope(table, self.network, self.bound, wrong(self.bound) if broken else 1)
        found = study.complexities(table, self.network)
        needed = {f"m* of {self.network}, {study.described[size]}": m for size, m in found.items()}
        return Evidence(decided.verdict, {**decided.numbers, **needed})


class CNNUpper(_Rate, name="lahoti.cnn-upper"):
    """A CNN needs at most O(sigma^2 (k + d) ln(kd)) examples.

    Upper if the interval of the slope lies below 1.25. The control is the cube root of the rate.
    """

    reference: ClassVar[str] = "Lahoti et al., CNN upper bound"
    broken: ClassVar = "the cube root of the rate as the bound"
    network: ClassVar[str] = "CNN"
    bound: ClassVar[str] = "cnn-upper"


class LCNUpper(_Rate, name="lahoti.lcn-upper"):
    """An LCN needs at most O(sigma^2 k (k + d) ln(kd)) examples.

    Upper if the interval of the slope lies below 1.25. The control is the cube root of the rate.
    """

    reference: ClassVar[str] = "Lahoti et al., LCN upper bound"
    broken: ClassVar = "the cube root of the rate as the bound"
    network: ClassVar[str] = "LCN"
    bound: ClassVar[str] = "lcn-upper"


class LCNLower(_Rate, name="lahoti.lcn-lower"):
    """An LCN needs at least on the order of sigma^2 k d examples.

    Lower if the interval of the slope lies above 0.75. The control is the third power of the rate.
    """

    reference: ClassVar[str] = "Lahoti et al., LCN lower bound"
    broken: ClassVar = "the third power of the rate as the bound"
    network: ClassVar[str] = "LCN"
    bound: ClassVar[str] = "lcn-lower"


class FCNLower(_Rate, name="lahoti.fcn-lower"):
    """An FCN needs at least on the order of sigma^2 k^2 d examples.

    Lower if the interval of the slope lies above 0.75. The control is the third power of the rate. At sizes
    that run in a minute the interval straddles 0.75: m* grows faster than the rate with sigma, about as fast
    with k, and more slowly with d from 5 to 20. The paper preset of the study has larger ones.
    """

    expected: ClassVar[Verdict] = "undecided"

    reference: ClassVar[str] = "Lahoti et al., FCN lower bound"
    broken: ClassVar = "the third power of the rate as the bound"
    network: ClassVar[str] = "FCN"
    bound: ClassVar[str] = "fcn-lower"


class Ordering(Claim, name="lahoti.ordering"):
    """A CNN needs fewer examples than an LCN, and an LCN fewer than an FCN.

    Ratios of m* with intervals, paired by seed, at every size where all three were measured. An m* that is
    not reached counts as more than the largest m; *undecided* if that lies below what the LCN needs.
    """

    reference: ClassVar[str] = "Lahoti et al., the separation"
    provenance: ClassVar[Provenance] = "reconstructed"
    expected: ClassVar[Verdict] = "consistent"
    broken: ClassVar = "the CNN where every patch is rotated by a matrix of its own"

    def decide(self, broken: str) -> Evidence:
        study, table = measured()
        return study.order(table, ROTATED if broken else CNN)
