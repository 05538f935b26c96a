"""Sample sizes and alignments of Lahoti et al. 2024, as far as secondary sources report them.

Symbols: ``patches`` = k, ``patch_dim`` = d, ``sigma``, ``m`` = examples. The theorems' constants are unknown:
only the growth of rates can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt

RATES: dict[str, Callable[[float, float], float]] = {
    "cnn-upper": lambda k, d: (k + d) * log(k * d),
    "lcn-upper": lambda k, d: k * (k + d) * log(k * d),
    "lcn-lower": lambda k, d: k * d,
    "fcn-lower": lambda k, d: k * k * d,
}


def rate(name: str, patches: float, patch_dim: float, sigma: float) -> float:
    """The number of examples, up to a constant, of the theorem called ``name``.

    cnn-upper: sigma^2 (k+d) ln(kd); lcn-upper: sigma^2 k (k+d) ln(kd); lcn-lower: sigma^2 k d; fcn-lower:
    sigma^2 k^2 d. Upper: two-step projected gradient descent; lower: any equivariant algorithm.
    """
    if name not in RATES:
        raise ValueError(f"there is no rate {name!r}; take one of {', '.join(RATES)}")
    return sigma**2 * RATES[name](patches, patch_dim)


def first_step_alignment(network: str, patches: float, patch_dim: float, sigma: float, m: float) -> float:
    """The cosine between a filter and the signal after one gradient step from nearly zero, at b = 0.

    For ``network`` = lcn the step is proportional to (1/m) sum y x_i, a signal of length 1/k in noise of
    length sigma sqrt(d/m); for cnn it is the sum over patches, 1 in sigma sqrt(k d / m):

        1 / sqrt(1 + sigma^2 k^2 d / m)  (lcn),    1 / sqrt(1 + sigma^2 k d / m)  (cnn).

    Our derivation, for m >> k: lcn assumes that m/k examples have their signal in the patch.
    """
    copies = {"lcn": patches**2, "cnn": patches}
    if network not in copies:
        raise ValueError(f"there is no alignment of {network!r}; take one of lcn, cnn")
    return 1 / sqrt(1 + sigma**2 * copies[network] * patch_dim / m)
