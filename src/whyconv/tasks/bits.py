"""Bits: k-patterns of Malach & Shalev-Shwartz, section 2, and the same with the bits in a hidden order."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from math import prod
from pathlib import Path
from stat import S_ISREG
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from whyconv.lazy import jax, jnp, np
from whyconv.spec import once
from whyconv.tasks import Sample, Task, WeightedPoints
from whyconv.views import View

LARGEST_ENUMERATION = 20
"""The largest n for which all 2^n inputs are listed."""
LARGEST_FILE = 256 * 2**20
NAMED: dict[str, Callable[[tuple[int, ...]], int]] = {
    "parity": prod,
    "majority": lambda z: 1 if sum(z) > 0 else -1,
    "and": lambda z: 1 if min(z) > 0 else -1,
    "dictator": lambda z: z[0],
}


class KPattern(Task, name="k-pattern"):
    """A function of k consecutive bits among n: f(x) = g(x_j*, ..., x_{j*+k-1}), x in {-1, +1}^n.

    Symbols: ``n_bits`` = n, ``k_window`` = k, ``position`` = j* from 1 to n-k+1 (by default the middle;
    the paper's sums stop at n-k and would miss the last window).

    The ``target`` g is *parity* (the product), *majority* (a tie counts as -1), *and*, *dictator* (the
    window's first bit), *random* (2^k fair coins, drawn once per seed) or *table*: ``table`` holds
    the 2^k values, indexed by the window read as a binary number, with -1 as 0 and the first bit most
    significant.

    The ``law`` D of the inputs:

    - *uniform*: fair, independent bits;
    - *biased*: independent bits of mean ``mean``;
    - *markov*: a fair first bit, each next one equal to the previous with probability ``persistence``;
    - *file*: rows drawn, with replacement, from ``file``: text (one input per line, entries -1 and 1
      separated by blanks or commas) or a NumPy array (.npy);
    - *all*: every input exactly once, n <= 20. The sample is the distribution: m and test_size must be
      2^n; gradients are population gradients, and errors are exact.

    ``label_noise`` = p flips every label with probability p, in training and test, so p is the
    least possible error.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, section 2"
    signs: ClassVar[bool] = True

    n_bits: int = Field(16, ge=1, le=100_000)
    k_window: int = Field(4, ge=1, le=20)
    target: Literal["parity", "majority", "and", "dictator", "random", "table"] = "parity"
    table: tuple[Literal[-1, 1], ...] | None = None
    position: int | None = Field(None, ge=1)
    law: Literal["uniform", "biased", "markov", "file", "all"] = "uniform"
    mean: float = Field(0.5, gt=-1, lt=1)
    persistence: float = Field(0.75, gt=0, lt=1)
    file: str | None = None
    label_noise: float = Field(0.0, ge=0.0, le=0.5)

    @model_validator(mode="after")
    def _fits(self) -> KPattern:
        n, k = self.n_bits, self.k_window
        if k > n:
            raise ValueError(f"k_window = {k} bits do not fit into n_bits = {n}; take k_window <= n_bits")
        if self.position is not None and self.position > n - k + 1:
            raise ValueError(
                f"position = {self.position} was given, but windows start at 1 to n_bits - k_window + 1 = "
                f"{n - k + 1}; take one of those"
            )
        if (self.target == "table") != (self.table is not None):
            raise ValueError("target = table needs a table, and the reverse; give both or neither")
        if self.table is not None and len(self.table) != 2**k:
            raise ValueError(
                f"table has {len(self.table)} values, but g on k_window = {k} bits needs 2^k = {2**k}"
            )
        if (self.law == "file") != (self.file is not None):
            raise ValueError("law = file needs a file, and the reverse; give both or neither")
        if self.law == "all" and n > LARGEST_ENUMERATION:
            raise ValueError(
                f"law = all lists 2^n inputs, but n_bits = {n} is too large; take n_bits <= "
                f"{LARGEST_ENUMERATION} or law = uniform"
            )
        if self.law == "all" and self.label_noise:
            raise ValueError(
                "law = all takes every input once, so labels cannot be noisy; take law = uniform"
            )
        if self.file is not None:
            self._rows(self.file)
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """(n_bits,)."""
        return (self.n_bits,)

    def refusal(self, m: int, held_out: int, test_size: int) -> str:
        """With law = all, m and test_size must be 2^n, and no example may be held out."""
        if self.law != "all":
            return ""
        if held_out:
            return "the task takes every input once, so none can be held out; take another law"
        if {m, test_size} != {2**self.n_bits}:
            return (
                f"m = {m} and test_size = {test_size} were given, but the task takes every input once; set "
                f"both to {2**self.n_bits}"
            )
        return ""

    @property
    def first_bit(self) -> int:
        """The first bit of the window, counted from 0."""
        return (self.n_bits - self.k_window) // 2 if self.position is None else self.position - 1

    def lineage(self) -> dict[str, Any]:
        """n and D alone: inputs depend neither on the target nor on a hidden order."""
        names = ("n_bits", "law", "mean", "persistence")
        return {name: getattr(self, name) for name in names} | {"data": self.data_digest()}

    def data_digest(self) -> str | None:
        return None if self.file is None else _read(self.file, _stamp(self.file))[1]

    def truth_table(self, world: jax.Array) -> jax.Array:
        """g as 2^k values, by the number of the window."""
        if self.target == "random":
            return jax.random.rademacher(jax.random.fold_in(world, 1), (2**self.k_window,), int)
        return jnp.asarray(self.numbers["table"])

    @cached_property
    def numbers(self) -> Mapping[str, Any]:
        """The chance of a flipped label, that of a one, that of staying; g by window, if it is not random."""
        chances = {"flips": self.label_noise, "ones": (1 + self.mean) / 2, "stays": self.persistence}
        if self.target == "random":
            return chances
        return {**chances, "table": np.asarray(self.table or _named_table(self.target, self.k_window))}

    def compiled(self) -> KPattern:
        """All chances are arguments, and so is g; whether labels are noisy and g is random is not."""
        target = "random" if self.target == "random" else "parity"
        chances = {"label_noise": 0.5 * (self.label_noise > 0), "mean": 0.5, "persistence": 0.75}
        return self.model_copy(update={**chances, "target": target, "table": None})

    def rarer_label(self) -> float | None:
        """The fraction of windows with the rarer label: the error of a constant if all are equally likely.

        None for a random target, and for laws under which windows are not equally likely.
        """
        if self.target == "random" or self.law not in ("uniform", "all"):
            return None
        table = self.table or _named_table(self.target, self.k_window)
        share = sum(value > 0 for value in table) / len(table)
        return min(share, 1 - share)

    def order(self, world: jax.Array) -> jax.Array:
        """The position at which each bit is shown; the identity for a k-pattern."""
        del world
        return jnp.arange(self.n_bits)

    def revealed(self, world: jax.Array) -> dict[str, jax.Array]:
        """The labels of all windows, and the order in which bits are shown."""
        return {"truth_table": self.truth_table(world), "order": self.order(world)}

    def known(self, world: jax.Array) -> dict[str, float]:
        del world
        return {"least_error": float(self.label_noise)}

    def examples(self, world: jax.Array, draws: jax.Array, index: jax.Array) -> Sample:
        """The numbered examples, x of shape (example, n_bits)."""
        keys = jax.vmap(lambda i: jax.random.split(jax.random.fold_in(draws, i)))(index)
        bits = jax.vmap(self._bits)(keys[:, 0], index)
        y = self._label(world, bits)
        if self.label_noise:
            lots = jax.vmap(lambda key: jax.random.uniform(key, (), jnp.float32))(keys[:, 1])
            y = jnp.where(lots < self.numbers["flips"], -y, y)
        return Sample((2 * bits[:, self.order(world)] - 1).astype(float), y)

    def points(self, world: jax.Array, view: View | None, exact: bool) -> WeightedPoints | None:
        """Every input with its probability, for n <= 16 and all laws except *file*."""
        n = self.n_bits
        if not exact or n > 16 or self.law == "file":
            return None
        bits = (np.arange(2**n)[:, None] >> np.arange(n)[::-1]) & 1
        probability = np.full(2**n, 0.5**n)
        if self.law == "biased":
            probability = np.where(bits == 1, (1 + self.mean) / 2, (1 - self.mean) / 2).prod(axis=1)
        if self.law == "markov":
            stays = bits[:, 1:] == bits[:, :-1]
            probability = np.where(stays, self.persistence, 1 - self.persistence).prod(axis=1) / 2
        y = np.asarray(self._label(world, jnp.asarray(bits)))
        x = (2.0 * bits - 1)[:, np.asarray(self.order(world))]
        if not self.label_noise:
            return WeightedPoints(x, y, probability)
        parts = [(1 - self.label_noise) * probability, self.label_noise * probability]
        return WeightedPoints(np.concatenate([x, x]), np.concatenate([y, -y]), np.concatenate(parts))

    def _label(self, world: jax.Array, bits: jax.Array) -> jax.Array:
        """g of the window, from bits 0 and 1."""
        window = bits[:, self.first_bit : self.first_bit + self.k_window]
        number = window @ (1 << jnp.arange(self.k_window)[::-1]).astype(bits.dtype)
        return self.truth_table(world)[number]

    def _bits(self, key: jax.Array, index: jax.Array) -> jax.Array:
        """One input as bits 0 and 1."""
        n = self.n_bits
        if self.law == "all":
            return ((index >> jnp.arange(n)[::-1]) & 1).astype(jnp.int32)
        if self.law == "biased":
            return (jax.random.uniform(key, (n,), jnp.float32) < self.numbers["ones"]).astype(jnp.int32)
        if self.law == "markov":
            lots = jax.random.uniform(key, (n,), jnp.float32)
            turns = jnp.where(jnp.arange(n) == 0, lots < 0.5, lots >= self.numbers["stays"])
            return jnp.cumsum(turns) % 2
        if self.file is not None:
            rows = self._rows(self.file)
            word = jax.random.bits(key, (), jnp.uint32)
            return jnp.asarray(rows)[word % len(rows)].astype(jnp.int32)
        words = jax.random.bits(key, (-(-n // 32),), jnp.uint32)
        return ((words[:, None] >> jnp.arange(32, dtype=jnp.uint32)) & 1).reshape(-1)[:n].astype(jnp.int32)

    def _rows(self, file: str) -> np.ndarray:
        """The inputs of a file as bits, checked against ``n_bits``."""
        rows = _read(file, _stamp(file))[0]
        if rows.shape[1] != self.n_bits:
            raise ValueError(f"{file} has inputs of {rows.shape[1]} bits, but n_bits = {self.n_bits}")
        return rows


class KJunta(KPattern, name="k-junta"):
    """The k-pattern task with the bits shown in a hidden order: a function of some k of n bits.

    One random permutation per seed; otherwise the examples are those of the k-pattern task. For any k
    bits some order makes them neighbours, so k-patterns in unknown order are exactly the k-juntas.
    Networks with windows lose their advantage; others see the same problem.
    """

    reference: ClassVar[str] = "Malach & Shalev-Shwartz, section 5"

    def order(self, world: jax.Array) -> jax.Array:
        """A random permutation per seed."""
        return jax.random.permutation(jax.random.fold_in(world, 2), self.n_bits)


@cache
def _named_table(target: str, k: int) -> tuple[int, ...]:
    g = NAMED[target]
    return tuple(g(tuple(1 if z >> (k - 1 - i) & 1 else -1 for i in range(k))) for z in range(2**k))


def _stamp(file: str) -> tuple[int, int]:
    """What changes if the file changes: time and size."""
    try:
        known = Path(file).stat()
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror}; give a file of inputs that can be read") from None
    if not S_ISREG(known.st_mode):  # a pipe or a device may never end
        raise ValueError(f"{file} is not a plain file; give a file of inputs that can be read")
    return known.st_mtime_ns, known.st_size


@once
def _read(file: str, stamp: tuple[int, int]) -> tuple[np.ndarray, str]:
    """The inputs of a file as bits 0 and 1 (uint8), and the file's digest; pickles are refused."""
    if stamp[1] > LARGEST_FILE:
        raise ValueError(f"{file} has {stamp[1]:,} bytes; at most {LARGEST_FILE:,} are read")
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror}; give a file of inputs that can be read") from None
    digest = hashlib.sha256(content).hexdigest()
    try:
        if content.startswith(b"\x93NUMPY"):
            values = np.load(io.BytesIO(content), allow_pickle=False)
        else:
            values = np.array(
                [line.replace(",", " ").split() for line in content.decode().splitlines() if line]
            )
            values = values.astype(float)
    except (ValueError, EOFError, MemoryError):  # a header may announce any size
        raise ValueError(
            f"{file} is not a table of numbers; give lines of -1 and 1 of equal length"
        ) from None
    if values.ndim != 2 or not values.size:
        raise ValueError(f"{file} has the shape {values.shape}; give one input of -1 and 1 per line")
    wrong = np.argwhere(~np.isin(values, (-1, 1)))
    if len(wrong):
        row, column = (int(place) for place in wrong[0])
        raise ValueError(
            f"{file} holds {values[row, column]!s} in input {row + 1}, entry {column + 1}; use only -1 and 1"
        )
    return (values > 0).astype(np.uint8), digest
