"""Elementwise activations sigma(z), with derivative zero at kinks, as in the papers.

sigma'(0) = 0 for both ReLUs, and sigma'(c) = 0 for the clipped one; automatic differentiation of minima and
maxima would give one half there, and weights on a lattice often hit kinks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from whyconv.functions import Choice, Plain, adding
from whyconv.lazy import jax, jnp

Activation = Annotated[str, Choice("activation")]


def activation(name: str, *, exact: Any = None, version: int = 1) -> Callable[[Plain], Plain]:
    """Add ``function(z)`` as an activation; JAX differentiates it.

    ``exact``, an :class:`whyconv.exact.fourier.activations.Activation`, is what the engines of
    :mod:`whyconv.exact` use under the same name. Without it they refuse the name; training does not need it.
    """
    return adding("activation", name, "z", version=version, companions={"exact": exact})


@activation("clipped-relu")
def clipped_relu(z: jax.Array, cap: float) -> jax.Array:
    """min(max(z, 0), c), ``cap`` = c."""
    return jnp.where(z >= cap, cap, jnp.where(z > 0, z, 0.0))


@activation("relu")
def relu(z: jax.Array) -> jax.Array:
    """max(z, 0)."""
    return jax.nn.relu(z)


@activation("leaky-relu")
def leaky_relu(z: jax.Array, leak: float) -> jax.Array:
    """max(``leak`` z, z)."""
    return jnp.where(z > 0, z, leak * z)


@activation("tanh")
def tanh(z: jax.Array) -> jax.Array:
    """The hyperbolic tangent."""
    return jnp.tanh(z)


@activation("sigmoid")
def sigmoid(z: jax.Array) -> jax.Array:
    """1 / (1 + exp(-z))."""
    return jax.nn.sigmoid(z)


@activation("erf")
def erf(z: jax.Array) -> jax.Array:
    """(2 / sqrt(pi)) times the integral of exp(-t^2) from 0 to z."""
    return jax.scipy.special.erf(z)
