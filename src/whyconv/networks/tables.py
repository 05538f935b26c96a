"""Two exact rewrites of networks over windows of signs: tables, and multiplicities on top of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from whyconv.lazy import jax, jnp
from whyconv.networks import Network, NetworkField

if TYPE_CHECKING:
    from whyconv.networks.window import Windowed

LARGEST_TABLE = 2**27
"""Entries of the activations' table up to which it is used: half a gigabyte in float32."""


def pays(network: Windowed, shape: tuple[int, ...], rows: int, counted: bool) -> bool:
    """Whether the table has fewer entries than a step over ``rows`` examples has activations."""
    k, groups = network.window(shape), network.groups(shape)
    kinds = 2**k if counted else network.filters
    small = k <= 20 and groups * 2**k * kinds <= LARGEST_TABLE
    return small and (counted or groups * 2**k < rows * network.windows(shape))


class Tables(Network):
    """The same network, computed once for every value of a window instead of once for every window.

    *Tables.* A window of k signs has one of 2^k values z. With A[z] = sigma(W z + b) a score is a sum
    of look-ups, h(x) = sum_j P[j, z_j(x)], P[j, z] = <u^(j), A[z]>; gradients with respect to P are
    sums of residuals by value, and reach u, W and b through two small matrix products. The cost of a
    step falls from examples * windows * k * q to examples * windows + windows * 2^k * q.

    *Multiplicities* (``counted``). Filters that start equal (same w, b, u) get equal gradients and
    stay equal under any optimiser that treats every number by itself. From the theorem's start, q
    filters are 2^k types with counts c_z: the forward pass weighs each type by its count, and the
    gradient is that of a *single* copy, as in the network it stands for. Costs do not depend on q.

    Both equal the plain network up to rounding (tests compare every parameter after many steps).
    Derived in this project; the paper's theorem asks for a q that could not be run otherwise.
    """

    example_axis: ClassVar[int] = 0

    of: NetworkField
    counted: bool = False

    @property
    def network(self) -> Windowed:
        """The network this one stands for."""
        return self.of  # type: ignore[return-value]

    @property
    def fixed(self) -> tuple[str, ...]:
        """What the network keeps fixed, and the counts."""
        return (*self.network.fixed, "counts") if self.counted else self.network.fixed

    @property
    def form(self) -> str:
        """What was rewritten, in words."""
        return "tables, multiplicities" if self.counted else "tables"

    def init(self, key: jax.Array, shape: tuple[int, ...]) -> dict[str, jax.Array]:
        """The network's own; with multiplicities one filter of each type, and the counts."""
        from whyconv.networks.window import all_windows

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
        """(example, n) -> (example, window): the value of each window, numbered on through all windows."""
        places = self.network.places(x.shape[1:])
        windows, k = places.shape
        weights = 1 << jnp.arange(k)[::-1]
        values = jnp.sum((x[:, places] > 0) * weights, axis=2)
        return (values + 2**k * jnp.arange(windows)).astype(jnp.int32)

    def derive(self, params: dict[str, Any]) -> jax.Array:
        """P, (windows * 2^k,): what every value of every window adds to the score."""
        from whyconv.networks.window import all_windows

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
        return read.reshape(len(w) * size, -1)[:windows].reshape(-1)

    def apply(self, params: jax.Array, x: jax.Array) -> jax.Array:
        """The scores of prepared inputs, from the table of :meth:`derive`."""
        return params.at[x].get(mode="promise_in_bounds").sum(axis=1)

    def parameter_count(self, shape: tuple[int, ...]) -> int:
        """That of the network it stands for."""
        return self.network.parameter_count(shape)

    def step_flops(self, shape: tuple[int, ...], rows: int) -> float:
        """2^k values for every group and window, and as much as 20 operations for every look-up."""
        k, windows = self.network.window(shape), self.network.windows(shape)
        kinds = 2**k if self.counted else self.network.filters
        return 2.0 * kinds * 2**k * (self.network.groups(shape) * k + windows) + 20.0 * rows * windows

    def stored(self, shape: tuple[int, ...]) -> int:
        """w, b, u (with multiplicities for 2^k types, beside their counts) and the activations' table."""
        k, groups = self.network.window(shape), self.network.groups(shape)
        kinds = 2**k if self.counted else self.network.filters
        return kinds * (groups * (k + 2 + 2**k) + self.network.windows(shape))

    def flops(self, shape: tuple[int, ...]) -> int:
        """That of the network it stands for: what the same run costs without the rewrite."""
        return self.network.flops(shape)


@cache
def _read_counted() -> Callable[[jax.Array, jax.Array, jax.Array], jax.Array]:
    """P[g, j, z] = sum_s counts[g, s] u[g, j, s] table[g, z, s], whose gradients are those of one copy.

    Window j of group g; type s. Forward as if type s stood counts[g, s] times; backward without the
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
