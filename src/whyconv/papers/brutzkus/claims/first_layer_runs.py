"""What the claims on the first layer's descent measure, on drawn runs and on runs built near the bounds.

Drawn runs: the sizes (d, l, n) below, twenty seeds each, at the largest step and radius that Theorem 5.1
allows. Each is followed along two trajectories that share no code (vectors with an explicit argmax; sets of
patterns with multiplicities).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from whyconv.exact import pattern_sets
from whyconv.lazy import np
from whyconv.papers.brutzkus.claims.seeds import seeds
from whyconv.papers.brutzkus.exact import bounds, layerwise, max_pooling
from whyconv.papers.brutzkus.exact.layerwise import Run

SIZES = ((3, 3, 3), (4, 4, 4), (5, 5, 4), (5, 3, 4))
STEPS = 12
HALF = 60
"""T_1 and |S_1| = |S_2| of the drawn runs."""
AGREE = 1e-9
"""The two trajectories may differ by this fraction of eta_1; they differ by about 1e-15."""
ROUNDING = 1e-12
"""By which a ratio may exceed its bound through rounding alone."""


@dataclass(frozen=True)
class Measured:
    """One run. Pairs are (o_1, o_2) for lucky filters and (vectors, sets) for bounds on all filters.

    ``growth``: least o_own . w / (t eta_1/9), t >= 1; ``others``: largest o_j . w / r, j != own; ``wrong``:
    share of (step, lucky filter, input of S_1 of its class) whose strongest pattern is not o_own; ``norm``,
    ``output``, ``excitation``: largest value / bound of Lemmas C.1, C.2, 5.5.
    """

    dim: int
    share: float
    apart: float
    lucky: tuple[int, int]
    growth: tuple[float, float]
    others: tuple[float, float]
    wrong: tuple[float, float]
    norm: tuple[float, float]
    output: tuple[float, float]
    excitation: tuple[float, float]


def measure(run: Run) -> Measured:
    """The figures of a run; for growth and others the worse of the two trajectories."""
    both = [_lucky(run, own) for own in (0, 1)]
    return Measured(
        dim=run.pattern_dim,
        share=run.class_share,
        apart=run.disagreement,
        lucky=(both[0][0], both[1][0]),
        growth=(both[0][1], both[1][1]),
        others=(both[0][2], both[1][2]),
        wrong=(both[0][3], both[1][3]),
        norm=_norms(run),
        output=_outputs(run),
        excitation=_excitations(run),
    )


def drawn(**breaks: Any) -> list[Measured]:
    """The drawn runs of all sizes and seeds, with the given departures from the theorem's conditions."""
    return [_drawn(size, seed, tuple(breaks.items())) for size in SIZES for seed in seeds()]


@cache
def _drawn(size: tuple[int, int, int], seed: int, breaks: tuple[tuple[str, Any], ...]) -> Measured:
    return measure(layerwise.run(*size, half=HALF, steps=STEPS, seed=seed, **dict(breaks)))


def worst_gap(pairs: Iterable[tuple[float, float]]) -> float:
    """The largest relative difference between two routes."""
    return max(abs(a / b - 1) for a, b in pairs)


def _lucky(run: Run, own: int) -> tuple[int, float, float, float]:
    luck, label = run.lucky[own], (1, -1)[own]
    if not luck.any():
        return 0, np.inf, 0.0, 0.0
    least = bounds.growth(np.arange(1, run.schedule.steps + 1), run.schedule.step)
    growth, others = [], []
    for products in (run.filters[:, luck] @ run.basis.T, run.scores[:, luck]):
        growth.append((products[1:, :, own].min(axis=1) / least).min())
        others.append(np.delete(products, own, axis=2).max() / run.schedule.radius)
    indices, labels = run.first
    inputs, content = run.inputs[labels == label], indices[labels == label]
    wrong = 0.0
    for filters in run.filters[:, luck] if len(inputs) else ():
        scores = inputs @ filters.T
        chosen = np.take_along_axis(content, scores.argmax(axis=1), axis=1)
        wrong += float(np.mean((chosen != own) | (scores.max(axis=1) <= 0))) / len(run.filters)
    return int(luck.sum()), float(min(growth)), float(max(others)), wrong


def _norms(run: Run) -> tuple[float, float]:
    """Along the sets, the part of a filter outside the span of the patterns is added; it never moves."""
    allowed = bounds.largest_norm(np.arange(run.schedule.steps + 1), run.schedule.step)
    on_inputs = np.linalg.norm(run.filters, axis=2).max(axis=1) / allowed
    inner = (run.scores**2).sum(axis=2)
    outer = run.schedule.radius**2 - inner[0]
    on_sets = np.sqrt(np.maximum(inner + outer, 0)).max(axis=1) / allowed
    return float(on_inputs.max()), float(on_sets.max())


def _outputs(run: Run) -> tuple[float, float]:
    weights, limit = run.readout * run.copies, float(bounds.LARGEST_OUTPUT)
    seen = pattern_sets.count(*run.first, run.patterns) > 0
    vectors = run.inputs
    on_inputs = [np.abs(max_pooling.forward(filters, weights, vectors)).max() for filters in run.filters]
    on_sets = [np.abs(pattern_sets.outputs(scores, weights)[seen]).max() for scores in run.scores]
    return float(max(on_inputs)) / limit, float(max(on_sets)) / limit


def _excitations(run: Run) -> tuple[float, float]:
    """Over all inputs of the support of D."""
    times = np.arange(1, run.schedule.steps + 1)
    allowed = bounds.largest_excitation(times, run.schedule.step)
    support = max_pooling.embed(max_pooling.support(run.positions, run.patterns)[0], run.basis)
    flat = np.unique(support.reshape(-1, run.pattern_dim), axis=0)
    on_inputs = [(flat @ run.filters[t].T).max() for t in times]
    on_sets = run.scores[1:].max(axis=(1, 2))
    return float((np.array(on_inputs) / allowed).max()), float((on_sets / allowed).max())
