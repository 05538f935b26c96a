"""Brutzkus & Globerson, section 5, part 3, and appendix E: a separator of the features.

The features are those of first-layer runs, drawn (twenty seeds) and built near the bounds. What the paper
proves with 51,200 d is also measured: the least-norm separator of the trained features has |v|^2 max|z|^2
near 2, whatever d and n, once S_1 has some sixty examples (with ten it is 10 or more).
``pattern_dim`` = d, ``patterns`` = l, ``positions`` = n, ``channels`` = k.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from whyconv.claims import Claim, Instance
from whyconv.claims.climbing import climb
from whyconv.claims.errata import Erratum
from whyconv.exact.margins import max_margin
from whyconv.exact.transcription import DIFFER, differing
from whyconv.lazy import Floats, np
from whyconv.papers.brutzkus.claims import pinned
from whyconv.papers.brutzkus.claims.first_layer_runs import AGREE, HALF, SIZES, STEPS
from whyconv.papers.brutzkus.claims.seeds import seeds
from whyconv.papers.brutzkus.exact import (
    bounds,
    extremal,
    first_layer,
    layerwise,
    lucky_filters,
    max_pooling,
    printed,
)
from whyconv.papers.brutzkus.exact.layerwise import Run
from whyconv.verdict import Evidence, Verdict, kept


def _runs(**breaks: Any) -> list[Run]:
    """The drawn runs of all sizes and seeds."""
    return [
        layerwise.run(*size, half=HALF, steps=STEPS, seed=seed, **breaks)
        for size in SIZES
        for seed in seeds()
    ]


class SeparatorOfProof(Claim, name="brutzkus.separator"):
    """After the first layer, v* = +-80d/(k eta_1 T_1) on lucky filters separates D with margin 1, cheaply.

    |v*|^2 max|z|^2 <= 51,200 d. For l < d the counts of lucky filters are between k/(4l) and k/l (Lemma 5.2
    as corrected), and with 80 d the product is bounded by 51,200 d^2/l only: a built run with d = 300, l = 3
    exceeds 51,200 d. With 80 l it is at most 51,200 l, and the margin still above 1. Drawn runs must obey if
    they have Eq. 14 and these counts; built ones are at the edge of both, once with the worst margin (a third
    of S_1 positive, lucky filters that also detect a spurious pattern never seen), once with the largest
    product. Routes: margins and norms over all pattern sets, and over all inputs of the support as vectors.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, appendix E"
    expected: ClassVar[Verdict] = "holds as corrected"
    erratum: ClassVar[Erratum | None] = Erratum(
        printed=(
            "v* = +-80d/(k eta_1 T_1) on lucky filters has margin 1, and |v*|^2 |z|^2 = 2 80^2 d/(k "
            "eta_1^2 T_1^2) times 4k eta_1^2 T_1^2, that is 51,200 d, for any l."
        ),
        corrected=(
            "With 80 l in place of 80 d the margin is still above 1, and the product at most 51,200 "
            "l; for l = d this is what is printed."
        ),
        why=(
            "There are up to 2k/l lucky filters, so that with 80 d the product is bounded by 51,200 "
            "d^2/l only; a built run with d = 300, l = 3 exceeds 51,200 d."
        ),
        breaks=(
            "Appendix E: |v*|^2 <= 80^2 d^2/(k^2 eta_1^2 T_1^2) times 2k/d takes the count of lucky "
            "filters from Lemma 5.2 as printed."
        ),
    )
    broken: ClassVar = {
        "radius": "r = eta_1/20 in place of eta_1/200",
        "height": "8 l in place of 80 l in v*",
        "product": "512 l in place of 51,200 l",
        "sign": "v* takes filters of the wrong readout sign, a = -1 for o_1 and +1 for o_2",
    }

    def decide(self, broken: str) -> Evidence:
        factor = 10.0 if broken == "radius" else 1.0
        tall, wide = (0.1 if broken == "height" else 1.0), (100.0 if broken == "product" else 1.0)
        everything = _runs(radius_factor=factor) if broken == "radius" else _runs()
        drawn = [
            _Separated.of(run, _signs(run, broken == "sign"), run.patterns, tall)
            for run in everything
            if run.class_share >= bounds.CLASS_SHARE and _in_range(run)
        ]
        worst = [
            _Separated.of(*extremal.least_margin(dim, patterns, radius_factor=factor), patterns, tall)
            for dim, patterns in ((4, 4), (6, 6), (8, 4))
        ]
        large = [
            _Separated.of(*extremal.largest_product(dim, patterns), patterns, tall)
            for dim, patterns in ((3, 3), (5, 5), (300, 3))
        ]
        printed_ = _Separated.of(*extremal.largest_product(300, 3), 300, tall)
        promised = float(
            np.mean([1 - bounds.lucky_failure(run.pattern_dim) for run in everything])
        ) - bounds.share_failure(2 * HALF)
        rate = kept(
            sum(each.margin >= 1 for each in drawn), len(everything), promised, "drawn runs with both events"
        )
        all_ = [*drawn, *worst, *large]
        gap = max(each.gap for each in all_)
        differ = _pinned_separator()
        fits = all(each.margin >= 1 and wide * each.product <= 1 for each in all_)
        sound = fits and gap <= AGREE and differ == 0 and rate.verdict == "consistent"
        refuted = printed_.product > 1
        verdict: Verdict = "fails"
        if sound:
            verdict = "holds as corrected" if refuted else "holds"
        after, before = _least_products()
        return Evidence(
            verdict,
            {
                **rate.numbers,
                "least margin of v* on D, drawn": min(each.margin for each in drawn),
                "least margin of v* on D, built": min(each.margin for each in worst),
                "largest product / (51,200 l), drawn": wide * max(each.product for each in drawn),
                "largest product / (51,200 l), built": wide * max(each.product for each in large),
                "with 80 d, product / (51,200 d), d = 300, l = 3": printed_.product,
                "relative gap of the two routes": gap,
                "least possible |v|^2 max|z|^2, largest": after,
                "the same before training, largest": before,
                DIFFER: differ,
            },
        )

    def stress(self, seed: int) -> Mapping[str, Instance]:
        margin, at_margin = climb(seed, 24, lambda point: 1 / max(_edge(point)[0].margin, 1e-9))
        product, at_product = climb(seed, 24, lambda point: _edge(point)[0].product)
        return {
            "1 / margin of v*": Instance(margin, {"seed": seed, **_edge(at_margin)[1]}),
            "|v*|^2 max|z|^2 / (51,200 l)": Instance(product, {"seed": seed, **_edge(at_product)[1]}),
        }


@dataclass(frozen=True)
class _Separated:
    """v*'s least margin on D, |v*|^2 max|z|^2 / (51,200 l), and the gap of the two routes."""

    margin: float
    product: float
    gap: float

    @classmethod
    def of(cls, run: Run, signs: Floats, size: int, tall: float = 1.0) -> _Separated:
        """v* = +-80 ``size`` / (k eta_1 T_1), and the product over 51,200 ``size``, l or d."""
        schedule = run.schedule
        height = tall * bounds.separator_entry(size, schedule.channels, schedule.step, schedule.steps)
        copies = run.copies * np.ones(len(signs))
        indices, labels = max_pooling.support(run.positions, run.patterns)
        pooled = max_pooling.pooled(run.filters[-1], max_pooling.embed(indices, run.basis))
        by_sets = layerwise.support_rows(run.scores[-1], run.positions)
        margins, norms = zip(
            *(
                (float((rows @ (height * signs * copies)).min()), float((rows**2 @ copies).max()))
                for rows in (by_sets, labels[:, None] * pooled)
            ),
            strict=True,
        )
        gap = max(abs(margins[0] / margins[1] - 1), abs(norms[0] / norms[1] - 1))
        norm2 = height**2 * float(np.abs(signs) @ copies)
        return cls(min(margins), norm2 * max(norms) / bounds.proved_norm_product(size), gap)


def _signs(run: Run, wrong: bool) -> Floats:
    positive, negative = first_layer.lucky(run.scores[0], -run.readout if wrong else run.readout)
    return positive.astype(float) - negative


def _in_range(run: Run) -> bool:
    """Whether both counts of lucky filters lie in the range of Lemma 5.2 with l for d."""
    low, high = lucky_filters.count_range(run.schedule.channels, run.patterns)
    return all(low <= luck.sum() <= high for luck in run.lucky)


def _pinned_separator() -> int:
    points = [(d, k, step, t) for d, k in ((3, 217), (7, 3000)) for step in pinned.STEPS for t in (1, 9)]
    return pinned.schedule() + differing(
        *((bounds.separator_entry(*point), printed.separator_entry(*point)) for point in points),
        *((bounds.proved_norm_product(d), printed.squares_product(d)) for d in (1, 3, 7)),
        *(
            (
                bounds.proved_norm_product(d),
                printed.separator_square(*point) * printed.feature_square(*point[1:]),
            )
            for point in points
            for d in point[:1]
        ),
        *zip(bounds.lucky_range(999, 5), printed.lemma_5_2_range(999, 5), strict=True),
    )


def _least_products() -> tuple[float, float]:
    """The largest over sizes of the least |v|^2 max|z|^2 on D, after training and before; the first seed."""
    found = []
    for when in (-1, 0):
        rows = [
            layerwise.support_rows(
                layerwise.run(*size, half=HALF, steps=STEPS, seed=seeds()[0]).scores[when], size[2]
            )
            for size in SIZES
        ]
        found.append(
            max(max_margin.least_norm(each).norm2 * float((each**2).sum(axis=1).max()) for each in rows)
        )
    return found[0], found[1]


def _edge(point: Floats) -> tuple[_Separated, dict[str, int | float]]:
    """v* of a run with Eq. 14 and counts of lucky filters within l's range; l = d."""
    dim, steps, positives = 4 + int(3 * point[0]), 1 + int(6 * point[1]), 4 + int(5 * point[2])
    channels = bounds.least_channels(dim)
    low, high = lucky_filters.count_range(channels, dim)
    counts = [low + int((high - low + 1) * share) for share in point[3:5]]
    groups = []
    for own, part, count in zip((0, 1), point[6:18].reshape(2, 6), counts, strict=True):
        direction = 2 * part[:dim] - 1
        rival = max(0.0, float(np.delete(direction, [0, 1]).max()))
        direction[own] = rival + extremal.SMALL + point[5] ** 4
        groups.append((direction.tolist(), 1 - 2 * own, count))
    other = np.append(2 * point[18:24] - 1, 0.0)[:dim]
    other[2] = np.abs(other).max()
    groups.append((other.tolist(), 1, channels - sum(counts)))
    sample = (positives, 12 - positives)
    run = extremal.grouped(dim, dim, 3, groups, sample, steps=steps)
    return _Separated.of(run, np.array([1.0, -1.0, 0.0]), dim), {
        "d": dim,
        "T_1": steps,
        "positives": positives,
    }
