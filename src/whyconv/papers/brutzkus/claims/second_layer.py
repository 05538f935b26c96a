"""Brutzkus & Globerson, section 5, part 3, and appendices A and E: the second layer and the theorem.

The features are those of real first-layer runs. What the paper proves with 51,200 d is also measured: the
least-norm separator of the trained features has |v|^2 max|z|^2 near 2, whatever d and n, once S_1 has some
sixty examples (with ten it is 10 or more). ``pattern_dim`` = d, ``patterns`` = l, ``positions`` = n,
``channels`` = k.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from whyconv.claims import Claim
from whyconv.exact.margins import max_margin
from whyconv.lazy import NDArray, np
from whyconv.papers.brutzkus.claims.first_layer import AGREE, runs
from whyconv.papers.brutzkus.exact import bounds, first_layer, layerwise, max_pooling, second_layer
from whyconv.papers.brutzkus.exact.layerwise import Run
from whyconv.verdict import Evidence, Verdict


class SeparatorOfProof(Claim, name="brutzkus.separator"):
    """After the first layer, v* = +-80d/(k eta_1 T_1) on lucky filters separates D with margin 1, cheaply.

    |v*|^2 max|z|^2 <= 51,200 d. Routes: margins and norms over all pattern sets, and over all inputs of the
    support as vectors. The least product that any separator reaches is also shown, after training and before
    it: the difference is what the first layer is worth.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, appendix E"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = "v* takes filters of the wrong readout sign, a = -1 for o_1 and +1 for o_2"

    def decide(self, broken: str) -> Evidence:
        margins, products, gap, least, untrained = [], [], 0.0, 0.0, 0.0
        for run in runs():
            positive, negative = first_layer.lucky(run.scores[0], -run.readout if broken else run.readout)
            height = 80 * run.pattern_dim / (run.schedule.channels * run.schedule.step * run.schedule.steps)
            vector = height * (positive.astype(float) - negative)
            indices, labels = max_pooling.support(run.positions, run.patterns)
            pooled = max_pooling.pooled(run.filters[-1], max_pooling.embed(indices, run.basis))
            by_sets = layerwise.support_rows(run.scores[-1], run.positions)
            sides = [(rows @ vector, (rows**2).sum(axis=1)) for rows in (by_sets, labels[:, None] * pooled)]
            margins += [float(margin.min()) for margin, _ in sides]
            gap = max(
                gap, *(abs(float(f(sides[0][i]) / f(sides[1][i])) - 1) for i, f in ((0, np.min), (1, np.max)))
            )
            radius2 = float(sides[1][1].max())
            products.append(float(vector @ vector) * radius2 / bounds.proved_norm_product(run.pattern_dim))
            least = max(least, max_margin.least_norm(by_sets).norm2 * radius2)
            start = layerwise.support_rows(run.scores[0], run.positions)
            radius2 = float((start**2).sum(axis=1).max())
            untrained = max(untrained, max_margin.least_norm(start).norm2 * radius2)
        holds = min(margins) >= 1 and max(products) <= 1 and gap <= AGREE
        return Evidence(
            "holds" if holds else "fails",
            {
                "least margin of v* on D": min(margins),
                "largest |v*|^2 max|z|^2 / (51,200 d)": max(products),
                "relative gap of the two routes": gap,
                "least possible |v|^2 max|z|^2, largest": least,
                "the same before training, largest": untrained,
            },
        )


MARKS = (1, 10, 100, 1000, 3000, 10_000, 30_000)
SHARED = 1000
"""Steps that the plain route, on every example and every channel, takes as well."""


@dataclass(frozen=True)
class _Descent:
    """LW_CNN's second loop on S_2 with eta_2 = 7.9 k < 8 k: distinct rows y z(x), losses at every step,
    readouts at the marks, the smoothness times eta_2, and how far the plain route's loss is off."""

    rows: NDArray
    step: float
    curvature: float
    losses: NDArray
    readouts: NDArray
    routes_gap: float

    @classmethod
    def of(cls, run: Run, labels: NDArray) -> _Descent:
        """Plain: all examples, all k weights, 1000 steps. Gram: distinct rows, 30,000 steps."""
        step = 7.9 * run.schedule.channels
        vectors = max_pooling.embed(run.second[0], run.basis)
        every = labels[:, None] * max_pooling.pooled(run.filters[-1], vectors)
        equal = np.full(len(every), 1 / len(every))
        plain = second_layer.descend(every, equal, run.readout, step, [SHARED])[-1]
        plain_loss = float(np.logaddexp(0, -every @ plain).mean())

        rounded = (every / np.abs(every).max()).round(9)
        _, first, counts = np.unique(rounded, axis=0, return_index=True, return_counts=True)
        rows, weights = every[first], counts / counts.sum()
        gram = rows @ rows.T
        kept, losses = second_layer.descend_by_gram(gram, rows @ run.readout, weights, step, MARKS)
        curvature = step * second_layer.smoothness(gram, weights)
        readouts = run.readout + kept @ rows
        return cls(rows, step, curvature, losses, readouts, abs(float(losses[SHARED]) / plain_loss - 1))


@cache
def _descents(shuffled: bool) -> list[_Descent]:
    """The descents of the first three runs, with the labels of S_2 or with these shuffled."""
    rng = np.random.default_rng(51)
    labelled = [(run, run.second[1]) for run in runs()[:3]]
    return [_Descent.of(run, rng.permutation(labels) if shuffled else labels) for run, labels in labelled]


class Theorem51Loss(Claim, name="brutzkus.thm5.1-loss"):
    """The second layer's loss tends to zero: lim L_2(W^(T_1), a^(T_2)) = 0 as T_2 grows.

    30,000 steps with eta_2 just below 8k. A finite run shows no limit, so the run must also obey a proved
    bound that tends to zero, L_2(t) <= (e^(-min margin) + ln(t)^2 |a^|^2 / (2 eta_2)) / t (it needs only a
    separator and a step below 1/smoothness, both verified), and t L_2(t) must have passed its maximum.
    Routes: every example and channel, and the Gram matrix of distinct rows.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, Theorem 5.1 (1)"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = "the labels of S_2 shuffled"

    def decide(self, broken: str) -> Evidence:
        descents = _descents(shuffled=bool(broken))
        times = np.arange(MARKS[-1] + 1.0)
        certified, separable = 0.0, True
        for descent, run in zip(descents, runs()[:3], strict=True):
            try:
                norm2 = max_margin.least_norm(descent.rows).norm2
            except max_margin.NotSeparable:
                separable = False
                continue
            lowest = float((descent.rows @ run.readout).min())
            proved = second_layer.loss_certificate(times[2:], lowest, norm2, descent.step)
            certified = max(certified, float((descent.losses[2:] / proved).max()))
        peak = max(int((times * descent.losses).argmax()) for descent in descents)
        falling = all(bool((np.diff(descent.losses) < 0).all()) for descent in descents)
        curvature, gap = (max(getattr(d, name) for d in descents) for name in ("curvature", "routes_gap"))
        proved_to_vanish = separable and curvature <= 1 and certified <= 1
        holds = proved_to_vanish and falling and peak < MARKS[-1] // 2 and gap <= AGREE
        return Evidence(
            "holds" if holds else "fails",
            {
                "loss at the start": max(float(d.losses[0]) for d in descents),
                "loss after 30,000 steps": max(float(d.losses[-1]) for d in descents),
                "loss falls at every step": falling,
                "largest t L_2(t)": max(float((times * d.losses).max()) for d in descents),
                "step of that maximum": peak,
                "largest loss / proved bound": certified if separable else "no separator, no bound",
                "eta_2 x smoothness (<= 1 needed)": float(curvature),
                "relative gap of the two routes": gap,
            },
        )


class Theorem51Direction(Claim, name="brutzkus.thm5.1-direction"):
    """The readout turns to the max-margin solution on S_2: a^(t)/|a^(t)| tends to a^/|a^| (Eq. 24).

    Convergence is logarithmic, so the limit is out of reach: the cosine must rise from mark to mark (t = 1,
    10, 100, 1000, 3000, 10,000, 30,000) and the margin reach 90 % of the largest. The solution a^ comes from
    quadratic programming and is certified by duality, however it was found. *Consistent* at best, since no
    finite run shows a limit.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, Eq. 24 (after Soudry et al. 2018)"
    expected: ClassVar[Verdict] = "consistent"
    broken: ClassVar = "the direction of the proof's v* in place of the max-margin solution"

    def decide(self, broken: str) -> Evidence:
        cosines, margins, gap, routes = [], [], 0.0, 0.0
        for descent, run in zip(_descents(shuffled=False), runs()[:3], strict=True):
            separator = max_margin.least_norm(descent.rows)
            lower, upper = max_margin.certified_range(descent.rows, separator)
            of_proof = run.lucky[0].astype(float) - run.lucky[1]
            direction = of_proof if broken else separator.vector
            lengths = np.linalg.norm(descent.readouts, axis=1) * np.linalg.norm(direction)
            cosines.append(descent.readouts @ direction / lengths)
            margins.append(max_margin.margin(descent.rows, descent.readouts[-1]) * np.sqrt(lower))
            gap, routes = max(gap, upper / lower - 1), max(routes, descent.routes_gap)
        rising = bool((np.diff(cosines, axis=1) > 0).all())
        least = np.min(cosines, axis=0).tolist()
        agrees = rising and min(margins) >= 0.9 and gap <= AGREE and routes <= AGREE
        return Evidence(
            "consistent" if agrees else "fails",
            {
                "cosine rises at every mark": rising,
                "least cosine after 1 step": least[0],
                "least cosine after 100 steps": least[2],
                "least cosine after 30,000 steps": least[-1],
                "least margin / largest possible": float(min(margins)),
                "relative duality gap of a^": gap,
                "relative gap of the two routes": routes,
            },
        )
