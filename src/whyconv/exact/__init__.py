"""Exact results without sampling: laws, closed forms, dimensions and bounds, in float64 NumPy.

The Fourier coefficients of a neuron, and thus the population gradients of Theorem 12 (Malach &
Shalev-Shwartz), are available here: ``from whyconv.exact import coefficient, partials``. docs/exact.md
describes what is exact and what each engine does. The other modules are imported by name.
"""

from whyconv.exact.fourier.activations import Activation, clip, piecewise_linear
from whyconv.exact.fourier.front import (
    FourierGap,
    Gaussian,
    Signs,
    choose,
    coefficient,
    expected_gradient_square,
    expected_square,
    fourier_gap,
    level_weights,
    partials,
)
from whyconv.exact.fourier.lattice import on_lattice
from whyconv.exact.fourier.scaled import Choice, Scaled

__all__ = [
    "Activation",
    "Choice",
    "FourierGap",
    "Gaussian",
    "Scaled",
    "Signs",
    "choose",
    "clip",
    "coefficient",
    "expected_gradient_square",
    "expected_square",
    "fourier_gap",
    "level_weights",
    "on_lattice",
    "partials",
    "piecewise_linear",
]
