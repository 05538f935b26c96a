"""A signal in noise: the dynamic signal distribution of Lahoti et al. 2024, and variants."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from whyconv.exact.signal.bayes import bayes_risk, posterior
from whyconv.exact.signal.law import SignalLaw
from whyconv.exact.signal.risk import linear_risk, mixed_risk, oracle, population_risk
from whyconv.lazy import jax, jnp, np
from whyconv.tasks import Sample, Task
from whyconv.tasks.noise_laws import GAUSSIAN, NoiseLaw, gaussian
from whyconv.views import Thresholds, View

if TYPE_CHECKING:
    from whyconv.exact.signal.bayes import BayesRisk
    from whyconv.exact.signal.risk import Oracle

ROUNDING = 1e-5
"""Slack for filters in single precision, so that a threshold of 3 sigma counts as one."""
LARGEST_ROTATION = 4096
"""The largest number of coordinates that one orthogonal matrix rotates."""


class Signal(Task, name="signal"):
    """One signed signal in one of k patches, noise in all: y = +1 or -1, x_i = sigma N(0, I) + y w* [i = t].

    An input is x = (x_1, ..., x_k) with x_i in R^d. Signal w* is uniform on the unit sphere, one per seed;
    y is fair, the place t uniform (the paper's DSD). The paper's full text was not available: the model is
    reconstructed from secondary sources, whose "noisy signed signal" means that the signal has noise as well.

    Symbols: ``patches`` = k, ``patch_dim`` = d, ``sigma``.

    Variants for open questions and broken conditions, each off by default:

    - ``place``: the patch, counted from 1, that always holds the signal (SSD);
    - ``noisy_signal`` = False: the signal's patch is y w* without noise, as in Karp et al. 2021;
    - ``signals`` = r: r different random patches hold y w* at once;
    - ``uneven`` = u: patch i has its own sigma_i, growing geometrically with sigma_k / sigma_1 = u and with
      root mean square ``sigma``;
    - ``noise_law``: independent gaussian, uniform or laplace coordinates of standard deviation sigma_i, or
      your own law (:mod:`whyconv.tasks.noise_laws`);
    - ``patch_dims``: patch i uses its first patch_dims[i] coordinates, the others are 0; its signal is that
      many entries of w*, scaled to length 1;
    - ``label`` = product: two different random patches hold s_1 w* and s_2 w*, independent fair signs, and
      y = s_1 s_2, which no sum over patches can express;
    - ``shift``: a signal is shifted cyclically inside its patch (its used coordinates) by 0, ..., shift;
    - ``rotated``: one random orthogonal matrix per patch (*patches*: the signal a shared filter looks for
      differs between patches; of unequal size, within the coordinates it uses) or one for all k d
      coordinates (*all*: there are no patches). Fully connected networks see the same problem: the controls.
    """

    version: ClassVar[int] = 2
    reference: ClassVar[str] = "Lahoti et al., Dynamic Signal Distribution"

    patches: int = Field(20, ge=1, le=10_000)
    patch_dim: int = Field(20, ge=1, le=4096)
    sigma: float = Field(0.1, gt=0.0, le=1e3)
    place: int | None = Field(None, ge=1)
    noisy_signal: bool = True
    signals: int = Field(1, ge=1)
    uneven: float = Field(1.0, ge=1.0, le=1e6)
    noise_law: NoiseLaw = GAUSSIAN
    patch_dims: tuple[int, ...] | None = None
    label: Literal["signal", "product"] = "signal"
    shift: int = Field(0, ge=0)
    rotated: Literal["no", "patches", "all"] = "no"

    @model_validator(mode="after")
    def _fits(self) -> Signal:
        for wrong, sentence in (*self._places(), *self._parts()):
            if wrong:
                raise ValueError(sentence)
        return self

    def _places(self) -> list[tuple[bool, str]]:
        """Conditions on the places of signals: (whether violated, message)."""
        k, place, signals, product = self.patches, self.place, self.signals, self.label == "product"
        return [
            (
                place is not None and place > k,
                f"place = {place} was given, but there are patches = {k}; take 1 to {k}",
            ),
            (signals > k, f"signals = {signals} do not fit into patches = {k}; take signals <= patches"),
            (
                signals > 1 and place is not None,
                f"signals = {signals} take random patches, but place = {place} fixes one; omit either",
            ),
            (
                product and place is not None,
                f"label = product needs two random patches, but place = {place} fixes one; omit place",
            ),
            (
                product and signals > 1,
                f"label = product has two signals, but signals = {signals} was given; omit signals",
            ),
            (
                product and k < 2,
                "label = product needs two patches, but patches = 1 was given; take patches >= 2",
            ),
        ]

    def _parts(self) -> list[tuple[bool, str]]:
        """Conditions on noise, sizes and rotations: (whether violated, message)."""
        k, d, sizes, rotated = self.patches, self.patch_dim, self.patch_dims, self.rotated
        outside = [size for size in sizes or () if not 1 <= size <= d]
        return [
            (
                self.uneven > 1 and k < 2,
                f"uneven = {self.uneven:g} compares patches, but patches = 1 was given; take uneven = 1",
            ),
            (
                self.shift >= d,
                f"shift = {self.shift} exceeds patch_dim - 1 = {d - 1}; take shift < patch_dim",
            ),
            (
                sizes is not None and rotated == "all",
                "patch_dims leaves coordinates unused, but rotated = all mixes them; omit either",
            ),
            (
                sizes is not None and len(sizes) != k,
                f"patch_dims has {len(sizes or ())} sizes, but there are patches = {k}; give one for each",
            ),
            (
                bool(outside),
                f"patch_dims holds {next(iter(outside), d)}, but patch_dim = {d} allows 1 to {d}; take those",
            ),
            (
                rotated == "all" and k * d > LARGEST_ROTATION,
                f"rotated = all rotates at most {LARGEST_ROTATION} coordinates, but there are {k * d}; "
                "take fewer, or rotated = patches",
            ),
        ]

    @property
    def shape(self) -> tuple[int, ...]:
        """(patches, patch_dim)."""
        return (self.patches, self.patch_dim)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many coordinates each patch uses."""
        return self.patch_dims or (self.patch_dim,) * self.patches

    def sigmas(self) -> np.ndarray:
        """sigma_i = c u^((i-1)/(k-1)), c such that the mean of sigma_i^2 is sigma^2; u = ``uneven``."""
        steps = self.uneven ** (np.arange(self.patches) / max(self.patches - 1, 1))
        return self.sigma * steps / np.sqrt(np.mean(steps**2))

    def live(self) -> np.ndarray:
        """Whether a coordinate is used, (patches, patch_dim)."""
        return np.arange(self.patch_dim) < np.asarray(self.sizes)[:, None]

    @cached_property
    def numbers(self) -> Mapping[str, Any]:
        """How many shifts there are; the fixed place, from 0."""
        return {"shifts": self.shift + 1, "place": 0 if self.place is None else self.place - 1}

    def compiled(self) -> Signal:
        """Shift and place are arguments, if there are any.

        Sigmas are not: a compiler that knows them multiplies them with constants of the noise law first, so
        that rows would differ in their last digits.
        """
        place = None if self.place is None else 1
        return self.model_copy(update={"shift": int(self.shift > 0), "place": place})

    def signal(self, world: jax.Array) -> jax.Array:
        """The signal of every patch, (patches, patch_dim), before shift and rotation; each of length 1."""
        return self._signal(jax.random.bits(jax.random.fold_in(world, 0), (self.patch_dim,), jnp.uint32))

    def _signal(self, words: jax.Array) -> jax.Array:
        """The signal from the world's first words, which do not depend on how many are drawn."""
        normal = gaussian(_centred(words[: self.patch_dim]))
        rows = jnp.where(self.live(), normal, 0)
        return rows / jnp.linalg.norm(rows, axis=1, keepdims=True)

    def rotation(self, world: jax.Array) -> jax.Array | None:
        """The orthogonal matrices: (patches, d, d), or one for all coordinates; None without rotation."""
        key = jax.random.fold_in(world, 1)
        if self.rotated == "patches":
            turns = jnp.broadcast_to(
                jnp.eye(self.patch_dim, dtype=float), (self.patches, *[self.patch_dim] * 2)
            )
            for size in sorted(set(self.sizes)):  # each patch within the coordinates that it uses
                where = np.flatnonzero(np.asarray(self.sizes) == size)
                chosen = key if size == self.patch_dim else jax.random.fold_in(key, size)
                turn = jax.random.orthogonal(chosen, size, (len(where),), float)
                turns = turns.at[where, :size, :size].set(turn)
            return turns
        if self.rotated == "all":
            return jax.random.orthogonal(key, self.patches * self.patch_dim, (), float)
        return None

    def _words(self, keys: jax.Array, numbers: jax.Array) -> jax.Array:
        """The random words of each key and number: three, two per patch, one per coordinate."""
        count = 3 + self.patches * (2 + self.patch_dim)
        fold = jax.random.fold_in
        return jax.vmap(lambda key, i: jax.random.bits(fold(key, i), (count,), jnp.uint32))(keys, numbers)

    def _scene(self, words: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """From an example's words: signs of the signals per patch, 0 for none; shifts; the label.

        A word modulo n is uniform up to n / 2^32.
        """
        k = self.patches
        first, second = (1 - 2 * ((words[0] >> bit) & 1).astype(jnp.int32) for bit in (0, 1))
        patch = jnp.arange(k, dtype=jnp.uint32)
        seat = words[1] % k if self.place is None else self.numbers["place"]
        held = jnp.where(patch == seat, first, 0)
        if self.signals > 1:
            order = jnp.argsort(words[3 : k + 3])
            held = jnp.zeros(k, jnp.int32).at[order[: self.signals]].set(first)
        if self.label == "product":
            other = (seat + 1 + words[2] % (k - 1)) % k
            held = jnp.where(patch == other, second, held)
        rolled = (words[k + 3 : 2 * k + 3] % self.numbers["shifts"]).astype(jnp.int32)
        return held, rolled, first * second if self.label == "product" else first

    def revealed(self, world: jax.Array) -> dict[str, jax.Array]:
        return {"signal": self.signal(world)}

    def known(self, world: jax.Array) -> dict[str, float]:
        """The risk of the best CNN and of the best linear filter, for labels that one patch determines."""
        if self.label == "product":
            return {}
        return {
            "oracle_risk": float(self.oracle(world)[0]),
            "linear_risk": float(self.linear_risk(world)),
        }

    def examples(self, world: jax.Array, draws: jax.Array, index: jax.Array) -> Sample:
        """The numbered examples, x of shape (example, patches, patch_dim).

        The words of the world and of all examples come from one call of the cipher, which dominates the time
        to compile. They are the same 32-bit words in single and double precision.
        """
        keys = jnp.concatenate([jnp.broadcast_to(draws, index.shape), world[None]])
        every = self._words(keys, jnp.concatenate([index, jnp.zeros(1, index.dtype)]))
        words, signal = every[:-1], self._signal(every[-1])
        held, rolled, labels = jax.vmap(self._scene)(words)
        if self.shift:
            signal = jnp.take_along_axis(signal[None], _sources(rolled, self.sizes, self.patch_dim), axis=2)
        quantiles = self.function("noise_law")(_centred(words[:, 2 * self.patches + 3 :]))
        noise = quantiles.reshape(-1, *self.shape)
        x = noise * jnp.asarray(self.sigmas()[:, None] * self.live(), noise.dtype)
        if not self.noisy_signal:
            x = jnp.where(held[..., None] == 0, x, 0)
        x = x + held[..., None].astype(x.dtype) * signal
        turn = self.rotation(world)
        if self.rotated == "patches":
            x = jnp.einsum("kij,nkj->nki", turn, x)
        elif turn is not None:
            x = (x.reshape(len(index), -1) @ turn.T).reshape(x.shape)
        return Sample(x, labels.astype(x.dtype))

    def lineage(self) -> dict[str, Any]:
        """The examples are the same, rotated or not."""
        return {name: value for name, value in self.canonical().items() if name != "rotated"}

    def law(self, world: jax.Array | None = None) -> SignalLaw:
        """The law before any rotation, for :mod:`whyconv.exact`; flat signals if no world is given."""
        if world is None:
            signal = self.live() / np.sqrt(np.asarray(self.sizes))[:, None]
        else:
            signal = np.asarray(self.signal(world), np.float64)
            signal = signal / np.linalg.norm(signal, axis=1, keepdims=True)
        turns = np.repeat(np.arange(self.shift + 1)[:, None], self.patches, axis=1)
        table = np.take_along_axis(signal[None], _sources(turns, self.sizes, self.patch_dim), axis=2)
        return SignalLaw(
            table=table,
            sigmas=self.sigmas(),
            live=self.live(),
            noise_law=self.noise_law,
            noisy_signal=self.noisy_signal,
            place=self.place,
            signals=self.signals,
            product=self.label == "product",
        )

    def oracle(self, world: jax.Array | None = None) -> Oracle:
        """(risk, b, c) of the network that knows the signals, with the best threshold b and filter length c.

        Its filters also know a rotation, so ``rotated`` makes no difference; nor does the world for Gaussian
        noise without shift. Otherwise give the world, or get the limit as d grows: flat signals, |w*_j| =
        1/sqrt(d), for other noise; with a shift, shifted signals count as orthogonal to the signal, as they
        are on average (at d = 20, shift = 2, actual worlds are about 5 % lower).
        """
        return oracle(self.law(world), self._projections() if world is None else None)

    def linear_risk(self, world: jax.Array | None = None) -> float:
        """The least risk of c sum_i <signal_i, x_i>; the world as in :meth:`oracle`."""
        return linear_risk(self.law(world), self._projections() if world is None else None)

    def _projections(self) -> np.ndarray:
        """The mean over worlds of <u_i, u_i shifted by rho>: 1 if the shift goes all the way, else 0."""
        return (np.arange(self.shift + 1)[:, None] % np.asarray(self.sizes) == 0).astype(float)

    def posterior(self, world: jax.Array, x: Any) -> np.ndarray:
        """E[y | x] for inputs (example, patches, patch_dim) as drawn; its sign is the best rule.

        Exact for all settings: :func:`.bayes.posterior`, after undoing the rotation. Tests for equality
        allow 1e-6 for single precision, or 2e-5 under a rotation.
        """
        wide = np.asarray(x).dtype == np.float64
        tolerance = 1e-12 if wide else 1e-6 if self.rotated == "no" else 2e-5
        return posterior(self.law(world), self.unrotate(world, x), tolerance)

    def bayes_risk(self, world: jax.Array | None = None, draws: int = 20_000, seed: int = 0) -> BayesRisk:
        """The least possible risk and error, with intervals; the world as in :meth:`law`.

        A rotation changes neither, nor does the world for Gaussian noise without a shift.
        """
        return bayes_risk(self.law(world), draws, seed)

    def unrotate(self, world: jax.Array, vectors: Any) -> np.ndarray:
        """Vectors (any number, patches, patch_dim) in the space of the inputs, with the rotation undone."""
        vectors = np.asarray(vectors, np.float64)
        turn = self.rotation(world)
        if turn is None:
            return vectors
        turn = np.asarray(turn, np.float64)
        if self.rotated == "patches":
            return np.einsum("kij,nki->nkj", turn, vectors)
        return (vectors.reshape(len(vectors), -1) @ turn).reshape(vectors.shape)

    def facts(
        self, world: jax.Array, view: View | None, exact: bool, risk: bool
    ) -> Mapping[str, float | bool]:
        """What is known about f(x) = sum_i phi_b(<w_i, x>), the filters and b of a :class:`.Thresholds`.

        - *alignment*: the mean, over the patches t that may hold a signal, of the largest cosine over nodes
          between w_i and mu_t, the mean of positive examples whose signal is in patch t (not shifted);
        - *risk*: E (y - f)^2 if nodes are local (as many as patches, node i zero outside patch i), b >= 0,
          and the noise law has a characteristic function; for inputs rotated as a whole, noise must also be
          Gaussian, even and present in the signal's patch, and scenes must be few;
        - *denoises*, for local nodes: 3 s_i <= b for all, s_i the standard deviation of <w_i, noise>, and
          b < <w_i, mu_i> for patches i that may hold a signal.
        """
        if not risk or not isinstance(view, Thresholds):
            return {}

        law, bias = self.law(world), view.bias
        given = view.filters.reshape(-1, *self.shape)
        nodes = self.unrotate(world, given)
        signal, holds = law.table[0], law.share > 0
        lengths = np.linalg.norm(nodes, axis=(1, 2))
        toward = np.einsum("nij,ij->ni", nodes, signal)
        cosine = toward / np.where(lengths > 0, lengths, 1)[:, None]
        facts: dict[str, float | bool] = {"alignment": float(cosine.max(axis=0)[holds].mean())}
        own = np.eye(self.patches, dtype=bool)
        if len(given) != self.patches or np.any(given[~own]):
            return facts
        noise = np.sqrt(np.einsum("nij,i,ij->n", nodes**2, law.sigmas**2, law.live))
        passes = bias < toward[own][holds]
        facts["denoises"] = bool((3 * noise <= bias * (1 + ROUNDING)).all() and passes.all())
        plain = self.noise_law == GAUSSIAN and self.uneven == 1 and self.noisy_signal
        (named,) = self.functions()
        computable = plain if self.rotated == "all" else named.companions["characteristic"] is not None
        if bias < 0 or not computable:
            return facts
        known = (
            mixed_risk(law, nodes, bias)
            if self.rotated == "all"
            else population_risk(law, nodes[np.arange(self.patches), np.arange(self.patches)], bias)
        )
        return facts if known is None else {**facts, "risk": known}


def _centred(words: jax.Array) -> jax.Array:
    """Uniform numbers on (-1, 1), one per random word."""
    wide = jnp.zeros((), float)
    whole = jax.lax.bitcast_convert_type(words, jnp.int32).astype(wide.dtype)
    edge = 1 - float(jnp.finfo(wide.dtype).epsneg)
    return jnp.clip((whole + 0.5) / 2.0**31, -edge, edge)


def _sources(rolled: Any, sizes: tuple[int, ...], dim: int) -> Any:
    """The source of coordinate j of a patch shifted by rho: j - rho modulo its size; unused ones stay."""
    module = np if isinstance(rolled, np.ndarray) else jnp
    count = np.asarray(sizes, np.int32)[:, None]
    j = np.arange(dim, dtype=np.int32)
    return module.where(j < count, (j - rolled[..., None]) % count, j)
