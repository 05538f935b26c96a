"""Losses l(f, y) per example, with arguments in Optax's order: scores f, labels y.

Labels are -1 or 1, and f has the shape of y. A loss for ``several`` scores per example gets f of shape
(example, class), and y holds class numbers. Learners take the mean over examples and differentiate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from whyconv import registry
from whyconv.functions import Choice, Plain, adding
from whyconv.lazy import jax, jnp, optax
from whyconv.networks import Network

Loss = Annotated[str, Choice("loss")]


def loss(
    name: str, *, several: bool = False, unbounded: bool = False, version: int = 1
) -> Callable[[Plain], Plain]:
    """Add ``function(f, y)`` as a loss: for ``several`` scores per example, or ``unbounded`` from below."""
    about = {"several": several, "unbounded": unbounded}
    return adding("loss", name, "f", "y", version=version, settings=False, companions=about)


def mismatch(name: str, network: Network | None) -> str:
    """Why the loss does not suit this network; empty if it does."""
    several = registry.find("loss", name).companions["several"]
    if network is None or (network.score_count > 1) == several:
        return ""
    return (
        f"loss = {name} was given for a network of {network.score_count} outputs; take "
        "cross-entropy for several outputs, another loss for a single one"
    )


@loss("logistic")
def logistic(f: jax.Array, y: jax.Array) -> jax.Array:
    """log(1 + exp(-y f))."""
    return jax.nn.softplus(-y * f)


@loss("hinge")
def hinge(f: jax.Array, y: jax.Array) -> jax.Array:
    """max(0, 1 - y f), with derivative 0 at the kink."""
    return jnp.where(y * f < 1, 1 - y * f, 0.0)


@loss("squared")
def squared(f: jax.Array, y: jax.Array) -> jax.Array:
    """(y - f)^2."""
    return (y - f) ** 2


@loss("correlation", unbounded=True)
def correlation(f: jax.Array, y: jax.Array) -> jax.Array:
    """-y f, which has no minimum: for learners that take a fixed number of steps in a bounded set."""
    return -y * f


@loss("cross-entropy", several=True)
def cross_entropy(f: jax.Array, y: jax.Array) -> jax.Array:
    """-log softmax(f)_y, for several classes."""
    return optax.softmax_cross_entropy_with_integer_labels(f, y.astype(int))
