"""Pattern detection among spurious patterns: the distribution of Brutzkus & Globerson, section 3."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

from pydantic import Field, model_validator

from whyconv.exact.pattern_sets import exact_error, surjections
from whyconv.lazy import jax, jnp, np
from whyconv.tasks import Sample, Task, WeightedPoints
from whyconv.tasks.noise_laws import RadialLaw
from whyconv.views import Pooled, RowSet, View

LARGEST_ENUMERATION = 8192


class Detection(Task, name="detection"):
    """One discriminative pattern at a random position among spurious ones.

    An input is x = (x[1], ..., x[n]) with x[j] in R^d. The patterns o_1 (positive), o_2 (negative)
    and o_3, ..., o_l (spurious) are orthonormal: rows of a random orthogonal matrix, or ``given``.
    y = +1 or -1 with probability 1/2; a uniformly random position holds o_1 or o_2 accordingly; the
    others hold independent, uniform spurious patterns.

    Symbols: ``positions`` = n, ``pattern_dim`` = d, ``patterns`` = l with 3 <= l <= d.

    Extensions that section 8 of the paper asks for, each off by default:

    - ``noise`` = r adds an independent vector to every position, uniform in the ball of radius r (or on its
      sphere, or with another law of its length, ``noise_law``); the paper's Figures 3b and 4 use r = 1;
    - ``coherence`` = mu gives any two patterns the inner product mu;
    - ``conjunction`` = c > 1 makes o_1, ..., o_c discriminative: a positive input holds all of
      them, a negative one all but one, chosen at random; o_{c+1}, ..., o_l are spurious;
    - ``scrambled``, the control, applies one random permutation to all n*d coordinates: windows no longer
      hold patterns, while a network without windows sees the same problem.
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, section 3"

    positions: int = Field(10, ge=1, le=10_000)
    pattern_dim: int = Field(20, ge=3, le=4096)
    patterns: int = Field(20, ge=3, le=4096)
    noise: float = Field(0.0, ge=0.0, le=1e3)
    noise_law: RadialLaw = "ball"
    coherence: float = Field(0.0, ge=0.0, lt=1.0)
    conjunction: int = Field(1, ge=1, le=64)
    scrambled: bool = False
    given: tuple[tuple[float, ...], ...] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Detection:
        if self.patterns > self.pattern_dim:
            raise ValueError(
                f"patterns = {self.patterns} orthogonal patterns do not fit into pattern_dim = "
                f"{self.pattern_dim}; take patterns <= pattern_dim"
            )
        if self.conjunction > min(self.patterns - 1, self.positions):
            raise ValueError(
                f"conjunction = {self.conjunction} needs as many positions, and at least one spurious "
                f"pattern; positions = {self.positions} and patterns = {self.patterns} were given"
            )
        if self.given is not None:
            self._check_given(self.given)
        return self

    def _check_given(self, given: tuple[tuple[float, ...], ...]) -> None:
        shape = (len(given), {len(row) for row in given})
        if shape != (self.patterns, {self.pattern_dim}):
            raise ValueError(
                f"given must be patterns = {self.patterns} rows of pattern_dim = {self.pattern_dim} numbers"
            )
        for i, first in enumerate(given):
            for j, second in enumerate(given[: i + 1]):
                product = sum(a * b for a, b in zip(first, second, strict=True))
                if abs(product - (i == j)) > 1e-6:
                    raise ValueError(
                        f"given rows {j + 1} and {i + 1} have the inner product {product:.6g}; "
                        "patterns must be orthonormal"
                    )

    @property
    def shape(self) -> tuple[int, ...]:
        """(positions, pattern_dim)."""
        return (self.positions, self.pattern_dim)

    @cached_property
    def numbers(self) -> Mapping[str, Any]:
        """The radius of the noise; the factors of each pattern and of their sum, for ``coherence``."""
        mu, count = self.coherence, self.patterns
        spread = (1 - mu) ** 0.5
        common = ((1 - mu + count * mu) ** 0.5 - spread) / count
        factors = {"spread": spread, "common": common}
        return {**factors, "noise": self.noise} if self.noise_law == "ball" else factors

    def compiled(self) -> Detection:
        """The strengths of noise and coherence are arguments; whether there is any is not.

        Of noise only in the ball: a compiler that knows the radius multiplies it with constants of other laws
        first, so that rows would differ in their last digits.
        """
        noise = float(self.noise > 0) if self.noise_law == "ball" else self.noise
        return self.model_copy(update={"noise": noise, "coherence": 0.5 * (self.coherence > 0)})

    @property
    def discriminative(self) -> int:
        """How many of the first patterns carry the label: o_1 and o_2, or the c of a conjunction."""
        return 2 if self.conjunction == 1 else self.conjunction

    def pattern_matrix(self, world: jax.Array) -> jax.Array:
        """The patterns as rows, (patterns, pattern_dim).

        Rows of a uniformly random orthogonal matrix (QR of a Gaussian one, with the signs that
        make it uniform), multiplied by the symmetric square root of the Gram matrix
        (1 - mu) I + mu 1 1^T, which is  sqrt(1-mu) I + (sqrt(1-mu+l*mu) - sqrt(1-mu))/l 1 1^T.
        """
        if self.given is not None:
            rows = jnp.asarray(self.given, dtype=float)
        else:
            rows = jax.random.orthogonal(world, self.pattern_dim)[: self.patterns]
        if not self.coherence:
            return rows
        return self.numbers["spread"] * rows + self.numbers["common"] * rows.sum(axis=0, keepdims=True)

    def contents(self, draws: jax.Array, index: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The pattern at every position, (example, position) from 0, and the labels.

        All choices of an example come from one block of random words (one cipher call compiles ten
        times faster than eight calls); a word modulo s is uniform up to s / 2^32.
        """
        positions, first = self.positions, self.discriminative

        def one(i: jax.Array) -> tuple[jax.Array, jax.Array]:
            words = jax.random.bits(jax.random.fold_in(draws, i), (2 * positions + 2,), jnp.uint32)
            positive = words[0] % 2 == 0
            spurious = (first + words[2 : positions + 2] % (self.patterns - first)).astype(jnp.int32)
            if self.conjunction == 1:
                content = spurious.at[words[1] % positions].set(jnp.where(positive, 0, 1))
            else:
                seats = jnp.argsort(words[positions + 2 :])[: self.conjunction]
                which = jnp.arange(self.conjunction)
                gone = ~positive & (which == words[1] % self.conjunction)
                content = spurious.at[seats].set(jnp.where(gone, spurious[seats], which))
            return content, jnp.where(positive, 1, -1)

        return jax.vmap(one)(index)

    def revealed(self, world: jax.Array) -> dict[str, jax.Array]:
        return {"patterns": self.pattern_matrix(jax.random.fold_in(world, 0))}

    def known(self, world: jax.Array) -> dict[str, float]:
        """Patterns decide labels, so without noise nothing need be wrong."""
        del world
        return {} if self.noise else {"least_error": 0.0}

    def examples(self, world: jax.Array, draws: jax.Array, index: jax.Array) -> Sample:
        """The numbered examples, x of shape (example, positions, pattern_dim)."""
        rows = self.pattern_matrix(jax.random.fold_in(world, 0))
        contents, labels = self.contents(jax.random.fold_in(draws, 0), index)
        x = rows[contents]
        if self.noise:
            x = x + self._noise(jax.random.fold_in(draws, 1), index, x.dtype)
        if self.scrambled:
            flat = x.reshape(len(index), -1)
            order = jax.random.permutation(jax.random.fold_in(world, 1), flat.shape[1])
            x = flat[:, order].reshape(x.shape)
        return Sample(x, labels.astype(x.dtype))

    def _noise(self, draws: jax.Array, index: jax.Array, dtype: jnp.dtype) -> jax.Array:
        """A uniform direction times r times the law's length at U = Phi(extra normal)."""
        law = self.function("noise_law")

        def one(i: jax.Array) -> jax.Array:
            shape = (self.positions, self.pattern_dim + 1)
            normal = jax.random.normal(jax.random.fold_in(draws, i), shape, dtype)
            v, extra = normal[:, :-1], normal[:, -1:]
            length = law(jax.scipy.special.ndtr(extra))
            return (
                self.numbers.get("noise", self.noise)
                * length
                * v
                / jnp.linalg.norm(v, axis=-1, keepdims=True)
            )

        return jax.vmap(one)(index)

    def lineage(self) -> dict[str, Any]:
        """The examples are the same, scrambled or not."""
        return {name: value for name, value in self.canonical().items() if name != "scrambled"}

    def _lists_sets(self) -> bool:
        """Whether an input is determined by its set of patterns, and there are at most 8192 sets."""
        sets = 2 ** min(self.patterns - self.discriminative, 60)
        kinds = 2 if self.conjunction == 1 else 1 + self.conjunction
        return not (self.noise or self.scrambled or kinds * sets > LARGEST_ENUMERATION)

    def points(self, world: jax.Array, view: View | None, exact: bool) -> WeightedPoints | None:
        """For networks that read sets, every set of patterns an input can hold (noiseless case).

        The law of the spurious set T after a draws from s patterns is
        P(T) = surj(a, |T|) / s^a, with surj(a, t) the number of maps from a things onto t things
        (:mod:`whyconv.exact.pattern_sets`). None with noise, when scrambled, or when there are more
        than 8192 sets.
        """
        if not isinstance(view, RowSet) or not self._lists_sets():
            return None

        rows = np.asarray(self.pattern_matrix(jax.random.fold_in(world, 0)))
        spurious = range(self.discriminative, self.patterns)
        x, y, probability = [], [], []
        for labelled, weight, label in self._labelled_sets():
            draws = self.positions - len(labelled)
            for size in range(min(draws, len(spurious)) + 1):
                chance = weight * surjections(draws, size) / len(spurious) ** draws
                for members in combinations(spurious, size if chance else 0):
                    content = [*labelled, *members]
                    x.append(rows[content + content[-1:] * (self.positions - len(content))])
                    y.append(label)
                    probability.append(chance)
        return WeightedPoints(np.stack(x), np.asarray(y), np.asarray(probability))

    def facts(
        self, world: jax.Array, view: View | None, exact: bool, risk: bool
    ) -> Mapping[str, float | bool]:
        """The error of a max-pooling network by subset maxima over the 2^(l-2) spurious sets.

        For the paper's own law and l <= 20, if there are too many sets to list.
        """
        unlike = self.noise or self.scrambled or self.conjunction > 1 or self.patterns > 20
        if not exact or not isinstance(view, Pooled) or unlike or self._lists_sets():
            return {}

        rows = np.asarray(self.pattern_matrix(jax.random.fold_in(world, 0)))
        scores = np.asarray((rows @ view.filters).T, np.float64)
        return {"exact_error": exact_error(scores, np.asarray(view.readout, np.float64), self.positions)}

    def _labelled_sets(self) -> list[tuple[list[int], float, int]]:
        """The discriminative patterns an input may hold, with probability and label."""
        if self.conjunction == 1:
            return [([0], 0.5, 1), ([1], 0.5, -1)]
        every = list(range(self.conjunction))
        partial = [([i for i in every if i != gone], 0.5 / self.conjunction, -1) for gone in every]
        return [(every, 0.5, 1), *partial]
