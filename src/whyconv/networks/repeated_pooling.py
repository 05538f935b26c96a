"""Convolution and pooling, repeated: the deeper architecture that Brutzkus & Globerson leave open."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

from pydantic import Field, field_validator

from whyconv.lazy import jax, jnp
from whyconv.networks import Network
from whyconv.views import RowSet


class RepeatedPool(Network, name="repeated-pool"):
    """Filters, ReLU and max-pooling over neighbouring positions, several times, then a linear readout.

    h_0[j] = x[j];  h_s[g] = max over the positions j of group g of ReLU(h_{s-1}[j] W_s),
    N(x) = a . h_last, where the last stage pools over all remaining positions.

    Symbols: ``stages`` holds the channels k_s of every stage, ``group`` the number of positions pooled
    together before the last stage (the last group may be smaller). One stage is ConvPool with max-pooling.
    He initialisation, W_s ~ N(0, 2/inputs), a ~ N(0, 1/k_last).
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, section 8 (repeated pooling)"

    stages: tuple[int, ...] = Field((500, 50), min_length=1, max_length=8)
    group: int = Field(2, ge=1, le=10_000)

    @field_validator("stages")
    @classmethod
    def _positive(cls, stages: tuple[int, ...]) -> tuple[int, ...]:
        if min(stages) < 1:
            raise ValueError("every stage needs at least one channel, as in [500, 50]")
        return stages

    def init(self, key: jax.Array, shape: tuple[int, ...]) -> dict[str, Any]:
        """{"stages": [(inputs, channels), ...], "a": (channels,)}."""
        keys = jax.random.split(key, len(self.stages) + 1)
        sizes = (shape[1], *self.stages)
        weights = [
            jax.random.normal(keys[s], (sizes[s], sizes[s + 1]), dtype=float) * (2 / sizes[s]) ** 0.5
            for s in range(len(self.stages))
        ]
        last = sizes[-1]
        return {"stages": weights, "a": jax.random.normal(keys[-1], (last,), dtype=float) / last**0.5}

    def apply(self, params: dict[str, Any], x: jax.Array) -> jax.Array:
        """The scores of inputs (example, position, d)."""
        h = x
        for stage, weights in enumerate(params["stages"], start=1):
            h = jax.nn.relu(h @ weights)
            size = h.shape[1] if stage == len(self.stages) else self.group
            h = jnp.stack([h[:, j : j + size].max(axis=1) for j in range(0, h.shape[1], size)], axis=1)
        return h[:, 0] @ params["a"]

    def parameter_count(self, shape: tuple[int, ...]) -> int:
        """sum_s k_{s-1} k_s + k_last, with k_0 = d."""
        sizes = (shape[1], *self.stages)
        return sum(a * b for a, b in pairwise(sizes)) + sizes[-1]

    def flops(self, shape: tuple[int, ...]) -> int:
        """2 k_{s-1} k_s for every position a stage sees, and the readout."""
        positions, sizes = shape[0], (shape[1], *self.stages)
        total = 2 * sizes[-1]
        for inputs, channels in pairwise(sizes):
            total += 2 * positions * inputs * channels
            positions = -(-positions // self.group)
        return total

    def view(self, params: dict[str, Any], shape: tuple[int, ...]) -> RowSet | None:
        """One stage takes a maximum over all positions; with more, the order of positions matters."""
        del params
        return RowSet() if len(self.stages) == 1 or self.group >= shape[0] else None
