"""Malach & Shalev-Shwartz, Lemmas 8 and 9 and Theorem 10: how far gradient descent moves, and what it costs.

Checked at every step of exact descents over all 2^n inputs: at n = 4, k = 2, q = 40,000 on the compressed
network, and at q = 40 on the compressed and the plain network, which share no code. ``step`` = eta.
"""

from __future__ import annotations

from typing import Any, ClassVar

from whyconv.claims import Claim
from whyconv.lazy import NDArray, np
from whyconv.papers.malach.exact import bounds
from whyconv.papers.malach.exact import online_descent as online
from whyconv.papers.malach.exact.bounds import loss_drift_bound, step_size
from whyconv.papers.malach.exact.oracle_windows import PlainPath
from whyconv.papers.malach.exact.routes import Walks, walk
from whyconv.papers.malach.exact.runs import COUNTEREXAMPLE, Batch, batch
from whyconv.papers.malach.exact.window_descent import Path
from whyconv.verdict import Evidence, Verdict

AGREE = 1e-12
"""The compressed and the plain descent may differ by this; they differ by about 1e-14 at most."""
SLACK = 1 + 1e-9
"""Ratios to a bound may exceed 1 by rounding only."""


def large_runs(**options: Any) -> tuple[Batch, Path, float, NDArray]:
    """18 problems at n = 4, k = 2, q = 40,000, T = 2000; their descent at Theorem 4's step; the step; probes.

    The probes are u* of Lemma 6, -u*, and two drawn readouts on all windows.
    """
    steps = 2000
    runs = batch(4, 2, 40_000, ("parity", "and", "dictator"), (1, 3), ("uniform", "biased", "markov"), seed=8)
    drawn = np.random.default_rng(9).standard_normal((len(runs.labels), 2, *runs.star.shape[1:])) / 400
    probes = np.concatenate([runs.star[:, None], -runs.star[:, None], drawn], axis=1)
    step = step_size(4, runs.width, steps)
    return runs, runs.descend(step, steps, probes=probes, **options), step, probes


def small_walks(**options: Any) -> list[Walks]:
    """Six problems at q = 40, each walked by both routes with steps large enough to bend everything."""
    return [
        walk("parity", 1, **options),
        walk("parity", 3, "biased", **options),
        walk("and", 2, "markov", **options),
        walk("dictator", 1, "biased", **options),
        walk("random", 3, n_bits=5, k_window=3, steps=30, reach=8.0, seed=3, **options),
        walk("majority", 2, "point", n_bits=5, k_window=3, steps=30, reach=2.0, **options),
    ]


class Lemma8(Claim, name="malach.lemma8"):
    """GD moves little: |u^(T,j)| <= c eta T sqrt(q) and |W^(T) - W^(0)| <= c eta^2 T^2 n sqrt(q k).

    Printed without c in the first bound (the appendix has it). That form fails: sigma(z) = clip(5 + z, 0, 6),
    g = AND. With c both hold at every t, the second even with T (T-1)/2 for T^2 and n - k + 1 for n; a
    distribution on one input comes near that.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Lemma 8"
    expected: ClassVar[Verdict] = "holds as corrected"
    broken: ClassVar = "a readout that starts at 1, not at 0"

    def decide(self, broken: str) -> Evidence:
        start = 1.0 if broken else 0.0
        runs, path, step, _ = large_runs(start=start)
        bent = batch(4, 2, 40_000, ("and",), (1, 3), ("uniform", "biased", "point"), seed=8)
        tall = bent.descend(5e-9, 200, activation=COUNTEREXAMPLE, start=start)
        walks = small_walks(start=start)
        walks += [
            walk("and", at, law, reach=0.001, activation=COUNTEREXAMPLE, start=start)
            for at, law in ((1, "uniform"), (3, "point"))
        ]
        theorem = _moves(path, step, 4, 2, runs.width, 1.0)
        counter = _moves(tall, 5e-9, 4, 2, bent.width, COUNTEREXAMPLE.cap)
        small = [
            _moves(record, each.step, each.n_bits, each.k_window, each.width, each.activation.cap)
            for each in walks
            for record in (each.path, each.plain)
        ]
        with_c, without_c, moved, sharp = (
            max(values) for values in zip(theorem, counter, *small, strict=True)
        )
        apart = max(each.gap for each in walks)
        verdict: Verdict = "fails"
        if max(with_c, moved, sharp) <= SLACK and apart <= AGREE:
            verdict = "holds as corrected" if without_c > SLACK else "holds"
        return Evidence(
            verdict,
            {
                "largest |u| / (c eta t sqrt(q)), clipped ReLU": theorem[0],
                "largest |u| / (c eta t sqrt(q)), counterexample": counter[0],
                "the same without c, counterexample": counter[1],
                "the same without c, plain network": small[-1][1],
                "largest |W - W0| / bound": moved,
                "largest |W - W0| / sharper bound": sharp,
                "compressed and plain differ by": apart,
            },
        )


def _moves(path: Path | PlainPath, step: float, n: int, k: int, width: int, cap: float) -> tuple[float, ...]:
    """Largest ratios over t >= 1: |u| with c and without, |W - W0|; and to its sharper bound over t >= 2."""
    times = range(1, len(path.loss))
    norms = [float(path.readout_norms[t].max()) for t in times]
    drift = [float(path.drift[t].max()) for t in times]
    sharper = [bounds.sharp_drift_bound(step, t, n - k + 1, k, width, cap) for t in times]
    return (
        max(norm / bounds.readout_bound(step, t, width, cap) for t, norm in zip(times, norms, strict=True)),
        max(norm / bounds.readout_bound(step, t, width, 1.0) for t, norm in zip(times, norms, strict=True)),
        max(far / bounds.drift_bound(step, t, n, k, width, cap) for t, far in zip(times, drift, strict=True)),
        max(far / bound for far, bound in zip(drift[1:], sharper[1:], strict=True)),
    )


class Lemma9(Claim, name="malach.lemma9"):
    """For every u*, |L(u*, W^(T)) - L(u*, W^(0))| <= c eta^2 T^2 n k sqrt(q) sum_j |u*^(j)|.

    Readouts u* tried: Lemma 6's, its negative (every hinge active), and drawn ones on all windows. Copies
    of one filter may share one value: only their sum counts for L, and equal values have the least norm.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Lemma 9"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = "a readout that starts at 1, not at 0: filters move before the lemma allows it"

    def decide(self, broken: str) -> Evidence:
        start = 1.0 if broken else 0.0
        runs, path, step, probes = large_runs(start=start)
        norms = runs.norms(probes).sum(axis=-1)
        large = _shift(path.probe_loss, norms, step, 4, 2, runs.width)
        walks = small_walks(start=start)
        sizes = [(each.star_norm, each.step, each.n_bits, each.k_window, each.width) for each in walks]
        compressed = [_shift(w.path.probe_loss, *size) for w, size in zip(walks, sizes, strict=True)]
        plain = [_shift(w.plain.probe_loss, *size) for w, size in zip(walks, sizes, strict=True)]
        apart = max(each.gap for each in walks)
        worst = max(large, *compressed, *plain)
        change = float(np.abs(path.probe_loss - path.probe_loss[0]).max())
        moved = max(float(np.abs(each.plain.probe_loss - each.plain.probe_loss[0]).max()) for each in walks)
        return Evidence(
            "holds" if worst <= SLACK and apart <= AGREE and moved > 0.01 else "fails",
            {
                "largest |change of L| / bound, q = 40,000": large,
                "largest |change of L| / bound, compressed, q = 40": max(compressed),
                "largest |change of L| / bound, plain, q = 40": max(plain),
                "largest |change of L|, q = 40,000": change,
                "largest |change of L|, q = 40": moved,
                "compressed and plain differ by": apart,
            },
        )


def _shift(losses: NDArray, norms: Any, step: float, n: int, k: int, width: int) -> float:
    """max over t >= 1 of |L(u*, W^(t)) - L(u*, W^(0))| / Lemma 9's bound; c = 1, ``norms`` = sum |u*^(j)|."""
    return max(
        float((abs(losses[t] - losses[0]) / loss_drift_bound(step, t, n, k, width, 1.0, norms)).max())
        for t in range(1, len(losses))
    )


class Theorem10(Claim, name="malach.thm10"):
    """Online GD on convex f_t: mean f_t(theta_t) <= mean f_t(theta*) + the three printed terms; any theta*.

    The terms: |theta*|^2 / (2 eta T), |theta_1| mean |grad_t|, eta mean |grad_t|^2. Shown with eta/2 in the
    last one, which is best possible: equal linear f_t attain it. Routes: f_t = L(., W^(t)) along the
    compressed and the plain descents; maxima of affine functions, drawn anew at every step, on plain
    vectors with theta_1 != 0.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Theorem 10"
    expected: ClassVar[Verdict] = "holds"
    broken: ClassVar = "concave functions: minima of affine ones in place of maxima"

    def decide(self, broken: str) -> Evidence:
        runs, path, step, _ = large_runs()
        squares = (runs.norms(runs.star) ** 2).sum(axis=-1)
        mean_star, mean_loss = path.probe_loss[:-1, :, 0].mean(axis=0), path.loss[:-1].mean(axis=0)
        energy = (path.gradients**2).mean(axis=0)
        regret = mean_loss - mean_star - squares / (2 * step * path.steps)
        large = float((regret - step / 2 * energy).max())
        walks = small_walks()
        plain = max(online.excess_of_walk(each.plain, each.step, each.star_norm) for each in walks)
        drawn, halved = zip(*_drawn_sequences(concave=bool(broken)), strict=True)
        attained = online.excess_of_equal_linear(np.array([1.0, -2.0, 0.5]), step=0.1, steps=50)
        apart = max(each.gap for each in walks)
        holds = max(large, plain, *drawn, *halved) <= 1e-9 and abs(attained) <= 1e-12 and apart <= AGREE
        return Evidence(
            "holds" if holds else "fails",
            {
                "largest excess over the bound, drawn f_t": max(drawn),
                "the same with eta/2": max(halved),
                "with eta/2, equal linear f_t": attained,
                "with eta/2, the CNN's losses, q = 40,000": large,
                "with eta/2, the plain CNN's losses, q = 40": plain,
                "mean loss, worst run, q = 40,000": float(mean_loss.max()),
                "compressed and plain differ by": apart,
            },
        )


def _drawn_sequences(concave: bool) -> list[tuple[float, float]]:
    """Excess over Theorem 10's right side, and the same with eta/2, for the worst theta* of 48 sequences.

    Half of the sequences repeat one function. theta* is a drawn vector or -eta T times the mean slope of one
    piece, the best rival a linear f_t could have.
    """
    rng = np.random.default_rng(10)
    found = []
    for steps, step in ((steps, step) for steps in (1, 7, 40) for step in (0.01, 0.1, 1.0, 5.0)):
        for repeated in (True, True, False, False):
            drawn = 1 if repeated else steps
            slopes = np.broadcast_to(rng.standard_normal((drawn, 4, 3)), (steps, 4, 3))
            offsets = np.broadcast_to(rng.standard_normal((drawn, 4)), (steps, 4))
            first = rng.standard_normal(3) / 4
            rivals = [rng.standard_normal(3), *(-step * steps * slopes.mean(axis=0))]
            record = online.descend(slopes, offsets, first, step, concave=concave)
            worst = [
                max(online.excess(record, slopes, offsets, first, rival, step, factor, concave=concave)
                    for rival in rivals)
                for factor in (1.0, 0.5)
            ]  # fmt: skip
            found.append((worst[0], worst[1]))
    return found
