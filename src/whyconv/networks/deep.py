"""Deep networks on images: CNN, LCN, anything between them, and the FCN with as many layers.

Layers l = 1..L on images x of rows x columns x channels, sigma = ReLU:

    h_0 = x,   h_l = pool(sigma(W_l h_{l-1} + b_l)),   N(x) = U h_L + c,

where W_l sees windows of h_{l-1}, and all of it in the FCN. He initialisation,
w ~ N(0, 2/inputs of a neuron), u ~ N(0, 1/inputs of the readout), b = c = 0.

Weights are stored (out, in) and windows position-major: the fastest of the layouts tried on one core. Weights
(in, out) or examples last are slower, and JAX's own convolution is much slower inside a compiled loop on CPU.
``bench/training_step.py`` compares this layout with PyTorch.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field, field_validator, model_validator

from whyconv.lazy import jax, jnp, np
from whyconv.networks import Load, Network
from whyconv.networks._patches import Pair, Windows, cut_hidden, cut_inputs, pooled
from whyconv.networks.poolings import Pooling
from whyconv.pixels import pixel_order
from whyconv.views import FirstLayer

Params = dict[str, Any]
Shape = tuple[int, ...]
WIDTHS = (1024,)
FASTEST = 6.0
"""Full training speed over the usual rate of forecasts. Measured on steps of ``malach.fig1``, ``malach.fig3``
and ``lahoti.cifar``, one core: 5.6 to 7.5 from 64 neurons. With 16 channels: CNN 2.9 to 3.5, LCN 1.4 to 1.8
(a product and filters to update for every position). FCN of width 4: 0.4 to 0.6, of 25: 1.9 to 2.6."""


class Deep(Network):
    """ReLU layers on an image, a linear readout of ``outputs`` scores; ``biases`` everywhere or nowhere."""

    full_speed: ClassVar[int] = 60
    """The least number of neurons at which products run at full speed."""

    outputs: int = Field(1, ge=1, le=100_000)
    biases: bool = True

    @property
    def score_count(self) -> int:
        """``outputs``."""
        return self.outputs

    def refusal(self, shape: Shape) -> str:
        if len(shape) != 3:
            return (
                f"{self.name} reads images (rows, columns, channels), but these inputs have the shape {shape}"
            )
        return ""

    @abstractmethod
    def thinnest(self, shape: Shape) -> int:
        """The fewest neurons per window of any layer."""

    def load(self, shape: Shape, rows: int) -> Load:
        """Large products run at ``FASTEST`` times the usual rate, thin ones proportionally slower."""
        usual = super().load(shape, rows)
        speed = FASTEST * min(1.0, self.thinnest(shape) / self.full_speed)
        return usual._replace(flops=usual.flops / speed)

    def scored(self, params: Params, scores: jax.Array) -> jax.Array:
        """Scores (example, output) with their biases; a single one without its axis."""
        scores = scores + params["c"] if self.biases else scores
        return scores[:, 0] if self.outputs == 1 else scores


class Layer(NamedTuple):
    """Windows of ``inputs`` numbers each, ``channels`` filters per window, shared in each of ``groups``."""

    windows: Windows
    inputs: int
    channels: int
    groups: int


class DeepCNN(Deep, name="deep-cnn"):
    """Windows with shared filters in every layer, pooling between layers, a linear readout.

    h_l[p] = sigma(W_l h_{l-1}[window p] + b_l) for all positions p, then pooling over ``pool`` x ``pool``
    neighbouring positions (fewer at the end of a row or column; 1: no pooling).

    - ``channels``: one number per layer, from first to last.
    - ``kernel``, ``stride``: a number, or (rows, columns); the same in every layer. A kernel larger than
      what is left of the image is cut to its size.
    - ``padding``: *valid*, windows inside the image, (n - kernel) // stride + 1 along an axis of n pixels;
      *same*, ceil(n / stride), zeros on both sides, the odd one at the end.
    - ``readout``: *positions*, all remaining ones; *max* or *average* over them.

    Parameters: w[l] (groups, channels, window), b[l] (groups, channels), u (positions, outputs, channels),
    c (outputs,). A window is ordered by row, column, channel.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Figures 1, 3 and 4 (CNN)"
    example_axis: ClassVar[int] = 2
    full_speed: ClassVar[int] = 30

    channels: tuple[int, ...] = Field((32, 64), min_length=1, max_length=64)
    kernel: int | Pair = 3
    stride: int | Pair = 1
    padding: Literal["valid", "same"] = "valid"
    pool: int = Field(1, ge=1, le=10_000)
    pooling: Pooling = "max"
    readout: Literal["positions", "max", "average"] = "positions"

    @field_validator("channels")
    @classmethod
    def _positive(cls, channels: tuple[int, ...]) -> tuple[int, ...]:
        if min(channels) < 1:
            raise ValueError("every layer needs at least one channel, as in [32, 64]")
        return channels

    @field_validator("kernel", "stride")
    @classmethod
    def _sizes(cls, sizes: int | Pair) -> int | Pair:
        rows, columns = pair(sizes)
        if min(rows, columns) < 1:
            raise ValueError("give at least 1 pixel, as in 3 or [3, 5] (rows, columns)")
        return rows if rows == columns else (rows, columns)

    def thinnest(self, shape: Shape) -> int:
        return min(self.channels)

    def group_size(self, count: int) -> int:
        """How many neighbouring positions of ``count`` along an axis share filters: all."""
        return count

    def group_of(self, counts: Pair) -> np.ndarray:
        """The group of every position, from 0, row by row; groups are blocks of positions."""
        rows, columns = (np.arange(length) // self.group_size(length) for length in counts)
        return (rows[:, None] * (columns[-1] + 1) + columns).ravel()

    def windows(self, image: Pair) -> Windows:
        """The windows over an image or over an earlier layer's output."""
        return Windows.over(image, pair(self.kernel), pair(self.stride), self.padding == "same")

    def layers(self, shape: Shape) -> list[Layer]:
        """All layers."""
        layers, (*image, inputs) = [], shape
        for channels in self.channels:
            windows = self.windows((image[0], image[1]))
            groups = int(self.group_of(windows.counts)[-1]) + 1
            layers.append(Layer(windows, math.prod(windows.kernel) * inputs, channels, groups))
            image, inputs = [-(-length // self.pool) for length in windows.counts], channels
        return layers

    def read(self, layers: list[Layer]) -> int:
        """How many positions the readout sees."""
        if self.readout != "positions":
            return 1
        return math.prod(-(-length // self.pool) for length in layers[-1].windows.counts)

    def init(self, key: jax.Array, shape: Shape) -> Params:
        """{"w": [(groups, channels, window), ...], "u": (positions, outputs, channels)}, and biases."""
        layers = self.layers(shape)
        *keys, last = jax.random.split(key, len(layers) + 1)
        positions, channels = self.read(layers), self.channels[-1]
        params = {
            "w": [
                normal(each, (layer.groups, layer.channels, layer.inputs), 2 / layer.inputs)
                for each, layer in zip(keys, layers, strict=True)
            ],
            "u": normal(last, (positions, self.outputs, channels), 1 / (positions * channels)),
        }
        if self.biases:
            params["b"] = [jnp.zeros((layer.groups, layer.channels), float) for layer in layers]
            params["c"] = jnp.zeros(self.outputs, float)
        return params

    def prepare(self, x: jax.Array) -> jax.Array:
        """The first layer's windows: (row, column, example, window)."""
        _, rows, columns, _ = x.shape
        return cut_inputs(x, self.windows((rows, columns)))

    def apply(self, params: Params, x: jax.Array) -> jax.Array:
        h, pool = x, self.function("pooling")
        for number, w in enumerate(params["w"]):
            if number:
                h = cut_hidden(h, self.windows((h.shape[0], h.shape[1])))
            h = jax.nn.relu(self.filtered(h, w, params["b"][number] if self.biases else None))
            h = pooled(h, self.pool, self.pooling, pool) if self.pool > 1 else h
        if self.readout != "positions":
            h = h.max(axis=(0, 1)) if self.readout == "max" else h.mean(axis=(0, 1))
        h = h.reshape(-1, *h.shape[-2:])
        return self.scored(params, jnp.einsum("jic,joc->jio", h, params["u"]).sum(axis=0))

    def filtered(self, h: jax.Array, w: jax.Array, b: jax.Array | None) -> jax.Array:
        """W h + b for windows (row, column, example, window), each with the filters of its group."""
        rows, columns, examples, inputs = h.shape
        if len(w) == 1:
            z = h.reshape(-1, inputs) @ w[0].T
            z = z if b is None else z + b[0]
        else:
            if len(w) < rows * columns:
                group = self.group_of((rows, columns))
                w, b = w[group], None if b is None else b[group]
            z = jnp.einsum("jik,jck->jic", h.reshape(-1, examples, inputs), w)
            z = z if b is None else z + b[:, None]
        return z.reshape(rows, columns, examples, -1)

    def parameter_count(self, shape: Shape) -> int:
        """sum_l groups_l channels_l (window_l + 1) + outputs (positions channels_L + 1).

        Without biases the + 1 are dropped.
        """
        layers = self.layers(shape)
        hidden = sum(layer.groups * layer.channels * (layer.inputs + self.biases) for layer in layers)
        return hidden + self.outputs * (self.read(layers) * self.channels[-1] + self.biases)

    def flops(self, shape: Shape) -> int:
        """2 sum_l positions_l window_l channels_l, including padding, and the readout."""
        layers = self.layers(shape)
        hidden = sum(layer.windows.positions * layer.inputs * layer.channels for layer in layers)
        return 2 * (hidden + self.outputs * self.read(layers) * self.channels[-1])

    def view(self, params: Params, shape: Shape) -> FirstLayer:
        """The filters of the first layer at the middle position."""
        windows = self.windows((shape[0], shape[1]))
        rows, columns = windows.counts
        group = self.group_of(windows.counts)[rows // 2 * columns + columns // 2]
        return FirstLayer(np.asarray(params["w"][0])[group].reshape(-1, *windows.kernel, shape[2]))


class DeepLCN(DeepCNN, name="deep-lcn"):
    """Separate filters at every position of every layer: locality without weight sharing."""

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Figures 3 and 4 (LCN)"
    full_speed: ClassVar[int] = 60

    def group_size(self, count: int) -> int:
        """Each alone."""
        return 1


class DeepPartlyShared(DeepCNN, name="deep-partly-shared"):
    """Filters shared by blocks of ``group`` x ``group`` positions: from the LCN (1) to the CNN (all)."""

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, between CNN and LCN"

    group: int = Field(2, ge=1, le=100_000)

    def group_size(self, count: int) -> int:
        """``group``; the last block of a row or column may be smaller."""
        return self.group


class DeepFCN(Deep, name="deep-fcn"):
    """Every neuron of every layer sees the whole previous layer.

    The layers have the given ``widths``, or one common width that comes closest to a budget of ``parameters``
    in ``depth`` layers.

    ``coupled``: the first weights are permuted like the pixels of a permuted image
    (:func:`whyconv.pixels.pixel_order`). On such images the network equals the plain one on plain images,
    at the start and, for optimisers that treat all parameters alike, after every step.

    Parameters: w[l] (out, in), b[l] (out,), u (outputs, in), c (outputs,).
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Figures 1, 3 and 4 (FCN)"

    widths: tuple[int, ...] = Field(WIDTHS, min_length=1, max_length=64)
    parameters: int | None = Field(default=None, ge=1)
    depth: int | None = Field(default=None, ge=1, le=64)
    coupled: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> DeepFCN:
        if min(self.widths) < 1:
            raise ValueError("every layer needs at least one neuron, as in widths = [1024, 64]")
        if (self.parameters is None) != (self.depth is None):
            raise ValueError(
                "parameters is a budget for depth layers of one width; give both settings or neither"
            )
        if self.parameters is not None and self.widths != WIDTHS:
            raise ValueError("give either widths, or parameters and depth")
        return self

    def thinnest(self, shape: Shape) -> int:
        return min(self.sizes(shape))

    def lineage(self) -> dict[str, Any]:
        """The same random numbers, coupled or not."""
        return {name: value for name, value in self.canonical().items() if name != "coupled"}

    def sizes(self, shape: Shape) -> tuple[int, ...]:
        """The neurons of every layer.

        A common width q of d layers on n inputs takes P(q) = (d - 1) q^2 + (n + outputs + d) q + outputs
        parameters (without biases, d and the last term are dropped), which grows with q. Of the two integers
        around the root of P(q) = budget the closer one is used; the smaller one on a tie.
        """
        if self.parameters is None or self.depth is None:
            return self.widths
        depth, linear = self.depth, math.prod(shape) + self.outputs + self.biases * self.depth
        budget = self.parameters - self.biases * self.outputs
        if depth == 1:
            below = budget // linear
        else:
            below = (math.isqrt(max(linear**2 + 4 * (depth - 1) * budget, 0)) - linear) // (2 * (depth - 1))
        around = (max(below, 1), max(below, 0) + 1)
        width = min(around, key=lambda q: abs(((depth - 1) * q + linear) * q - budget))
        return (width,) * depth

    def init(self, key: jax.Array, shape: Shape) -> Params:
        """{"w": [(out, in), ...], "u": (outputs, in)}, and biases."""
        sizes = self.sizes(shape)
        *keys, last = jax.random.split(key, len(sizes) + 1)
        inputs = (math.prod(shape), *sizes)
        w = [normal(each, (sizes[i], inputs[i]), 2 / inputs[i]) for i, each in enumerate(keys)]
        if self.coupled:
            w[0] = w[0].reshape(sizes[0], -1, shape[2])[:, pixel_order(shape)].reshape(w[0].shape)
        params = {"w": w, "u": normal(last, (self.outputs, sizes[-1]), 1 / sizes[-1])}
        if self.biases:
            params["b"] = [jnp.zeros(size, float) for size in sizes]
            params["c"] = jnp.zeros(self.outputs, float)
        return params

    def prepare(self, x: jax.Array) -> jax.Array:
        """(example, all numbers)."""
        return x.reshape(len(x), math.prod(x.shape[1:]))

    def apply(self, params: Params, x: jax.Array) -> jax.Array:
        h = x
        for number, w in enumerate(params["w"]):
            z = h @ w.T
            h = jax.nn.relu(z + params["b"][number] if self.biases else z)
        return self.scored(params, h @ params["u"].T)

    def parameter_count(self, shape: Shape) -> int:
        """sum_l out_l (in_l + 1), including the readout; without biases the + 1 is dropped."""
        sizes = (math.prod(shape), *self.sizes(shape), self.outputs)
        return sum(after * (before + self.biases) for before, after in pairwise(sizes))

    def flops(self, shape: Shape) -> int:
        """2 sum_l out_l in_l."""
        sizes = (math.prod(shape), *self.sizes(shape), self.outputs)
        return 2 * sum(before * after for before, after in pairwise(sizes))

    def view(self, params: Params, shape: Shape) -> FirstLayer:
        """The weights of every neuron of the first layer, as images."""
        return FirstLayer(np.asarray(params["w"][0]).reshape(-1, *shape))


def pair(sizes: int | Pair) -> Pair:
    """(rows, columns)."""
    return (sizes, sizes) if isinstance(sizes, int) else sizes


def normal(key: jax.Array, shape: Shape, variance: float) -> jax.Array:
    return jax.random.normal(key, shape, dtype=float) * variance**0.5
