"""Sums of soft thresholds over patches: CNN, LCN, anything between them, and FCN of Lahoti et al."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, Literal

from pydantic import Field

from whyconv.lazy import jax, jnp, np
from whyconv.networks import Network
from whyconv.views import Thresholds

Shape = tuple[int, ...]


class Threshold(Network):
    """f(x) = sum over nodes i of phi_b(<w_i, what node i sees of x>), with |w_i| <= 1 and b >= 0.

    phi_b(z) = ReLU(z - b) - ReLU(-z - b), the local signal adaptivity (LSA) activation: a soft threshold,
    odd, phi_0(z) = z, with derivative 1 where |z| > b and 0 elsewhere. There is one node per patch, all
    output weights are 1, and the threshold ``bias`` = b is one trained number; ``bias`` and ``init_scale``
    give the start, b and w ~ N(0, init_scale^2 / inputs of a node), projected. (The paper's start is unknown
    to us. From |w| = 0.1, as has been suggested, one run in four gets stuck at b = 0 or is dead from the
    first step, |z| < b everywhere; from |w| near 1 hardly any.)

    ``constrained`` = False drops the ball, not b >= 0. ``activation`` = "relu" unties the two halves of
    phi_b: ReLU(<u_i, x> - b) - ReLU(<v_i, x> - b), twice the filters. ``second_layer`` > 0 adds that many
    ReLU neurons on top, a . ReLU(U h + c) + a_0, all trained, for labels that depend on two patches, which no
    sum over patches can express; h are the nodes, summed over patches that share a filter (one for the CNN).

    Prepared inputs are (block, coordinate, example): patch-major with examples last.
    """

    example_axis: ClassVar[int] = 2

    activation: Literal["lsa", "relu"] = "lsa"
    bias: float = Field(0.03, ge=0, le=1e3)
    init_scale: float = Field(1.0, gt=0, le=1e3)
    constrained: bool = True
    second_layer: int = Field(0, ge=0, le=4096)

    @abstractmethod
    def blocks(self, shape: Shape) -> tuple[int, int, int]:
        """(parts of the input, nodes per part, entries per part)."""

    @abstractmethod
    def group_size(self, blocks: int) -> int:
        """How many neighbouring parts share filters; the last group may be smaller."""

    def refusal(self, shape: Shape) -> str:
        if len(shape) == 2:
            return ""
        return f"{self.name} reads inputs of shape (patches, patch_dim), but these have the shape {shape}"

    def groups(self, shape: Shape) -> int:
        blocks = self.blocks(shape)[0]
        return -(-blocks // self.group_size(blocks))

    def group_of(self, blocks: int) -> np.ndarray:
        """The group of every part, from 0."""
        return np.arange(blocks) // self.group_size(blocks)

    def features(self, shape: Shape) -> int:
        """How many numbers a second layer reads: nodes, summed over those that share a filter."""
        return self.groups(shape) * self.blocks(shape)[1]

    @property
    def halves(self) -> int:
        """Filters per node: 1, or 2 if the halves of the activation are untied."""
        return 1 if self.activation == "lsa" else 2

    def init(self, key: jax.Array, shape: Shape) -> dict[str, jax.Array]:
        """{"w": (groups, nodes, entries), "b": ()}, and "u", "c", "a", "a0" of a second layer."""
        _, nodes, entries = self.blocks(shape)
        first, middle, last = jax.random.split(key, 3)
        w = jax.random.normal(first, (self.groups(shape), nodes * self.halves, entries), dtype=float)
        params = {"w": self.init_scale * w / entries**0.5, "b": jnp.asarray(self.bias, float)}
        if width := self.second_layer:
            params["u"] = jax.random.normal(middle, (width, self.features(shape)), dtype=float)
            params["a"] = jax.random.normal(last, (width,), dtype=float) / width**0.5
            params |= {"c": jnp.zeros((width,), float), "a0": jnp.zeros((), float)}
        return self.constrain(params)

    def constrain(self, params: dict[str, Any]) -> dict[str, Any]:
        """Filters outside the unit ball are scaled onto it; b below 0 becomes 0."""
        w = params["w"]
        if self.constrained:
            w = w / jnp.maximum(jnp.linalg.norm(w, axis=-1, keepdims=True), 1.0)
        return {**params, "w": w, "b": jnp.maximum(params["b"], 0.0)}

    def prepare(self, x: jax.Array) -> jax.Array:
        """(example, patches, patch_dim) -> (block, entry, example)."""
        blocks, _, entries = self.blocks(x.shape[1:])
        return jnp.moveaxis(x.reshape(len(x), blocks, entries), 0, 2)

    def apply(self, params: dict[str, Any], x: jax.Array) -> jax.Array:
        w, blocks = params["w"], len(x)
        if len(w) == 1 < blocks:
            w = jnp.broadcast_to(w, (blocks, *w.shape[1:]))
        elif len(w) < blocks:
            w = w[self.group_of(blocks)]
        z = jnp.einsum("bnd,bdc->bnc", w, x)
        if self.activation == "lsa":
            h = soft_threshold()(z, params["b"])
        else:
            above = jax.nn.relu(z - params["b"])
            h = above[:, ::2] - above[:, 1::2]
        if not self.second_layer:
            return h.sum((0, 1))
        if len(params["w"]) < blocks:
            h = jax.ops.segment_sum(h, self.group_of(blocks), len(params["w"]))
        hidden = jax.nn.relu(params["u"] @ h.reshape(-1, h.shape[2]) + params["c"][:, None])
        return params["a"] @ hidden + params["a0"]

    def view(self, params: dict[str, Any], shape: Shape) -> Thresholds | None:
        """The filters of all parts and b, if the network is just a sum of soft thresholds."""
        if not plain(self):
            return None
        group = self.group_of(self.blocks(shape)[0])
        return Thresholds(np.asarray(params["w"], np.float64)[group], float(params["b"]))

    def parameter_count(self, shape: Shape) -> int:
        """groups * nodes * entries + 1, the first term twice for ReLU; (features + 2) width + 1 on top."""
        _, nodes, entries = self.blocks(shape)
        top = (self.features(shape) + 2) * self.second_layer + 1 if self.second_layer else 0
        return self.groups(shape) * nodes * entries * self.halves + 1 + top

    def flops(self, shape: Shape) -> int:
        """2 * blocks * nodes * entries, twice for ReLU; 2 (features + 1) width more for a second layer."""
        top = 2 * (self.features(shape) + 1) * self.second_layer
        return 2 * math.prod(self.blocks(shape)) * self.halves + top


class ThresholdCNN(Threshold, name="lsa-cnn"):
    """One filter for all patches: f(x) = sum_i phi_b(<w, x_i>)."""

    reference: ClassVar[str] = "Lahoti et al., CNN with LSA activation"

    def blocks(self, shape: Shape) -> tuple[int, int, int]:
        return shape[0], 1, shape[1]

    def group_size(self, blocks: int) -> int:
        return blocks


class ThresholdLCN(ThresholdCNN, name="lsa-lcn"):
    """A separate filter for every patch: f(x) = sum_i phi_b(<w_i, x_i>)."""

    reference: ClassVar[str] = "Lahoti et al., LCN with LSA activation"

    def group_size(self, blocks: int) -> int:
        """Each alone."""
        return 1


class ThresholdPartlyShared(ThresholdCNN, name="lsa-partly-shared"):
    """Filters shared by ``group`` neighbouring patches: from the LCN (1) to the CNN (all)."""

    reference: ClassVar[str] = "between the LCN and the CNN of Lahoti et al."

    group: int = Field(4, ge=1, le=100_000)

    def group_size(self, blocks: int) -> int:
        """``group``: patches 1..g, g+1..2g, and so on."""
        return min(self.group, blocks)


class ThresholdFCN(Threshold, name="lsa-fcn"):
    """As many nodes as patches, each seeing the whole input: f(x) = sum_i phi_b(<w_i, x>)."""

    reference: ClassVar[str] = "Lahoti et al., FCN with LSA activation"

    def blocks(self, shape: Shape) -> tuple[int, int, int]:
        return 1, shape[0], math.prod(shape)

    def group_size(self, blocks: int) -> int:
        return 1


def plain(network: Threshold) -> bool:
    """Whether the network is a sum of soft thresholds and nothing else."""
    return network.activation == "lsa" and not network.second_layer


@cache
def soft_threshold() -> Callable[[jax.Array, jax.Array], jax.Array]:
    """phi_b(z) with a hand-written derivative: one mask for both arguments, zero at the kinks.

    Training is a third faster than with automatic differentiation of two maxima.
    """

    @jax.custom_jvp
    def phi(z: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.where(jnp.abs(z) > b, z - jnp.sign(z) * b, 0.0)

    @phi.defjvp
    def derivative(at: Any, direction: Any) -> Any:
        (z, b), (dz, db) = at, direction
        beyond = jnp.abs(z) > b
        return jnp.where(beyond, z - jnp.sign(z) * b, 0.0), jnp.where(beyond, dz - jnp.sign(z) * db, 0.0)

    return phi
