"""Brutzkus & Globerson, Theorem 5.1 (1) and (2) and Eq. 24: gradient descent on the second layer.

The features are those of first-layer runs, as in :mod:`.second_layer`. ``channels`` = k.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from whyconv.claims import Claim, Instance
from whyconv.claims.climbing import climb
from whyconv.claims.seeds import generator
from whyconv.exact.margins import max_margin
from whyconv.exact.transcription import DIFFER
from whyconv.lazy import Floats, Ints, NDArray, np
from whyconv.papers.brutzkus.claims import pinned
from whyconv.papers.brutzkus.claims.first_layer_runs import AGREE, HALF, SIZES, STEPS
from whyconv.papers.brutzkus.claims.seeds import seeds
from whyconv.papers.brutzkus.exact import (
    bounds,
    layerwise,
    max_pooling,
    second_layer,
)
from whyconv.papers.brutzkus.exact.layerwise import Run
from whyconv.verdict import Evidence, Verdict

MARKS = (1, 10, 100, 1000, 3000)
SHARED = 100
"""Steps that the plain route, on every example and every channel, takes as well."""


@dataclass(frozen=True)
class _Descent:
    """LW_CNN's second loop on S_2 with eta_2 = 0.99 x 8k: distinct rows y z(x) and their weights, losses at
    every step, readouts and total pulls F at the marks, eta_2 x smoothness, the largest curvature found /
    that smoothness, and how far the plain route's loss is off."""

    rows: NDArray
    weights: NDArray
    step: float
    curvature: float
    attained: float
    losses: NDArray
    readouts: NDArray
    totals: NDArray
    routes_gap: float

    @classmethod
    def of(cls, run: Run, labels: NDArray) -> _Descent:
        """Plain: all examples, all k weights, 100 steps. Gram: distinct rows, 3000 steps."""
        step = 0.99 * bounds.second_step_limit(run.schedule.channels)
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
        smoothness = second_layer.smoothness(gram, weights)
        return cls(
            rows,
            weights,
            step,
            step * smoothness,
            _curvature(every) / smoothness,
            losses,
            run.readout + kept @ rows,
            kept.sum(axis=1),
            abs(float(losses[SHARED]) / plain_loss - 1),
        )


def _curvature(every: Floats) -> float:
    """The second difference of the loss at 0, where it is largest, along the first singular vector."""
    top = np.linalg.svd(every, full_matrices=False)[2][0]
    products = 1e-3 * every @ top / np.linalg.norm(every, axis=1).max()
    change = np.logaddexp(0, products) + np.logaddexp(0, -products) - 2 * np.log(2)
    return float(change.mean()) * (1e3 * np.linalg.norm(every, axis=1).max()) ** 2


@cache
def _descents(first: int, count: int, labels: str) -> list[tuple[Run, _Descent]]:
    """Of three sizes and all seeds, with the labels of S_2 as drawn, "shuffled", or one of them "flipped"."""
    rng = generator(51)
    found = []
    for size in SIZES[:3]:
        for seed in range(first, first + count):
            run = layerwise.run(*size, half=HALF, steps=STEPS, seed=seed)
            given = run.second[1]
            if labels == "shuffled":
                given = rng.permutation(given)
            elif labels == "flipped":
                given = _one_flipped(run.second[0], given)
            found.append((run, _Descent.of(run, given)))
    return found


def _one_flipped(indices: Ints, labels: Ints) -> Ints:
    """The labels with that of one example reversed whose pattern set occurs twice."""
    sets = np.sort(np.where(np.diff(np.sort(indices), axis=1, prepend=-1) > 0, np.sort(indices), -1))
    _, first, counts = np.unique(sets, axis=0, return_index=True, return_counts=True)
    flipped = labels.copy()
    flipped[first[counts.argmax()]] *= -1
    return flipped


class Theorem51Loss(Claim, name="brutzkus.thm5.1-loss"):
    """The second layer's loss tends to zero: lim L_2(W^(T_1), a^(T_2)) = 0 as T_2 grows.

    eta_2 just below 8k. A finite run shows no limit, so every drawn run must obey a proved bound that tends
    to zero, L_2(t) <= (e^(-min margin) + ln(t)^2 |a^|^2 / (2 eta_2)) / t; it needs only a separator and a
    step below 1/smoothness, both verified. The bound is compared with what it bounds, L_2(u) + |u - a|^2 / (2
    eta t) at u = a + ln(t) a^: never below, and equal to it in the limit on two opposite rows, where a
    descent also comes to two thirds of it. The smoothness is compared with the curvature found at 0, where it
    is attained. Routes of the descent: every example and channel, and the Gram matrix of distinct rows.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, Theorem 5.1 (1)"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = {
        "flipped": "one label of S_2 flipped, of an input whose twin keeps its own",
        "shuffled": "the labels of S_2 shuffled",
    }

    def decide(self, broken: str) -> Evidence:
        found = _descents(seeds().start, len(seeds()), broken)
        times = np.arange(2.0, MARKS[-1] + 1)
        certified, above, separable = 0.0, 0.0, 0
        for run, descent in found:
            try:
                separator = max_margin.least_norm(descent.rows)
            except max_margin.NotSeparable:
                continue
            separable += 1
            margins = descent.rows @ run.readout
            bound = second_layer.loss_certificate(times, margins.min(), separator.norm2, descent.step)
            certified = max(certified, float((descent.losses[2:] / bound).max()))
            late = second_layer.loss_certificate(np.array(LATE), margins.min(), separator.norm2, descent.step)
            direct = _direct(LATE, descent.rows, descent.weights, margins, separator.vector, descent.step)
            above = max(above, float((direct / late).max()))
        near, sharp = _opposite_rows()
        falling = all(bool((np.diff(descent.losses) < 0).all()) for _, descent in found)
        curvature, gap = (max(getattr(d, name) for _, d in found) for name in ("curvature", "routes_gap"))
        attained = [descent.attained for _, descent in found]
        differ = pinned.schedule()
        exact = max(abs(ratio - 1) for ratio in attained) <= 1e-4 and abs(sharp - 1) <= 1e-5
        vanishes = separable == len(found) and curvature <= 1 and max(certified, above, near) <= 1
        holds = vanishes and exact and falling and gap <= AGREE and differ == 0
        return Evidence(
            "holds" if holds else "fails",
            {
                "drawn runs": len(found),
                "runs with a separable S_2": separable,
                "largest loss after 3,000 steps": max(float(d.losses[-1]) for _, d in found),
                "loss falls at every step": falling,
                "largest loss / proved bound, drawn": certified,
                "largest loss / proved bound, built": near,
                "bound / what it bounds, built, t = 10^6": 1 / sharp,
                "eta_2 x smoothness (<= 1 needed)": float(curvature),
                "least curvature found / smoothness": float(min(attained)),
                "relative gap of the two routes": gap,
                DIFFER: differ,
            },
        )

    def stress(self, seed: int) -> Mapping[str, Instance]:
        def ratio(point: Floats) -> float:
            rows, weights = _random_rows(point)
            try:
                norm2 = max_margin.least_norm(rows).norm2
            except (max_margin.NotSeparable, max_margin.Undecidable):
                return 0.0
            return _loss_ratio(rows, weights, norm2, steps=60)

        found, point = climb(seed, 12, ratio)
        return {"loss / proved bound": Instance(found, {"seed": seed, "rows": len(_random_rows(point)[0])})}


LATE = (10.0, 1e3, 1e6)
"""Times at which the bound is compared with what it bounds."""


def _direct(
    times: tuple[float, ...], rows: Floats, weights: Floats, margins: Floats, vector: Floats, step: float
) -> Floats:
    """L_2(u) + |u - a|^2 / (2 eta t) at u = a + ln(t) v; ``margins`` = rows a, v = ``vector``."""
    moved = [margins + np.log(t) * (rows @ vector) for t in times]
    squares = [float((np.log(t) * vector) @ (np.log(t) * vector)) / (2 * step * t) for t in times]
    return np.array([weights @ np.logaddexp(0, -each) for each in moved]) + squares


def _loss_ratio(rows: Floats, weights: Floats, norm2: float, steps: int) -> float:
    """The largest loss / certificate of descent from zero with the largest step allowed."""
    gram = rows @ rows.T
    step = 1 / second_layer.smoothness(gram, weights)
    _, losses = second_layer.descend_by_gram(gram, np.zeros(len(rows)), weights, step, [steps])
    bound = second_layer.loss_certificate(np.arange(2.0, steps + 1), 0.0, norm2, step)
    return float((losses[2:] / bound).max())


def _opposite_rows() -> tuple[float, float]:
    """(1, g) and (-1, g), g^2 = 1/8: the largest loss / certificate, and its tightness at t = 10^6."""
    low = 8**-0.5
    rows, weights = np.array([[1.0, low], [-1.0, low]]), np.full(2, 0.5)
    norm2 = 1 / low**2
    step = 1 / second_layer.smoothness(rows @ rows.T, weights)
    direct = _direct(LATE, rows, weights, np.zeros(2), np.array([0.0, 1 / low]), step)
    bound = second_layer.loss_certificate(np.array(LATE), 0.0, norm2, step)
    return _loss_ratio(rows, weights, norm2, steps=200), float(direct[-1] / bound[-1])


def _random_rows(point: Floats) -> tuple[Floats, Floats]:
    """Three rows of three coordinates in [-1, 1], the last made small and positive, and weights."""
    rows = 2 * point[:9].reshape(3, 3) - 1
    rows[:, 2] = np.abs(rows[:, 2]) / 2 + 1e-3
    return rows, (point[9:] + 0.01) / (point[9:] + 0.01).sum()


class Theorem51Direction(Claim, name="brutzkus.thm5.1-direction"):
    """The readout turns to the max-margin solution on S_2: a^(t)/|a^(t)| tends to a^/|a^| (Eq. 24).

    A limit says nothing about any finite time, and its approach is logarithmic. Two things are certain at
    each t, and every drawn run must obey them at t = 1, 10, ..., 3000. (a) The cosine is at least a proved
    bound that tends to 1 (``direction_certificate``), although far from it at these times. (b) It is at least
    the margin of a^(t) over the largest margin: a^ is the projection of 0 on the vectors with margin 1. No
    other direction has (b) for long. a^ comes from quadratic programming and is certified by duality. Whether
    the cosine rises all the time, or how far it comes, Eq. 24 does not say. *Consistent* at best, as no
    finite run shows a limit.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, Eq. 24 (after Soudry et al. 2018)"
    expected: ClassVar[Verdict] = "consistent"
    broken: ClassVar = {
        "uneven": "the least-norm separator with margin 1 on positive and 3 on negative examples",
        "proof": "the direction of the proof's v* in place of the max-margin solution",
    }

    def decide(self, broken: str) -> Evidence:
        cosines, proved, by_margin, later, duality, routes = [], [], [], [], 0.0, 0.0
        for run, descent in _descents(seeds().start, len(seeds()), ""):
            separator = max_margin.least_norm(descent.rows)
            lower, upper = max_margin.certified_range(descent.rows, separator)
            gamma, direction = separator.norm2**-0.5, separator.vector
            if broken == "proof":
                direction = run.lucky[0].astype(float) - run.lucky[1]
            elif broken == "uneven":
                uneven = np.where(descent.rows.sum(axis=1) > 0, 1.0, 3.0)
                direction = max_margin.least_norm(descent.rows / uneven[:, None]).vector
            direction = direction / np.linalg.norm(direction)
            lengths = np.linalg.norm(descent.readouts, axis=1)
            cosines.append(descent.readouts @ direction / lengths)
            by_margin.append((descent.readouts @ descent.rows.T).min(axis=1) / lengths / gamma)
            start = float(run.readout @ direction), float(np.linalg.norm(run.readout))
            radius = float(np.linalg.norm(descent.rows, axis=1).max())
            first = descent.step * float(descent.losses[0])
            proved += [
                second_layer.direction_certificate(
                    totals, gamma, start, float(descent.weights.min()), radius, first
                )
                for totals in (descent.totals,)
            ]
            later.append(
                second_layer.direction_certificate(
                    1e6 * descent.totals[-1:], gamma, start, float(descent.weights.min()), radius, first
                )
            )
            duality, routes = max(duality, upper / lower - 1), max(routes, descent.routes_gap)
        cosine, least, projected = (np.array(each) for each in (cosines, proved, by_margin))
        differ = pinned.schedule()
        certain = bool((cosine >= least - AGREE).all() and (cosine >= projected - AGREE).all())
        agrees = certain and max(duality, routes) <= AGREE and differ == 0
        return Evidence(
            "consistent" if agrees else "fails",
            {
                "drawn runs": len(cosine),
                "least cosine after 1 step": float(cosine[:, 0].min()),
                "least cosine after 3,000 steps": float(cosine[:, -1].min()),
                "largest margin share / cosine": float((projected / cosine).max()),
                "least proved cosine after 3,000 steps": float(least[:, -1].min()),
                "the same with a total pull 10^6 times as large": float(np.min(later)),
                "largest (1 - cosine) / (1 - proved)": float(((1 - cosine) / (1 - least)).max()),
                "relative duality gap of a^": duality,
                "relative gap of the two routes": routes,
                DIFFER: differ,
            },
        )

    def stress(self, seed: int) -> Mapping[str, Instance]:
        def ratios(point: Floats) -> tuple[float, float]:
            rows, weights = _random_rows(point[:12])
            try:
                separator = max_margin.least_norm(rows)
            except (max_margin.NotSeparable, max_margin.Undecidable):
                return 0.0, 0.0
            start = 20 * point[12:] - 10
            gram, marks = rows @ rows.T, [1, 10, 100, 1000]
            step = 1 / second_layer.smoothness(gram, weights)
            kept_, losses = second_layer.descend_by_gram(gram, rows @ start, weights, step, marks)
            readouts, gamma = start + kept_ @ rows, separator.norm2**-0.5
            direction = separator.vector * gamma
            lengths = np.linalg.norm(readouts, axis=1)
            cosine = readouts @ direction / lengths
            proved = second_layer.direction_certificate(
                kept_.sum(axis=1),
                gamma,
                (float(start @ direction), float(np.linalg.norm(start))),
                float(weights.min()),
                float(np.linalg.norm(rows, axis=1).max()),
                step * float(losses[0]),
            )
            share = (readouts @ rows.T).min(axis=1) / lengths / gamma
            gross = 1e9 * (share > 0)  # a margin without a positive cosine would be a gross counterexample
            over = np.where(cosine > 0, share / np.maximum(cosine, 1e-9), gross)
            return float(((1 - cosine) / (1 - proved)).max()), float(over.max())

        found, _ = climb(seed, 15, lambda point: ratios(point)[0])
        projected, _ = climb(seed, 15, lambda point: ratios(point)[1])
        return {
            "(1 - cosine) / (1 - proved)": Instance(found, {"seed": seed}),
            "margin share / cosine": Instance(projected, {"seed": seed}),
        }
