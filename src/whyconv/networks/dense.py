"""One hidden layer without windows: the fully connected baseline."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from pydantic import Field

from whyconv.lazy import jax
from whyconv.networks import Network
from whyconv.networks.activations import Activation
from whyconv.pixels import grid_order


class MLP(Network, name="mlp"):
    """One hidden layer that sees the whole input.

    N(x) = sum_i a_i psi(w_i . x),  psi the ``activation``: relu, leaky-relu max(leak * z, z), or another one.

    The ``width`` is given, or matched to a budget of ``parameters`` (that of the paper's ConvPool):
    round(parameters / (inputs + 1)), at least 1. No biases, as in the paper's Eq. 8. He
    initialisation, w ~ N(0, 2/inputs), a ~ N(0, 1/width).

    ``coupled``: the first weights are permuted like the pixels of a permuted square of images
    (:func:`whyconv.pixels.grid_order`). On such images the network equals the plain one on plain images,
    at the start and, for optimisers that treat all parameters alike, after every step.

    Cost: 2 * width * (inputs + 1) FLOPs per example, forward.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, Eq. 8 and section 7"

    width: int | None = Field(None, ge=1, le=10_000_000)
    parameters: int = Field(10_500, ge=1)
    activation: Activation = "relu"
    leak: float = Field(0.1, gt=0, lt=1)
    coupled: bool = False

    def lineage(self) -> dict[str, Any]:
        """The same random numbers, coupled or not."""
        return {name: value for name, value in self.canonical().items() if name != "coupled"}

    def refusal(self, shape: tuple[int, ...]) -> str:
        """A coupled network needs squares of square grey images."""
        if self.coupled and not (len(shape) == 2 and all(math.isqrt(size) ** 2 == size for size in shape)):
            return (
                f"mlp with coupled = true is for squares of square grey images, but these inputs have the "
                f"shape {shape}"
            )
        return ""

    def hidden(self, shape: tuple[int, ...]) -> int:
        """The number of hidden neurons for this input shape."""
        if self.width is not None:
            return self.width
        return max(1, round(self.parameters / (math.prod(shape) + 1)))

    def init(self, key: jax.Array, shape: tuple[int, ...]) -> dict[str, jax.Array]:
        """{"w": (inputs, width), "a": (width,)}."""
        first, last = jax.random.split(key)
        inputs, width = math.prod(shape), self.hidden(shape)
        w = jax.random.normal(first, (inputs, width), dtype=float) * (2 / inputs) ** 0.5
        if self.coupled:
            w = w[grid_order(shape)]
        return {"w": w, "a": jax.random.normal(last, (width,), dtype=float) / width**0.5}

    def prepare(self, x: jax.Array) -> jax.Array:
        """(example, all coordinates)."""
        return x.reshape(x.shape[0], -1)

    def apply(self, params: dict[str, Any], x: jax.Array) -> jax.Array:
        return self.function("activation")(x @ params["w"]) @ params["a"]

    def parameter_count(self, shape: tuple[int, ...]) -> int:
        """width * (inputs + 1)."""
        return self.hidden(shape) * (math.prod(shape) + 1)

    def flops(self, shape: tuple[int, ...]) -> int:
        """2 * width * (inputs + 1)."""
        return 2 * self.parameter_count(shape)
