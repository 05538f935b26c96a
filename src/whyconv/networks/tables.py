"""Two exact rewrites of networks over windows of signs: tables, and multiplicities on top of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from whyconv.lazy import jax, jnp
from whyconv.networks import Load, Network, NetworkField

if TYPE_CHECKING:
    from whyconv.networks.window import Windowed

LARGEST_TABLE = 2**27
"""The largest number of entries of a table of activations: half a gigabyte in float32."""


LOOK_UP = 6.0
"""The measured cost of a look-up and its scattered gradient, in additions on a whole table."""


def pays(network: Windowed, shape: tuple[int, ...], rows: int, counted: bool) -> bool:
    """Whether the table has fewer entries than a step over ``rows`` examples has activations."""
    k, groups = network.window(shape), network.groups(shape)
    kinds = 2**k if counted else network.filters
    small = k <= 20 and groups * 2**k * kinds <= LARGEST_TABLE
    return small and (counted or groups * 2**k < rows * network.windows(shape))


def best_block(network: Windowed, shape: tuple[int, ...], rows: int) -> int:
    """How many neighbouring windows to look up at once: fewest operations for ``rows`` examples per step."""

    def operations(block: int) -> float:
        blocks = -(-network.windows(shape) // block)
        span = network.window(shape) + (block - 1) * network.step
        return LOOK_UP * rows * blocks + 2.0**span * blocks * block

    return min(range(1, min(12, network.windows(shape)) + 1), key=operations)


class Tables(Network):
    """The same network, computed once for every value of a window instead of once for every window.

    *Tables.* A window of k signs has one of 2^k values z. With A[z] = sigma(W z + b) a score is a sum
    of look-ups, h(x) = sum_j P[j, z_j(x)], P[j, z] = <u^(j), A[z]>; gradients with respect to P are
    sums of residuals by value, and reach u, W and b through two small matrix products. The cost of a
    step falls from examples * windows * k * q to examples * windows + windows * 2^k * q.

    *Blocks.* ``block`` = B neighbouring windows share most of their bits: together they see S = k +
    (B-1) * stride of them, so the sum of their B entries is one entry of a table of 2^S, made by adding
    B tables along different bits. Examples need one look-up per block.

    *Multiplicities* (``counted``). Filters that start equal (same w, b, u) get equal gradients and
    stay equal under any optimiser that treats every parameter separately. From the theorem's start, q
    filters are 2^k types with counts c_z: the forward pass weighs each type by its count, and the
    gradient is that of a *single* copy, as in the network it stands for. Costs do not depend on q.

    Both equal the plain network up to rounding (tests compare every parameter after many steps).
    Derived in this project; the q of the paper's theorem could not be run otherwise.
    """

    example_axis: ClassVar[int] = 0
    chunk: ClassVar[int] = 1024

    of: NetworkField
    counted: bool = False
    block: int = 1

    @property
    def network(self) -> Windowed:
        """The network this one stands for."""
        return self.of  # type: ignore[return-value]

    @property
    def fixed(self) -> tuple[str, ...]:
        """The network's fixed parameters, and the counts."""
        return (*self.network.fixed, "counts") if self.counted else self.network.fixed

    @property
    def form(self) -> str:
        return "tables, multiplicities" if self.counted else "tables"

    def init(self, key: jax.Array, shape: tuple[int, ...]) -> dict[str, jax.Array]:
        """The network's parameters; with multiplicities one filter of each type, and the counts."""
        if not self.counted:
            return self.network.init(key, shape)
        groups, k = self.network.groups(shape), self.network.window(shape)
        return {
            "w": jnp.broadcast_to(all_windows(k).T / k, (groups, k, 2**k)).astype(float),
            "b": jnp.full((groups, 2**k), 1 / k - 1),
            "u": jnp.zeros((self.network.windows(shape), 2**k), float),
            "counts": self.network.counts(jax.random.split(key, 3)[0], groups, k).astype(float),
        }

    def prepare(self, x: jax.Array) -> jax.Array:
        """(example, n) -> (example, block): the content of each block, as an index into all tables."""
        shape = tuple(x.shape[1:])
        k, stride = self.network.window(shape), self.network.step
        span, blocks = k + (self.block - 1) * stride, -(-self.network.windows(shape) // self.block)
        step = self.block * stride
        missing = (blocks - 1) * step + span - shape[0]
        bits = jnp.pad((x > 0).astype(jnp.int32), ((0, 0), (0, max(missing, 0))))
        last = (blocks - 1) * step + 1
        values = sum(bits[:, t : t + last : step] << (span - 1 - t) for t in range(span))
        return values + 2**span * jnp.arange(blocks, dtype=jnp.int32)

    def derive(self, params: dict[str, Any]) -> jax.Array:
        """(blocks * 2^S,): what every value of every block adds to the score."""
        w, b, u = params["w"], params["b"], params["u"]
        values = all_windows(w.shape[1]).astype(w.dtype)
        table = self.network.sigma(jnp.einsum("zk,gkq->gzq", values, w) + b[:, None])
        windows, size = len(u), self.network.group_size(len(u))
        missing = len(w) * size - windows
        grouped = jnp.pad(u, ((0, missing), (0, 0))).reshape(len(w), size, -1)
        if self.counted:
            read = _read_counted()(grouped, table, params["counts"])
        else:
            read = jnp.einsum("gjq,gzq->gjz", grouped, table)
        return self._by_blocks(read.reshape(len(w) * size, -1)[:windows])

    def _by_blocks(self, table: jax.Array) -> jax.Array:
        """From P, (windows, 2^k), one table per block, whose window i reads k of S bits from i * stride."""
        windows, values = table.shape
        blocks, span = -(-windows // self.block), (self.block - 1) * self.network.step
        padded = jnp.pad(table, ((0, blocks * self.block - windows), (0, 0)))
        each = padded.reshape(blocks, self.block, 1, values, 1)
        total = jnp.zeros((blocks, 2**span * values), table.dtype)
        for i in range(self.block):
            before = i * self.network.step
            wide = jnp.broadcast_to(each[:, i], (blocks, 2**before, values, 2 ** (span - before)))
            total = total + wide.reshape(blocks, -1)
        return total.reshape(-1)

    def apply(self, params: jax.Array, x: jax.Array) -> jax.Array:
        """The scores of prepared inputs, from the table of :meth:`derive`."""
        return params.at[x].get(mode="promise_in_bounds").sum(axis=1)

    def parameter_count(self, shape: tuple[int, ...]) -> int:
        return self.network.parameter_count(shape)

    def load(self, shape: tuple[int, ...], rows: int) -> Load:
        """Operations: 2^k values per group and window, the blocks' tables, and look-ups, which are slow.

        Numbers: w, b, u (with multiplicities: of 2^k types, and their counts) and the table.
        """
        k, groups = self.network.window(shape), self.network.groups(shape)
        windows = self.network.windows(shape)
        kinds = 2**k if self.counted else self.network.filters
        blocks = -(-windows // self.block)
        span = k + (self.block - 1) * self.network.step
        made = 2.0 * kinds * 2**k * (groups * k + windows) + 2.0**span * windows
        return Load(made + 4 * LOOK_UP * rows * blocks, kinds * (groups * (k + 2 + 2**k) + windows))

    def flops(self, shape: tuple[int, ...]) -> int:
        """The cost of the same run without the rewrite."""
        return self.network.flops(shape)


@cache
def _read_counted() -> Callable[[jax.Array, jax.Array, jax.Array], jax.Array]:
    """P[g, j, z] = sum_s counts[g, s] u[g, j, s] table[g, z, s], with the gradients of a single copy.

    Window j of group g; type s. Forward, type s appears counts[g, s] times; backward without the
    counts: du[g, j, s] = sum_z G[g, j, z] table[g, z, s], and each copy's share of d table.
    """

    def forward(u: jax.Array, table: jax.Array, counts: jax.Array) -> jax.Array:
        return jnp.einsum("gjs,gzs->gjz", u * counts[:, None], table)

    def keep(u: jax.Array, table: jax.Array, counts: jax.Array) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        return forward(u, table, counts), (u, table, counts)

    def back(kept: tuple[jax.Array, ...], grad: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        u, table, counts = kept
        by_table = jnp.einsum("gjz,gjs->gzs", grad, u)
        return jnp.einsum("gjz,gzs->gjs", grad, table), by_table, jnp.zeros_like(counts)

    read = jax.custom_vjp(forward)
    read.defvjp(keep, back)
    return read


def all_windows(k: int) -> jax.Array:
    """All sign vectors of length k, row z being z in binary, -1 for 0, highest bit first: (2^k, k)."""
    return 2.0 * ((jnp.arange(2**k)[:, None] >> jnp.arange(k)[::-1]) & 1) - 1.0
