"""The population gradient of a tanh neuron on a parity, all n coordinates: exactly, or by sampling.

``python population_gradient.py exact | sampled | reference NEURON OUT``: NEURON is an npz file with
``weights``, ``bias``, ``size`` (the parity is that of the first bits), ``samples``, and the ``chosen``
coordinates of the reference. OUT gets ``gradient``, ``seconds`` and ``peak_bytes``.

    g_j = E[chi_I(x) x_j tanh'(<w, x> + b)],    chi_I(x) = prod_{i in I} x_i,    x uniform on {-1, 1}^n

*reference* is mpmath with 40 digits, by another rule than the exact engine's: Gauss-Legendre pieces of the
integral over the characteristic function, refined until they agree.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

Values = Mapping[str, Any]
CHUNK = 4096
DIGITS = 40
END = 16
"""Where the reference's integral is cut: prod cos(t w_i) is about exp(-t^2 / 2), 1e-56 there."""


def exact(given: Values) -> np.ndarray:
    """whyconv's engine."""
    from whyconv.exact.fourier.front import partials

    return np.asarray(partials("tanh", given["weights"], float(given["bias"]), range(given["size"])).value)


def sampled(given: Values) -> np.ndarray:
    """The mean over random inputs, a chunk at a time, in NumPy."""
    weights, bias, size, samples = (given[name] for name in ("weights", "bias", "size", "samples"))
    rng, total = np.random.default_rng(1), np.zeros(len(weights))
    single = weights.astype(np.float32)
    for first in range(0, int(samples), CHUNK):
        count = min(CHUNK, int(samples) - first)
        bits = np.unpackbits(rng.integers(0, 256, (count, -(-len(weights) // 8)), np.uint8), axis=1)
        x = bits[:, : len(weights)].astype(np.float32) * 2 - 1
        slope = 1 - np.tanh(x @ single + np.float32(bias)) ** 2
        total += (x[:, :size].prod(axis=1) * slope) @ x
    return total / int(samples)


def reference(given: Values) -> np.ndarray:
    """g_j = 1/pi int_0^oo Dhat(t) Re(i^a exp(itb)) prod_A sin(t w_i) prod_{not A} cos(t w_i) dt.

    A = I xor {j}, a = |A|, Dhat(t) = pi t / sinh(pi t / 2).
    """
    import mpmath as mp

    mp.mp.dps = DIGITS
    weights, size = [mp.mpf(float(w)) for w in given["weights"]], int(given["size"])
    bias = mp.mpf(float(given["bias"]))

    @cache
    def common(t: Any) -> Any:
        """What all coordinates share: the product of I itself, and Dhat."""
        return (
            mp.pi
            * t
            / mp.sinh(mp.pi * t / 2)
            * mp.fprod(mp.sin(t * w) for w in weights[:size])
            * mp.fprod(mp.cos(t * w) for w in weights[size:])
        )

    def integrand(j: int) -> Callable[[Any], Any]:
        order = size - 1 if j < size else size + 1
        phase = (mp.cos, lambda u: -mp.sin(u), lambda u: -mp.cos(u), mp.sin)[order % 4]
        swap = mp.cot if j < size else mp.tan
        return lambda t: common(t) * swap(t * weights[j]) * phase(t * bias)

    pieces = list(range(0, END + 1, 2))
    found = [mp.quad(integrand(int(j)), pieces, method="gauss-legendre") / mp.pi for j in given["chosen"]]
    return np.array([float(each) for each in found])


def peak_bytes() -> int:
    """The largest resident memory of this process so far; it may be over before anyone outside looks."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    """Compute, and write what it took."""
    how, neuron, out = sys.argv[1:]
    given = dict(np.load(neuron))
    compute = {"exact": exact, "sampled": sampled, "reference": reference}[how]
    if how == "exact":
        compute({**given, "weights": given["weights"][:16]})  # imports
    began = time.perf_counter()
    gradient = compute(given)
    seconds = time.perf_counter() - began
    np.savez(Path(out), gradient=gradient, seconds=seconds, peak_bytes=peak_bytes())


if __name__ == "__main__":
    main()
