"""A rule that is equivariant under O(d) or O(d)^k and comes near the floors of :mod:`.equivariant_floor`.

With y_i, x_i the examples of a sample and x an input,

    f(x) = A sum_t phi_b(<z_t, x_t> / |z_t|),
    z_t = sum_i y_i x_{i,t} (LCN),    z_t = sum_i y_i sum_s x_{i,s} (CNN),

is what one step of gradient descent from 0 gives, with its threshold b and its scale A chosen for the law:
the best of ``BIASES`` and the best number. Rotating all examples rotates z alike, so f does not change. It
shares no code with the floors. Symbols: ``patches`` = k, ``patch_dim`` = d, ``sigma``, ``m``.
"""

from __future__ import annotations

from whyconv.lazy import np
from whyconv.measure.intervals import Interval, mean_interval
from whyconv.papers.lahoti.exact import oracle_signal

BIASES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
INPUTS = 16
"""Inputs drawn for every sample."""


def one_step_risk(
    network: str, patches: int, patch_dim: int, sigma: float, m: int, worlds: int, seed: int
) -> Interval:
    """The risk of the rule for ``network`` = cnn or lcn, over ``worlds`` signals, each with its own sample.

    A and b are chosen on the first half of the worlds, the risk is that on the others.
    """
    rng = np.random.default_rng([seed, patches, patch_dim, m])
    scores, answers = np.empty((worlds, INPUTS, len(BIASES))), np.empty((worlds, INPUTS))
    for world in range(worlds):
        signal = rng.standard_normal(patch_dim)
        signal /= np.linalg.norm(signal)
        x, y = oracle_signal.draw(signal, patches, sigma, m + INPUTS, rng)
        z = np.einsum("i,itj->tj", y[:m], x[:m])
        if network == "cnn":
            z = np.broadcast_to(z.sum(axis=0), z.shape)
        length = np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-300)
        answers[world] = y[m:]
        for number, bias in enumerate(BIASES):
            scores[world, :, number] = oracle_signal.network(z / length, bias, x[m:])
    half = worlds // 2
    seen, known = scores[:half], answers[:half, :, None]
    scale = (known * seen).mean(axis=(0, 1)) / np.maximum((seen**2).mean(axis=(0, 1)), 1e-300)
    best = int(((known - scale * seen) ** 2).mean(axis=(0, 1)).argmin())
    losses = (answers[half:] - scale[best] * scores[half:, :, best]) ** 2
    return mean_interval(losses.mean(axis=1))
