"""Activations by name, with the derivatives the papers' conventions ask for at kinks: zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from whyconv.lazy import jax, jnp

Activation = Literal["clipped-relu", "relu", "tanh", "sigmoid", "erf"]


def activation(name: Activation, cap: float) -> Callable[[jax.Array], jax.Array]:
    """sigma by name; ``cap`` = c is where the clipped ReLU, min(max(z, 0), c), is cut.

    sigma'(0) = 0 for both ReLUs and sigma'(c) = 0 for the clipped one; automatic differentiation of
    minima and maxima would give one half there, and lattice weights meet kinks all the time.
    """
    if name == "clipped-relu":
        return lambda z: jnp.where(z >= cap, cap, jnp.where(z > 0, z, 0.0))
    if name == "relu":
        return jax.nn.relu
    if name == "tanh":
        return jnp.tanh
    if name == "sigmoid":
        return jax.nn.sigmoid
    return jax.scipy.special.erf
