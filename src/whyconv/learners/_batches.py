"""Examples by number, in chunks: those that count, and sums over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from whyconv.lazy import jax, jnp


class Data(NamedTuple):
    """Prepared examples, or what they are made from; ``m`` rows count, starting at ``first``."""

    x: Any
    y: jax.Array
    first: jax.Array
    m: jax.Array
    order: Any = ()
    """What the examples of an epoch share, if they are made batch by batch."""
    weights: Any = ()
    """How much each row counts in the loss, 1 on average; empty: all count alike."""

    def chunks(self, size: int) -> jax.Array:
        """The number of chunks of ``size`` rows, including a last, incomplete one."""
        return (self.m + size - 1) // size

    def rows(self, order: jax.Array, begin: jax.Array, size: int) -> tuple[jax.Array, jax.Array]:
        """``size`` row numbers of ``order`` starting at ``begin``, and 1 for those that count, else 0."""
        place = begin + jnp.arange(size)
        inside = place < self.m
        return self.first + order[jnp.where(inside, place, 0)], inside.astype(float)

    def summed(self, function: Callable[..., Any], zero: Any, chunk: int) -> Any:
        """The sum of ``function(row numbers, counts)`` over the rows that count, ``chunk`` at a time."""
        plain = jnp.arange(self.y.shape[0])
        size = min(chunk, self.y.shape[0])

        def add(c: jax.Array, so_far: Any) -> Any:
            return jax.tree.map(jnp.add, so_far, function(*self.rows(plain, c * size, size)))

        return jax.lax.fori_loop(0, self.chunks(size), add, zero)
