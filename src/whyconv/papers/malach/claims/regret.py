"""Malach & Shalev-Shwartz, Theorem 10: what online gradient descent loses against any fixed parameters.

On the descents of :mod:`.descent`, and on convex functions drawn anew at every step. ``step`` = eta.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import inf
from typing import ClassVar

from whyconv.claims import Claim, Instance
from whyconv.claims.seeds import draw_seeds
from whyconv.exact.transcription import DIFFER, differing
from whyconv.lazy import NDArray, np
from whyconv.papers.malach.claims.descent import AGREE, large_runs, small_walks
from whyconv.papers.malach.exact import online_descent as online
from whyconv.papers.malach.exact import printed
from whyconv.papers.malach.exact.window_descent import Path
from whyconv.verdict import Evidence, Verdict


class Theorem10(Claim, name="malach.thm10"):
    """Online GD on convex f_t: mean f_t(theta_t) <= mean f_t(theta*) + the three printed terms; any theta*.

    The terms: |theta*|^2 / (2 eta T), |theta_1| mean |grad_t|, eta mean |grad_t|^2. Shown with eta/2 in the
    last one, which is best possible, and so are the other two: equal linear f_t with theta_1 along their
    slope attain it. Routes: f_t = L(., W^(t)) along the compressed and the plain descents; maxima of affine
    functions, drawn anew at every step, on plain vectors with theta_1 != 0.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Theorem 10"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = {
        "concave": "concave functions: minima of affine ones in place of maxima",
        "quarter": "eta/4 in the last term",
        "start": "half of the term with |theta_1|",
        "distance": "|theta*|^2 / (4 eta T) in the first term",
    }
    HALVED: ClassVar = (1.0, 1.0, 0.5)
    """What the three terms are multiplied by in the form that is best possible."""

    def decide(self, broken: str) -> Evidence:
        first, start, last = self.HALVED
        factors = {
            "quarter": (first, start, last / 2),
            "start": (first, start / 2, last),
            "distance": (first / 2, start, last),
        }.get(broken, self.HALVED)
        runs, path, step, _ = large_runs(draw_seeds(), 1.0)
        norms = np.sqrt((runs.norms(runs.star) ** 2).sum(axis=-1))
        large = [
            online.excess_of_losses(path.loss[:-1, r], path.probe_loss[:-1, r, 0], path.gradients[:, r], step,
                                    float(norms[r]), factors)
            for r in range(len(norms))
        ]  # fmt: skip
        walks = small_walks(draw_seeds(), 1.0)
        plain = [
            online.excess_of_losses(w.plain.loss[:-1], w.plain.probe_loss[:-1, 0], w.plain.gradients, w.step,
                                    w.star_norm, factors)
            for w in walks
        ]  # fmt: skip
        drawn = [_sequence(seed, broken == "concave", factors) for seed in draw_seeds()]
        attained = online.excess_of_equal_linear(np.array([1.0, -2.0, 0.5]), 0.75, 0.1, 50, factors)
        apart, differ = max(each.gap for each in walks), differing(*_theorem_10_pairs())
        stated, halved = (max(values) for values in zip(*drawn, strict=True))
        holds = max(stated, halved, *large, *plain, attained) <= 1e-9 and apart <= AGREE and not differ
        return Evidence(
            "holds" if holds else "fails",
            {
                "largest excess over the bound, drawn f_t": stated,
                "the same with eta/2": halved,
                "with eta/2, equal linear f_t": attained,
                "with eta/2, the CNN's losses, q = 40,000": max(large),
                "with eta/2, the plain CNN's losses, q = 16": max(plain),
                "left / right side with eta/2, q = 40,000": float(_share(path, step, norms).max()),
                "sequences drawn": 12 * len(draw_seeds()),
                "compressed and plain differ by": apart,
                DIFFER: differ,
            },
        )

    def stress(self, seed: int) -> Mapping[str, Instance]:
        return {"regret <= the three terms": _steepest(seed)}


def _share(path: Path, step: float, norms: NDArray) -> NDArray:
    """(mean loss - mean loss of u*) / (|u*|^2 / (2 eta T) + eta/2 mean |grad|^2), for each run."""
    regret = path.loss[:-1].mean(axis=0) - path.probe_loss[:-1, :, 0].mean(axis=0)
    return regret / (norms**2 / (2 * step * path.steps) + step / 2 * (path.gradients**2).mean(axis=0))


def _pieces(rng: np.random.Generator, steps: int, repeated: bool) -> tuple[NDArray, NDArray]:
    """Slopes (T, 4, 3) and offsets (T, 4) of maxima of affine functions; one for all t if ``repeated``."""
    drawn = 1 if repeated else steps
    slopes = np.broadcast_to(rng.standard_normal((drawn, 4, 3)), (steps, 4, 3))
    return slopes, np.broadcast_to(rng.standard_normal((drawn, 4)), (steps, 4))


def _sequence(seed: int, concave: bool, factors: tuple[float, float, float]) -> tuple[float, float]:
    """Largest excess over Theorem 10's right side, and with ``factors`` on its terms, over 12 sequences.

    Half of them repeat one function. theta* is a drawn vector or -eta T times the mean slope of one piece,
    the best rival a linear f_t could have.
    """
    rng = np.random.default_rng([10, seed])
    stated = scaled = -inf
    for steps in (1, 7, 40):
        for step, repeated in ((0.05, True), (0.5, False), (1.0, True), (5.0, False)):
            slopes, offsets = _pieces(rng, steps, repeated)
            first = rng.standard_normal(3) / 4
            record = online.descend(slopes, offsets, first, step, concave=concave)
            for rival in (rng.standard_normal(3), *(-step * steps * slopes.mean(axis=0))):
                regret, terms = online.sides(record, slopes, offsets, first, rival, step, concave=concave)
                stated = max(stated, regret - sum(terms))
                scaled = max(scaled, regret - sum(f * term for f, term in zip(factors, terms, strict=True)))
    return stated, scaled


def _steepest(seed: int) -> Instance:
    """The largest regret / printed right side over drawn sequences, improved by small changes of theta*."""
    rng = np.random.default_rng([11, seed])
    best = Instance(-inf, {})
    for _ in range(40):
        steps, step = int(rng.choice([1, 3, 20, 200])), float(np.exp(rng.normal(-1, 1.5)))
        slopes, offsets = _pieces(rng, steps, bool(rng.integers(2)))
        slopes = slopes * np.array([1.0, 0.05, 0.05, 0.05])[:, None] if rng.integers(2) else slopes
        first = rng.standard_normal(3) * float(rng.choice([0.0, 0.01, 0.5]))
        record, rival = (
            online.descend(slopes, offsets, first, step),
            -step * steps * slopes[:, 0].mean(axis=0),
        )
        for _ in range(10):
            regret, terms = online.sides(record, slopes, offsets, first, rival, step)
            settings = {"T": steps, "eta": step, "|theta_1|": float(np.linalg.norm(first))}
            best = max(best, Instance(regret / sum(terms), settings), key=lambda each: each.ratio)
            rival = rival * rng.uniform(0.8, 1.2) + rng.normal(0, 0.01, 3)
    return best


def _theorem_10_pairs() -> list[tuple[float, Fraction]]:
    """The three terms at rational points: eta, |theta*|, |theta_1| and the norms of the gradients."""
    pairs = []
    for eta, target, start, gradients in (
        (Fraction(1, 7), Fraction(3), Fraction(1, 2), (1, 2, 5)),
        (Fraction(5, 3), Fraction(1, 9), Fraction(4), (Fraction(1, 3), 7)),
    ):
        norms = np.array([float(each) for each in gradients])
        ours = online.terms(float(eta), float(target), float(start), norms)
        pairs += zip(ours, printed.theorem_10_terms(eta, target, start, gradients), strict=True)
    return pairs
