"""A network written in Flax as an arm of a study; it trains by the same learner as all others.

    whyconv run brutzkus.fig3a --load examples/flax_arm.py --set arms.ConvPool.network=own.flax-pool

Needs ``pip install flax``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from pydantic import Field

from whyconv.networks import Network


class Pooled(nn.Module):
    """Max-pooling over windows, and a second layer on what it leaves."""

    channels: int
    hidden: int

    @nn.compact
    def __call__(self, x: Any) -> Any:
        found = nn.relu(nn.Dense(self.channels)(x)).max(axis=1)
        return nn.Dense(1)(nn.relu(nn.Dense(self.hidden)(found)))[:, 0]


class FlaxPool(Network, name="own.flax-pool"):
    """A Flax module as a network: a filter for all windows, max-pooling, a hidden layer."""

    reference: ClassVar[str] = "this file"
    channels: int = Field(100, ge=1)
    hidden: int = Field(16, ge=1)

    @property
    def module(self) -> Pooled:
        return Pooled(self.channels, self.hidden)

    def init(self, key: Any, shape: tuple[int, ...]) -> Any:
        return self.module.init(key, jnp.zeros((1, *shape)))

    def apply(self, params: Any, x: Any) -> Any:
        return self.module.apply(params, x)

    def parameter_count(self, shape: tuple[int, ...]) -> int:
        made = jax.eval_shape(lambda: self.init(jax.random.key(0), shape))
        return sum(leaf.size for leaf in jax.tree.leaves(made))

    def flops(self, shape: tuple[int, ...]) -> int:
        return 2 * self.channels * (shape[0] * shape[1] + self.hidden) + 2 * self.hidden
