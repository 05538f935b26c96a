"""Networks over windows of the input: CNN, LCN, anything between them, and the FCN as one large window."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

from pydantic import Field

from whyconv.lazy import jax, jnp, np
from whyconv.networks import Network, Setting
from whyconv.networks.activations import Activation
from whyconv.networks.tables import Tables, all_windows, best_block, pays

Frozen = Literal["w", "b"]
Shape = tuple[int, ...]


class Windowed(Network):
    """h(x) = sum_j <u^(j), sigma(W^(j) x_window(j) + b^(j))>, filters shared by groups of windows.

    Window j holds k entries of x, starting at (j-1) * stride; there are (n - k) // stride + 1 windows
    (n - k + 1 at stride 1: the paper's sums stop one short). Each has its own readout u^(j) of ``filters``
    = q numbers. The networks of this module differ in which windows share W and b.

    Parameters: w (groups, k, q), b (groups, q), u (windows, q). Those named in ``frozen`` keep their
    initial values: the biases, in the paper's analysis and by default.

    ``init_law``: *theorem* is that of Lemma 6, W uniform on {-1/k, +1/k} and b = 1/k - 1 (sorted by
    type, since the order of filters does not matter); *normal* draws w and b from N(0, 1/k),
    *uniform* from [-1/sqrt(k), 1/sqrt(k)] (Comment 7 expects the same of natural choices). ``readout``:
    u = 0, or u ~ N(0, 1 / (windows * q)).
    """

    example_axis: ClassVar[int] = 1

    filters: int = Field(256, ge=1, le=2_000_000_000)
    activation: Activation = "clipped-relu"
    cap: float = Field(1.0, gt=0)
    init_law: Literal["theorem", "normal", "uniform"] = "theorem"
    readout: Literal["zero", "normal"] = "zero"
    frozen: tuple[Frozen, ...] = ("b",)

    @abstractmethod
    def window(self, shape: Shape) -> int:
        """The number of entries of a window."""

    @property
    @abstractmethod
    def step(self) -> int:
        """The distance between the starts of neighbouring windows."""

    @abstractmethod
    def group_size(self, windows: int) -> int:
        """How many neighbouring windows share filters; the last group may be smaller."""

    @property
    def fixed(self) -> tuple[str, ...]:
        return self.frozen

    def refusal(self, shape: Shape) -> str:
        """Inputs must have one axis, and windows must fit into it."""
        if len(shape) != 1:
            return f"{self.name} reads inputs of one axis, but these have the shape {shape}"
        if self.window(shape) > shape[0]:
            return f"k_window = {self.window(shape)} does not fit into {shape[0]} entries; take a smaller one"
        return ""

    def windows(self, shape: Shape) -> int:
        (n,) = shape
        return (n - self.window(shape)) // self.step + 1

    def group_of(self, windows: int) -> np.ndarray:
        """The group of every window, from 0."""
        return np.arange(windows) // self.group_size(windows)

    def groups(self, shape: Shape) -> int:
        windows = self.windows(shape)
        return -(-windows // self.group_size(windows))

    def places(self, shape: Shape) -> np.ndarray:
        """Which entries each window holds, (windows, k)."""
        starts = self.step * np.arange(self.windows(shape))
        return starts[:, None] + np.arange(self.window(shape))

    def init(self, key: jax.Array, shape: Shape) -> dict[str, jax.Array]:
        """{"w": (groups, k, q), "b": (groups, q), "u": (windows, q)}."""
        first, middle, last = jax.random.split(key, 3)
        windows, groups, k, q = self.windows(shape), self.groups(shape), self.window(shape), self.filters
        if self.init_law == "theorem":
            w, b = self._signs(first, groups, k) / k, jnp.full((groups, q), 1 / k - 1)
        elif self.init_law == "normal":
            w = jax.random.normal(first, (groups, k, q), dtype=float) / k**0.5
            b = jax.random.normal(middle, (groups, q), dtype=float) / k**0.5
        else:
            w = jax.random.uniform(first, (groups, k, q), float, -1.0, 1.0) / k**0.5
            b = jax.random.uniform(middle, (groups, q), float, -1.0, 1.0) / k**0.5
        u = jnp.zeros((windows, q), float)
        if self.readout == "normal":
            u = jax.random.normal(last, (windows, q), dtype=float) / (windows * q) ** 0.5
        return {"w": w, "b": b, "u": u}

    def _signs(self, key: jax.Array, groups: int, k: int) -> jax.Array:
        """Uniform signs, (groups, k, q): equal filters side by side if there are more filters than types."""
        if 2**k >= self.filters:
            return jax.random.rademacher(key, (groups, k, self.filters), float)
        number, total = jnp.arange(2**k), self.filters
        types = [jnp.repeat(number, each, total_repeat_length=total) for each in self.counts(key, groups, k)]
        return jnp.swapaxes(all_windows(k)[jnp.stack(types)], 1, 2)

    def counts(self, key: jax.Array, groups: int, k: int) -> jax.Array:
        """How many of the q filters of each group have each of the 2^k types: multinomial, for any q."""

        def draw(words: Any) -> np.ndarray:
            rng = np.random.default_rng([int(word) for word in np.ravel(np.asarray(words))])
            drawn = rng.multinomial(self.filters, np.full(2**k, 0.5**k), size=groups)
            return drawn.astype(np.int32)

        shape = jax.ShapeDtypeStruct((groups, 2**k), jnp.int32)
        return jax.pure_callback(draw, shape, jax.random.key_data(key))

    def prepare(self, x: jax.Array) -> jax.Array:
        """(example, n) -> (window, example, k): window-major."""
        return jnp.moveaxis(x[:, self.places(x.shape[1:])], 1, 0)

    def sigma(self, z: jax.Array) -> jax.Array:
        """The activation."""
        return self.function("activation")(z)

    def apply(self, params: dict[str, Any], x: jax.Array) -> jax.Array:
        w, b, u = params["w"], params["b"], params["u"]
        if len(w) == 1:
            z = (x.reshape(-1, x.shape[2]) @ w[0]).reshape(x.shape[0], x.shape[1], -1) + b[0]
        else:
            group = self.group_of(len(x))
            z = jnp.einsum("jik,jkq->jiq", x, w[group]) + b[group][:, None]
        return jnp.einsum("jiq,jq->i", self.sigma(z), u)

    def faster(self, setting: Setting) -> Network:
        """Tables if inputs are signs and windows repeat; with multiplicities if filters repeat."""
        shape, k, q = setting.shape, self.window(setting.shape), self.filters
        counted = self.init_law == "theorem" and self.readout == "zero" and setting.elementwise and 2**k < q
        if setting.signs and pays(self, shape, setting.rows, counted):
            return Tables(of=self, counted=counted, block=best_block(self, shape, setting.rows))
        return self

    def parameter_count(self, shape: Shape) -> int:
        """q (groups (k + 1) + windows)."""
        return self.filters * (self.groups(shape) * (self.window(shape) + 1) + self.windows(shape))

    def flops(self, shape: Shape) -> int:
        """2 q (k + 1) per window."""
        return 2 * self.filters * (self.window(shape) + 1) * self.windows(shape)


class CNN(Windowed, name="cnn"):
    """One set of filters for all windows, and a readout for each of them."""

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Definition 1"

    k_window: int = Field(4, ge=1, le=100_000)
    stride: int = Field(1, ge=1, le=100_000)

    @property
    def step(self) -> int:
        """``stride``."""
        return self.stride

    def window(self, shape: Shape) -> int:
        """``k_window``."""
        return self.k_window

    def group_size(self, windows: int) -> int:
        return windows


class LCN(CNN, name="lcn"):
    """Separate filters for every window: locality without weight sharing."""

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Definition 11"

    def group_size(self, windows: int) -> int:
        """Each alone."""
        return 1


class PartlyShared(CNN, name="partly-shared"):
    """Filters shared by ``group`` neighbouring windows: from the LCN (1) to the CNN (all)."""

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, between Definitions 1 and 11"

    group: int = Field(4, ge=1, le=100_000)

    def group_size(self, windows: int) -> int:
        """``group``: windows 1..g, g+1..2g, and so on."""
        return self.group


class FCN(Windowed, name="fcn"):
    """Every filter sees the whole input: one window as wide as the input."""

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, Definition 2"

    init_law: Literal["theorem", "normal", "uniform"] = "normal"
    readout: Literal["zero", "normal"] = "normal"

    @property
    def step(self) -> int:
        return 1

    def window(self, shape: Shape) -> int:
        (n,) = shape
        return n

    def group_size(self, windows: int) -> int:
        return 1
