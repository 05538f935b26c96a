"""Malach & Shalev-Shwartz, after Theorem 12: what rounding leaves of an FCN's first step, by dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from whyconv.claims import Claim
from whyconv.verdict import Evidence, Verdict

DTYPES: tuple[str, ...] = ("float16", "float32", "float64")


class FinitePrecision(Claim, name="malach.finite-precision"):
    """In finite precision an FCN's first gradient is as good as zero: at n = 1024 in float32, not in float64.

    "If we run GD on a finite-precision machine, the true population gradient is effectively zero", no
    precision named. Here tanh, weights N(0, 1/n), u = 1, b = 0.3, step 1, k = log2 n. The exact gradients of
    five neurons are really subtracted from their weights: at n = 1024 no weight changes by a bit in float16
    and float32, while in float64 they move; at n = 8192 float64 loses the step too. Second route: the root
    mean square of dL/dw_j, j in I, by the Hermite series, against half a unit in the last place of 1/sqrt(n).
    It is the *sum* that rounds: 5e-13 is a float32 like any other, so methods that rescale the gradient
    (Adam) are not stopped; and it is the first population step, not training, that is lost.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, section 4, after Theorem 12"
    expected: ClassVar[Verdict] = "holds as corrected"
    broken: ClassVar[str] = "a parity of 2 bits in place of log2 n"

    def check(self) -> Evidence:
        return self._decide(lambda n_bits: n_bits.bit_length() - 1)

    def control(self) -> Evidence:
        return self._decide(lambda n_bits: 2)

    def _decide(self, pattern: Callable[[int], int]) -> Evidence:
        draws = {1024: 5, 8192: 1}
        typical = {n: _typical_partial(n, pattern(n)) for n in draws}
        moved, unit, agree = {}, {}, True
        for n, neurons in draws.items():
            counts = _weights_moved(n, pattern(n), neurons)
            for dtype in DTYPES:
                moved[dtype, n], unit[dtype, n] = counts[dtype], _half_unit(dtype, n)
                agree &= (counts[dtype] == 0) == (typical[n] < unit[dtype, n])
        lost = {place: count == 0 for place, count in moved.items()}
        verdict: Verdict = "fails"
        if agree and lost["float16", 1024] and lost["float32", 1024] and lost["float64", 8192]:
            verdict = "holds" if lost["float64", 1024] else "holds as corrected"
        return Evidence(
            verdict,
            {
                "typical dL/dw_j, j in I, n = 1024": typical[1024],
                "half a unit of a weight, float32": unit["float32", 1024],
                "half a unit of a weight, float64": unit["float64", 1024],
                **{f"of 5,120 weights moved, {dtype}": moved[dtype, 1024] for dtype in DTYPES},
                "typical dL/dw_j, j in I, n = 8192": typical[8192],
                "of 8,192 weights moved, float64": moved["float64", 8192],
            },
        )


def _weights_moved(n_bits: int, k_pat: int, draws: int) -> dict[str, int]:
    """By dtype, how many weights of ``draws`` neurons change when their gradient is subtracted."""
    import numpy as np

    from whyconv.exact.fourier import partials

    moved = dict.fromkeys(DTYPES, 0)
    for draw in range(draws):
        weights = np.random.default_rng([15, n_bits, draw]).normal(0, n_bits**-0.5, n_bits)
        gradient = -np.asarray(partials("tanh", weights, 0.3, range(k_pat)).value)
        for dtype in moved:
            before = weights.astype(dtype)
            moved[dtype] += int(np.count_nonzero(before - gradient.astype(dtype) != before))
    return moved


def _typical_partial(n_bits: int, k_pat: int) -> float:
    """sqrt(E (dL/dw_j)^2) for j in I, weights N(0, 1/n)."""
    from whyconv.exact.bit_networks import tanh_slope
    from whyconv.exact.initial_gradient import gaussian_square

    return gaussian_square(tanh_slope, n_bits, k_pat - 1, 0.3) ** 0.5


def _half_unit(dtype: str, n_bits: int) -> float:
    """Half the distance from 1/sqrt(n) to the next number of that dtype."""
    import numpy as np

    return float(np.spacing(np.dtype(dtype).type(n_bits**-0.5))) / 2
