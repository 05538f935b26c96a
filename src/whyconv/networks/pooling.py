"""ConvPool: filters over positions, ReLU, pooling, linear readout (Brutzkus & Globerson, Eq. 1)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from whyconv.errors import UserError
from whyconv.lazy import jax, jnp
from whyconv.networks import Network
from whyconv.networks.poolings import Pooling
from whyconv.views import Pooled

if TYPE_CHECKING:
    from collections.abc import Callable


class ConvPool(Network, name="conv-pool"):
    """Shared filters over positions, ReLU, max-pooling, linear readout.

    N(x) = sum_i a_i max_j ReLU(w_i . x[j]),   i = 1..k, j over windows.

    Symbols: ``channels`` = k, w of shape (window, k) (the paper's W transposed; its R^{k x n} should
    read R^{k x d}), a of shape (k,).

    - ``pooling``: ``max`` as in the paper; ``average``; ``soft``, the log-mean-exp
      (1/s) log mean_j exp(s z_j) with ``sharpness`` s, between average (s -> 0) and max; or one of
      your own (:mod:`whyconv.networks.poolings`).
    - ``stride``: None for the paper's windows, one per position; a number of coordinates below the pattern's
      dimension makes windows of the same size overlap on the flattened input.
    - ``init_law``: ``he``, w ~ N(0, 2/window), a ~ N(0, 1/k); ``sphere``, the theorem's: w uniform on
      the sphere of ``radius``, a uniform in {-1, 1}.

    Only the window with the maximum gets a gradient (the first one on ties, none if the maximum is not
    positive). Cost: 2 * windows * window * channels FLOPs per example, forward.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, Eq. 1"
    example_axis: ClassVar[int] = 1

    channels: int = Field(500, ge=1, le=10_000_000)
    pooling: Pooling = "max"
    sharpness: float = Field(4.0, gt=0, le=1e4)
    stride: int | None = Field(None, ge=1)
    init_law: Literal["he", "sphere"] = "he"
    radius: float = Field(1e-3, gt=0, le=1e3)

    def windows(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """(number of windows, size of a window)."""
        if len(shape) != 2:
            raise UserError(
                f"{self.name} reads inputs of two axes (positions, window), but these have the shape "
                f"{shape}; take another task or network."
            )
        positions, window = shape
        if self.stride is None:
            return positions, window
        if self.stride > window:
            raise UserError(
                f"stride = {self.stride} skips coordinates of a window of {window}; take stride <= {window}."
            )
        return (positions * window - window) // self.stride + 1, window

    def init(self, key: jax.Array, shape: tuple[int, ...]) -> dict[str, jax.Array]:
        """{"w": (window, channels), "a": (channels,)}."""
        _, window = self.windows(shape)
        first, last = jax.random.split(key)
        w = jax.random.normal(first, (window, self.channels), dtype=float)
        if self.init_law == "he":
            a = jax.random.normal(last, (self.channels,), dtype=float) / self.channels**0.5
            return {"w": w * (2 / window) ** 0.5, "a": a}
        w = self.radius * w / jnp.linalg.norm(w, axis=0)
        return {"w": w, "a": jax.random.rademacher(last, (self.channels,), w.dtype)}

    def prepare(self, x: jax.Array) -> jax.Array:
        """(example, position, d) -> (window index, example, window): position-major."""
        windows, window = self.windows(tuple(x.shape[1:]))
        if self.stride is None:
            return jnp.swapaxes(x, 0, 1)
        flat = x.reshape(x.shape[0], -1)
        return jnp.stack([flat[:, j * self.stride : j * self.stride + window] for j in range(windows)])

    def features(self, params: dict[str, Any], x: jax.Array) -> jax.Array:
        """The pooled activations z(x), (example, channels)."""
        if self.pooling == "max":
            return _max_pool()(params["w"], x)
        return self.function("pooling")(jax.nn.relu(x @ params["w"]))

    def apply(self, params: dict[str, Any], x: jax.Array) -> jax.Array:
        return self.features(params, x) @ params["a"]

    def parameter_count(self, shape: tuple[int, ...]) -> int:
        """k (d + 1)."""
        return self.channels * (self.windows(shape)[1] + 1)

    def flops(self, shape: tuple[int, ...]) -> int:
        """2 k d for every window, and 2 k for the readout."""
        windows, window = self.windows(shape)
        return 2 * self.channels * (windows * window + 1)

    def view(self, params: dict[str, Any], shape: tuple[int, ...]) -> Pooled | None:
        """Filters and readout, if max-pooling is over whole positions."""
        del shape
        whole = self.pooling == "max" and self.stride is None
        return Pooled(params["w"], params["a"]) if whole else None


@cache
def _max_pool() -> Callable[[jax.Array, jax.Array], jax.Array]:
    """max_j ReLU(x_j @ w) with a hand-written gradient that touches only the winner.

    All windows are one matrix product; its largest entry over windows and the place of the first such entry
    are kept, and the gradient is one matrix product with the winners. Plain autodiff keeps all activations
    and spreads gradients over ties; it is three to five times slower here. A loop over windows is as fast as
    this but takes twice as long to compile; unrolled, it is computed again for the gradient. Gathering the
    winners' windows instead of multiplying by zeros is slower: a gather reads one number at a time. Tested
    against autodiff and finite differences.
    """

    def forward(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        scores = (x.reshape(-1, x.shape[2]) @ w).reshape(x.shape[0], x.shape[1], w.shape[1])
        best = jnp.maximum(scores.max(axis=0), 0)
        return best, jnp.where(best > 0, jnp.argmax(scores, axis=0).astype(jnp.int16), -1)

    def keep(w: jax.Array, x: jax.Array) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        best, winner = forward(w, x)
        return best, (w, x, winner)

    def back(kept: tuple[jax.Array, ...], grad: jax.Array) -> tuple[jax.Array, jax.Array]:
        w, x, winner = kept
        index = jnp.arange(x.shape[0], dtype=winner.dtype)[:, None, None]
        won = jnp.where(winner == index, grad, 0).reshape(-1, w.shape[1])
        return x.reshape(-1, x.shape[2]).T @ won, (won @ w.T).reshape(x.shape)

    pool = jax.custom_vjp(lambda w, x: forward(w, x)[0])
    pool.defvjp(keep, back)
    return pool
