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
        state = jax.block_until_ready(program.segment(state, x, job.sample.y, job.m, job.batches, until))
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


@once
def programs(network: Network, learner: Gradient) -> Programs:
    """The compiled programs of one network and learner.

    ``m`` and the keys are dynamic, so one compilation serves every seed and every sample size that
    fits the same padded array.
    """
    optimiser = learner.transformation()
    pointloss = pointwise(learner.loss)
    axis = network.example_axis

    def total(params: Any, x: jax.Array, y: jax.Array, chosen: jax.Array, counts: jax.Array) -> jax.Array:
        scores = network.apply(params, jnp.take(x, chosen, axis=axis))
        return jnp.sum(counts * pointloss(scores, y[chosen]))

    def rows_of(order: jax.Array, first: jax.Array, size: int, m: jax.Array) -> tuple[jax.Array, jax.Array]:
        place = first + jnp.arange(size)
        inside = place < m
        return order[jnp.where(inside, place, 0)], inside.astype(float)

    def summed(function: Callable[..., Any], zero: Any, x: jax.Array, y: jax.Array, m: jax.Array) -> Any:
        """The sum of ``function`` over the sample, chunk by chunk."""
        plain = jnp.arange(y.shape[0])
        size = min(CHUNK, y.shape[0])

        def add(c: jax.Array, so_far: Any) -> Any:
            return jax.tree.map(jnp.add, so_far, function(x, y, *rows_of(plain, c * size, size, m)))

        return jax.lax.fori_loop(0, (m + size - 1) // size, add, zero)

    def whole_loss(params: Any, x: jax.Array, y: jax.Array, m: jax.Array) -> jax.Array:
        return summed(lambda *part: total(params, *part), jnp.zeros((), float), x, y, m) / m

    def full_epoch(carry: Any, x: jax.Array, y: jax.Array, m: jax.Array, key: jax.Array) -> Any:
        del key
        params, inner = carry
        zero = (jnp.zeros((), float), jax.tree.map(jnp.zeros_like, params))
        loss, grad = summed(lambda *part: jax.value_and_grad(total)(params, *part), zero, x, y, m)
        updates, inner = optimiser.update(jax.tree.map(lambda g: g / m, grad), inner, params)
        return (optax.apply_updates(params, updates), inner), loss / m

    def batch_epoch(carry: Any, x: jax.Array, y: jax.Array, m: jax.Array, key: jax.Array) -> Any:
        size = learner.batch or 1
        lots = jax.random.uniform(key, y.shape, jnp.float32)
        order = jnp.argsort(jnp.where(jnp.arange(y.shape[0]) < m, lots, 2.0))

        def step(i: jax.Array, carry: Any) -> Any:
            params, inner, loss = carry
            chosen, inside = rows_of(order, i * size, size, m)
            value, grad = jax.value_and_grad(total)(params, x, y, chosen, inside / inside.sum())
            updates, inner = optimiser.update(grad, inner, params)
            return optax.apply_updates(params, updates), inner, loss + value * inside.sum()

        start = (*carry, jnp.zeros((), float))
        params, inner, loss = jax.lax.fori_loop(0, (m + size - 1) // size, step, start)
        return (params, inner), loss / m

    one_epoch = full_epoch if learner.batch is None else batch_epoch

    def segment(
        state: Running, x: jax.Array, y: jax.Array, m: jax.Array, key: jax.Array, until: jax.Array
    ) -> Running:
        def goes_on(state: Running) -> jax.Array:
            return (state.epoch < until) & ~state.stopped

        def advance(state: Running) -> Running:
            key_now = jax.random.fold_in(key, state.epoch)
            carry = (state.params, state.optimiser)
            (params, inner), running = one_epoch(carry, x, y, m, key_now)
            epoch = state.epoch + 1
            last = epoch == learner.epochs
            look = (running <= learner.tolerance) | last
            loss = jax.lax.cond(look, lambda: whole_loss(params, x, y, m), lambda: running)
            done = (look & (loss <= learner.tolerance)) | last | ~jnp.isfinite(loss)
            slot = jnp.round(jnp.log2(epoch.astype(jnp.float32))).astype(int)
            marked = (1 << slot) == epoch
            trace = jnp.where(marked & (jnp.arange(TRACE) == slot), running, state.trace)
            return Running(params, inner, epoch, loss, trace, done, state.pace)

        return jax.lax.while_loop(goes_on, advance, state)

    def score(params: Any, x: jax.Array) -> jax.Array:
        return network.apply(params, network.prepare(x))

    def begin(key: jax.Array, shape: tuple[int, ...]) -> tuple[Any, Any]:
        params = network.init(key, shape)
        return params, optimiser.init(params)

    return Programs(
        jax.jit(begin, static_argnums=1), jax.jit(network.prepare), jax.jit(segment), jax.jit(score)
    )
