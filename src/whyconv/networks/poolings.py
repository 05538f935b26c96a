"""Poolings: one number from the activations z of several positions, the first axis of an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from whyconv.functions import Choice, Plain, adding
from whyconv.lazy import jax, jnp

Pooling = Annotated[str, Choice("pooling")]


def pooling(name: str, *, version: int = 1) -> Callable[[Plain], Plain]:
    """Add ``function(z)`` as a pooling: it reduces the first axis of z."""
    return adding("pooling", name, "z", version=version)


@pooling("max")
def largest(z: jax.Array) -> jax.Array:
    """max_j z_j."""
    return z.max(axis=0)


@pooling("average")
def average(z: jax.Array) -> jax.Array:
    """The mean of the z_j."""
    return z.mean(axis=0)


@pooling("soft")
def soft(z: jax.Array, sharpness: float) -> jax.Array:
    """(1/s) log mean_j exp(s z_j), ``sharpness`` = s: from the average (s -> 0) to the maximum."""
    return (jax.nn.logsumexp(sharpness * z, axis=0) - jnp.log(len(z))) / sharpness
