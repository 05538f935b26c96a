"""Sample sizes and alignments of Lahoti et al. 2024, as far as secondary sources report them.

Symbols: ``patches`` = k, ``patch_dim`` = d, ``sigma``, ``m`` = examples. The theorems' constants are unknown:
only the growth of rates can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt


@dataclass(frozen=True)
class Rate:
    """sigma^s times a sum of monomials k^a d^b, times ln(kd) if ``logarithm``.

    ``terms`` are the pairs (a, b), ``noise`` is s, ``formula`` how it is written.
    """

    formula: str
    terms: tuple[tuple[float, float], ...]
    noise: float = 2.0
    logarithm: bool = False

    def __call__(self, patches: float, patch_dim: float, sigma: float) -> float:
        powers = sum(patches**a * patch_dim**b for a, b in self.terms)
        return sigma**self.noise * powers * (log(patches * patch_dim) if self.logarithm else 1.0)

    def growth(self, in_k: float, in_d: float, patches: float, patch_dim: float) -> tuple[float, float]:
        """The least and the largest exponent with which the rate grows if k ~ t^in_k and d ~ t^in_d.

        A sum such as c_1 k + c_2 d, whose constants are unknown, may grow like any of its terms on a finite
        range. The logarithm counts as its local exponent (in_k + in_d) / ln(kd) at ``patches``,
        ``patch_dim``.
        """
        steps = [a * in_k + b * in_d for a, b in self.terms]
        more = (in_k + in_d) / log(patches * patch_dim) if self.logarithm else 0.0
        return min(steps) + more, max(steps) + more


RATES: dict[str, Rate] = {
    "cnn-upper": Rate("σ²(k+d) ln(kd)", ((1, 0), (0, 1)), logarithm=True),
    "lcn-upper": Rate("σ²k(k+d) ln(kd)", ((2, 0), (1, 1)), logarithm=True),
    "lcn-lower": Rate("σ²kd", ((1, 1),)),
    "fcn-lower": Rate("σ²k²d", ((2, 1),)),
}

SHARED: tuple[Rate, ...] = (
    Rate("σ²", ((0, 0),)),
    Rate("σ²d", ((0, 1),)),
    Rate("σ²k", ((1, 0),)),
    Rate("σ²kd", ((1, 1),)),
    Rate("σ²k²", ((2, 0),)),
    Rate("σ²d²", ((0, 2),)),
    Rate("σ²(kd)^1.25", ((1.25, 1.25),)),
    Rate("σ²k²d", ((2, 1),)),
    Rate("σ²kd²", ((1, 2),)),
)
RIVALS: dict[str, tuple[Rate, ...]] = {
    "CNN": (
        RATES["cnn-upper"],
        Rate("σ²(k+d)", ((1, 0), (0, 1))),
        Rate("σ(k+d) ln(kd)", ((1, 0), (0, 1)), 1.0, logarithm=True),
        Rate("σ³(k+d) ln(kd)", ((1, 0), (0, 1)), 3.0, logarithm=True),
        Rate("σ²√(kd)", ((0.5, 0.5),)),
        Rate("σ²√(k+d) ln(kd)", ((0.5, 0), (0, 0.5)), logarithm=True),
        *SHARED,
    ),
    "LCN": (
        RATES["lcn-upper"],
        Rate("σ²(k+d) ln(kd)", ((1, 0), (0, 1)), logarithm=True),
        Rate("σk(k+d) ln(kd)", ((2, 0), (1, 1)), 1.0, logarithm=True),
        Rate("σ³k(k+d) ln(kd)", ((2, 0), (1, 1)), 3.0, logarithm=True),
        Rate("σkd", ((1, 1),), 1.0),
        Rate("σ³kd", ((1, 1),), 3.0),
        Rate("σ²k²(k+d)", ((3, 0), (2, 1))),
        *SHARED,
    ),
    "FCN": (
        Rate("σk²d", ((2, 1),), 1.0),
        Rate("σ³k²d", ((2, 1),), 3.0),
        Rate("σ²k²d²", ((2, 2),)),
        Rate("σ²k³d", ((3, 1),)),
        Rate("σ²k^1.5 d", ((1.5, 1),)),
        Rate("σ²k²√d", ((2, 0.5),)),
        *SHARED,
    ),
}
"""Rates that could be mistaken for those of the theorems, by network; theirs are among them."""


def rate(name: str, patches: float, patch_dim: float, sigma: float) -> float:
    """The number of examples, up to a constant, of the theorem called ``name``.

    cnn-upper: sigma^2 (k+d) ln(kd); lcn-upper: sigma^2 k (k+d) ln(kd); lcn-lower: sigma^2 k d; fcn-lower:
    sigma^2 k^2 d. Upper: two-step projected gradient descent; lower: any equivariant algorithm.
    """
    if name not in RATES:
        raise ValueError(f"there is no rate {name!r}; take one of {', '.join(RATES)}")
    return RATES[name](patches, patch_dim, sigma)


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
