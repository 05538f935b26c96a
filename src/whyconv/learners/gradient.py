"""Gradient training of a whole network with any Optax optimiser."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field, field_validator

from whyconv.lazy import jax, jnp, np, optax
from whyconv.learners import Cost, Fit, Job, Learner
from whyconv.networks import Network
from whyconv.spec import once

CHUNK = 128
"""Rows of one partial gradient when the whole sample is the batch, and of one evaluation."""
TRACE = 24
"""The trace keeps the training loss of epochs 1, 2, 4, ..., 2^23."""
TYPICAL_EPOCHS = 150


class Running(NamedTuple):
    """The state: parameters, optimiser state, epochs done, last training loss, loss trace, pace."""

    params: Any
    optimiser: Any
    epoch: jax.Array
    loss: jax.Array
    trace: jax.Array
    stopped: jax.Array
    pace: jax.Array


class Programs(NamedTuple):
    """Compiled: parameters and optimiser state; layout; some epochs; scores."""

    begin: Callable[..., tuple[Any, Any]]
    prepare: Callable[[jax.Array], jax.Array]
    segment: Callable[..., Running]
    score: Callable[[Any, jax.Array], jax.Array]


class Gradient(Learner, name="gradient"):
    """Any Optax optimiser, full or minibatch, until the training loss is small or the epochs are spent.

    The rule, the same for every network: after an epoch whose mean batch loss is at most
    ``tolerance``, the loss on the whole sample is computed, and training stops if that is at most
    ``tolerance`` too; or after ``epochs`` epochs. (Stopping at zero training *error* instead decides
    the figures of Brutzkus & Globerson: ConvPool at m = 40 still errs on a fifth of the test then.)

    ``batch`` = None takes the whole sample in every step: an epoch is one step. Each epoch goes
    through a fresh permutation of the sample, the same for every network of a seed; a last, smaller
    batch counts as a step. Losses: logistic log(1 + exp(-y f)), hinge max(0, 1 - y f), squared
    (y - f)^2. ``options`` go to the optimiser by name (``{"b1": 0.8}``).
    """

    reference: ClassVar[str] = "Brutzkus & Globerson, section 7 (Adam); Optax for the optimisers"

    optimiser: str = "adam"
    rate: float = Field(1e-3, gt=0, le=1e6)
    options: dict[str, float] = Field(default_factory=dict)
    batch: int | None = Field(32, ge=1, le=1_000_000)
    loss: Literal["logistic", "hinge", "squared"] = "logistic"
    tolerance: float = Field(1e-3, ge=0)
    epochs: int = Field(2000, ge=1, le=8_000_000)

    @field_validator("optimiser")
    @classmethod
    def _known(cls, name: str) -> str:
        if (known := optimisers()) and name not in known:
            raise ValueError(f"there is no Optax optimiser {name!r}; adam, sgd, rmsprop, adadelta are some")
        return name

    def transformation(self) -> optax.GradientTransformation:
        """The Optax optimiser."""
        make = getattr(optax, self.optimiser, None)
        try:
            made = make(self.rate, **self.options) if callable(make) else None
        except TypeError as error:
            raise ValueError(f"optimiser {self.optimiser} does not take {self.options}: {error}") from None
        if not isinstance(made, optax.GradientTransformation):
            raise ValueError(f"optax.{self.optimiser} is no optimiser; adam, sgd, rmsprop, adadelta are some")
        return made

    def start(self, job: Job) -> Running:
        """Fresh parameters and optimiser state."""
        assert job.network is not None
        params, inner = programs(job.network, self).begin(job.init, job.shape)
        zero = jnp.zeros((), int)
        return Running(
            params,
            inner,
            epoch=zero,
            loss=jnp.full((), jnp.inf, float),
            trace=jnp.full((TRACE,), -1.0, float),
            stopped=jnp.zeros((), bool),
            pace=zero + 4,
        )

    def advance(self, job: Job, state: Running) -> Running:
        """About a second of epochs: ``pace`` follows the clock, and does not touch the numbers."""
        assert job.network is not None
        program = programs(job.network, self)
        x = program.prepare(job.sample.x)
        begin = time.monotonic()
        until = jnp.minimum(state.epoch + state.pace, self.epochs)
        state = jax.block_until_ready(
            program.segment(state, _Data(x, job.sample.y, jnp.asarray(job.m)), job.batches, until)
        )
        seconds = max(time.monotonic() - begin, 1e-3)
        pace = int(np.clip(int(state.pace) / seconds, 1, 4 * int(state.pace)))
        return state._replace(pace=jnp.asarray(pace, state.pace.dtype))

    def progress(self, state: Running) -> float:
        """Epochs done over epochs allowed; 1 once stopped."""
        return 1.0 if bool(state.stopped) else int(state.epoch) / self.epochs

    def finish(self, job: Job, state: Running) -> Fit:
        """The trained network as a predictor."""
        assert job.network is not None
        score = programs(job.network, self).score
        epochs = int(state.epoch)
        size = min(self.batch or job.m, job.m)
        facts = {
            "steps": epochs * -(-job.m // size),
            "epochs": epochs,
            "stopped": "loss" if float(state.loss) <= self.tolerance else "cap",
            "train_loss": float(state.loss),
            "parameters": job.network.parameter_count(job.shape),
        }
        trace = np.asarray(state.trace)
        return Fit(
            scores=lambda x: np.asarray(score(state.params, x)),
            facts=facts,
            trace={"loss_at_epochs_2^i": [float(v) for v in trace[trace >= 0]]},
            params=state.params,
        )

    def cost(self, network: Network | None, shape: tuple[int, ...], m: int) -> Cost:
        """Three forward passes an example and epoch (forward, two products back)."""
        assert network is not None
        epoch = 3.0 * network.flops(shape) * max(m, min(self.batch or m, CHUNK))
        inputs = float(np.prod(shape))
        rows = max(m, 1024)
        memory = 4.0 * (3 * rows * inputs + 8 * network.parameter_count(shape))
        return Cost(epoch * min(self.epochs, TYPICAL_EPOCHS), epoch * self.epochs, memory)


@cache
def optimisers() -> frozenset[str]:
    """The names of Optax's optimisers, read from its source, because importing it takes a second.

    Empty if Optax keeps them elsewhere one day; then a wrong name is noticed when a trial starts.
    """
    spec = find_spec("optax")
    if spec is None or spec.origin is None:
        return frozenset()
    lines = ast.parse(Path(spec.origin).read_text()).body
    named = [line for line in lines if isinstance(line, ast.ImportFrom) and line.module == "optax._src.alias"]
    return frozenset(alias.asname or alias.name for line in named for alias in line.names)


def pointwise(loss: str) -> Callable[[jax.Array, jax.Array], jax.Array]:
    """The loss of scores f and labels y in {-1, 1}, example by example."""
    if loss == "logistic":
        return lambda f, y: jax.nn.softplus(-y * f)
    if loss == "hinge":
        return lambda f, y: jnp.maximum(1 - y * f, 0)
    return lambda f, y: (y - f) ** 2


class _Data(NamedTuple):
    """The prepared sample: only the first ``m`` rows count."""

    x: jax.Array
    y: jax.Array
    m: jax.Array

    def chunks(self, size: int) -> jax.Array:
        """How many pieces of ``size`` rows the sample has, the last one counted whole."""
        return (self.m + size - 1) // size

    def rows(self, order: jax.Array, first: jax.Array, size: int) -> tuple[jax.Array, jax.Array]:
        """``size`` row numbers of ``order`` from ``first`` on, and 1 for those inside the sample, else 0."""
        place = first + jnp.arange(size)
        inside = place < self.m
        return order[jnp.where(inside, place, 0)], inside.astype(float)

    def summed(self, function: Callable[..., Any], zero: Any) -> Any:
        """The sum of ``function(row numbers, counts)`` over the sample, chunk by chunk."""
        plain = jnp.arange(self.y.shape[0])
        size = min(CHUNK, self.y.shape[0])

        def add(c: jax.Array, so_far: Any) -> Any:
            return jax.tree.map(jnp.add, so_far, function(*self.rows(plain, c * size, size)))

        return jax.lax.fori_loop(0, self.chunks(size), add, zero)


class _Training:
    """The functions that get compiled: pure, of arrays, for one network and learner."""

    def __init__(self, network: Network, learner: Gradient) -> None:
        self.network, self.learner = network, learner
        self.optimiser = learner.transformation()
        self.pointloss = pointwise(learner.loss)

    def begin(self, key: jax.Array, shape: tuple[int, ...]) -> tuple[Any, Any]:
        params = self.network.init(key, shape)
        return params, self.optimiser.init(params)

    def score(self, params: Any, x: jax.Array) -> jax.Array:
        return self.network.apply(params, self.network.prepare(x))

    def total(self, params: Any, data: _Data, chosen: jax.Array, counts: jax.Array) -> jax.Array:
        """The loss of the chosen rows, each as often as it counts."""
        scores = self.network.apply(params, jnp.take(data.x, chosen, axis=self.network.example_axis))
        return jnp.sum(counts * self.pointloss(scores, data.y[chosen]))

    def update(self, params: Any, inner: Any, grad: Any) -> tuple[Any, Any]:
        updates, inner = self.optimiser.update(grad, inner, params)
        return optax.apply_updates(params, updates), inner

    def whole_loss(self, params: Any, data: _Data) -> jax.Array:
        return data.summed(lambda *part: self.total(params, data, *part), jnp.zeros((), float)) / data.m

    def full_epoch(self, params: Any, inner: Any, data: _Data) -> tuple[Any, Any, jax.Array]:
        """One step on the whole sample."""
        zero = (jnp.zeros((), float), jax.tree.map(jnp.zeros_like, params))
        loss, grad = data.summed(lambda *part: jax.value_and_grad(self.total)(params, data, *part), zero)
        params, inner = self.update(params, inner, jax.tree.map(lambda g: g / data.m, grad))
        return params, inner, loss / data.m

    def batch_epoch(self, params: Any, inner: Any, data: _Data, key: jax.Array) -> tuple[Any, Any, jax.Array]:
        """One step for every batch of a fresh permutation."""
        size = self.learner.batch or 1
        lots = jax.random.uniform(key, data.y.shape, jnp.float32)
        order = jnp.argsort(jnp.where(jnp.arange(data.y.shape[0]) < data.m, lots, 2.0))

        def step(i: jax.Array, carry: Any) -> Any:
            params, inner, loss = carry
            chosen, inside = data.rows(order, i * size, size)
            value, grad = jax.value_and_grad(self.total)(params, data, chosen, inside / inside.sum())
            return *self.update(params, inner, grad), loss + value * inside.sum()

        start = (params, inner, jnp.zeros((), float))
        params, inner, loss = jax.lax.fori_loop(0, data.chunks(size), step, start)
        return params, inner, loss / data.m

    def epoch(self, state: Running, data: _Data, key: jax.Array) -> Running:
        """One epoch and the stopping rule."""
        if self.learner.batch is None:
            params, inner, running = self.full_epoch(state.params, state.optimiser, data)
        else:
            key = jax.random.fold_in(key, state.epoch)
            params, inner, running = self.batch_epoch(state.params, state.optimiser, data, key)
        epoch = state.epoch + 1
        last = epoch == self.learner.epochs
        look = (running <= self.learner.tolerance) | last
        loss = jax.lax.cond(look, lambda: self.whole_loss(params, data), lambda: running)
        done = (look & (loss <= self.learner.tolerance)) | last | ~jnp.isfinite(loss)
        slot = jnp.round(jnp.log2(epoch.astype(jnp.float32))).astype(int)
        marked = ((1 << slot) == epoch) & (jnp.arange(TRACE) == slot)
        trace = jnp.where(marked, running, state.trace)
        return Running(params, inner, epoch, loss, trace, done, state.pace)

    def segment(self, state: Running, data: _Data, key: jax.Array, until: jax.Array) -> Running:
        """Epochs until ``until``, or until training stops."""
        return jax.lax.while_loop(
            lambda state: (state.epoch < until) & ~state.stopped,
            lambda state: self.epoch(state, data, key),
            state,
        )


@once
def programs(network: Network, learner: Gradient) -> Programs:
    """The compiled programs of one network and learner.

    ``m`` and the keys are dynamic, so one compilation serves every seed and every sample size that
    fits the same padded array.
    """
    training = _Training(network, learner)
    return Programs(
        jax.jit(training.begin, static_argnums=1),
        jax.jit(network.prepare),
        jax.jit(training.segment),
        jax.jit(training.score),
    )
