"""Gradient training of a whole network with any Optax optimiser."""

from __future__ import annotations

import ast
import math
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field, field_validator, model_validator

from whyconv.lazy import jax, jnp, np, optax
from whyconv.learners import Cost, Fit, Job, Learner
from whyconv.networks import Network, Setting
from whyconv.spec import once
from whyconv.tasks import Task

PASSES = 3
"""Forward passes that a training step on an example is worth: forward, and two products back."""
TRACE = 24
"""The trace keeps the training loss of epochs 1, 2, 4, ..., 2^23."""
TYPICAL_EPOCHS = 150
ELEMENTWISE = frozenset(
    ["sgd", "adam", "adagrad", "adadelta", "adamax", "amsgrad", "nadam", "rmsprop", "rprop"]
)
"""Optimisers that treat every number by itself, so that equal filters stay equal."""


class Running(NamedTuple):
    """The state: parameters, optimiser state, epochs done, last training loss and held-out error, traces."""

    params: Any
    optimiser: Any
    epoch: jax.Array
    loss: jax.Array
    error: jax.Array
    trace: jax.Array
    errors: jax.Array
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
    batch counts as a step. Losses: logistic log(1 + exp(-y f)), hinge max(0, 1 - y f) with the
    derivative 0 at its kink, squared (y - f)^2. ``options`` go to the optimiser by name (``{"b1": 0.8}``).

    *Steps to a target.* With ``target_error`` the last ``held_out`` examples of the sample are not trained
    on; training stops after the first epoch whose error on them is at most the target. A run that ends
    otherwise has not reached it, and ``stopped`` tells why: *loss* (it fits its sample and does not
    generalise), *cap* (the epochs are spent) or *diverged*. An answer, not a failure.

    Networks with an equal, faster form (tables, multiplicities) are trained in that form.
    """

    version: ClassVar[int] = 2
    reference: ClassVar[str] = "Brutzkus & Globerson, section 7 (Adam); Optax for the optimisers"

    optimiser: str = "adam"
    rate: float = Field(1e-3, gt=0, le=1e6)
    options: dict[str, float] = Field(default_factory=dict)
    batch: int | None = Field(32, ge=1, le=1_000_000)
    loss: Literal["logistic", "hinge", "squared"] = "logistic"
    tolerance: float = Field(1e-3, ge=0)
    epochs: int = Field(2000, ge=1, le=8_000_000)
    target_error: float | None = Field(None, ge=0, lt=1)
    held_out: int = Field(0, ge=0, le=1_000_000)

    @model_validator(mode="after")
    def _target(self) -> Gradient:
        if (self.target_error is None) != (self.held_out == 0):
            raise ValueError("target_error and held_out (examples it is measured on) belong together")
        return self

    @field_validator("optimiser")
    @classmethod
    def _known(cls, name: str) -> str:
        if (known := optimisers()) and name not in known:
            raise ValueError(f"there is no Optax optimiser {name!r}; adam, sgd, rmsprop, adadelta are some")
        return name

    def transformation(self) -> optax.GradientTransformation:
        """The Optax optimiser, with its rate in its state."""
        make = getattr(optax, self.optimiser, None)
        try:
            made = make(self.rate, **self.options) if callable(make) else None
        except TypeError as error:
            raise ValueError(f"optimiser {self.optimiser} does not take {self.options}: {error}") from None
        if not isinstance(made, optax.GradientTransformation):
            raise ValueError(f"optax.{self.optimiser} is no optimiser; adam, sgd, rmsprop, adadelta are some")
        return optax.inject_hyperparams(make, static_args=tuple(self.options))(self.rate, **self.options)

    def compiled(self) -> Gradient:
        """The rate is part of the optimiser's state and the epochs are an argument: grids compile once."""
        return self.model_copy(update={"rate": 1.0, "epochs": 1})

    def refusal(self, network: Network | None, m: int) -> str:
        """There must be a network, and examples beside those held out."""
        if m <= self.held_out:
            return (
                f"m = {m} examples were given, and held_out = {self.held_out} are not trained on; take more"
            )
        return super().refusal(network, m)

    def trained(self, m: int) -> int:
        """All but those held out."""
        return m - self.held_out

    def form(self, network: Network | None, task: Task, m: int) -> Network | None:
        """The equal form that is fastest for these inputs, this many rows a step and this optimiser."""
        if network is None:
            return None
        rows = min(self.batch or m, self.trained(m))
        setting = Setting(task.signs, rows, self.optimiser in ELEMENTWISE)
        return network.faster(task.shape, setting)

    def start(self, job: Job) -> Running:
        """Fresh parameters and optimiser state."""
        assert job.network is not None
        params, inner = programs(job.network, self.compiled()).begin(job.init, job.shape)
        rate = jnp.asarray(self.rate, inner.hyperparams["learning_rate"].dtype)
        inner = inner._replace(hyperparams={**inner.hyperparams, "learning_rate": rate})
        zero = jnp.zeros((), int)
        return Running(
            params,
            inner,
            epoch=zero,
            loss=jnp.full((), jnp.inf, float),
            error=jnp.ones((), float),
            trace=jnp.full((TRACE,), -1.0, float),
            errors=jnp.full((TRACE,), -1.0, float),
            stopped=jnp.zeros((), bool),
            pace=zero + 4,
        )

    def advance(self, job: Job, state: Running) -> Running:
        """About a second of epochs: ``pace`` follows the clock, and does not touch the numbers."""
        assert job.network is not None
        program = programs(job.network, self.compiled())
        if "x" not in job.kept:
            job.kept["x"] = program.prepare(job.sample.x)

        def whole(number: int) -> Any:
            return np.asarray(number, state.epoch.dtype)

        data = Data(job.kept["x"], job.sample.y, whole(0), whole(self.trained(job.m)))
        until = whole(min(int(state.epoch) + int(state.pace), self.epochs))
        begin = time.monotonic()
        after = jax.block_until_ready(program.segment(state, data, job.batches, until, whole(self.epochs)))
        seconds = max(time.monotonic() - begin, 1e-3)
        pace = int(np.clip(int(state.pace) / seconds, 1, 4 * int(state.pace)))
        return after._replace(pace=whole(pace))

    def progress(self, state: Running) -> float:
        """Epochs done over epochs allowed; 1 once stopped."""
        return 1.0 if bool(state.stopped) else int(state.epoch) / self.epochs

    def finish(self, job: Job, state: Running) -> Fit:
        """The trained network as a predictor."""
        assert job.network is not None
        score = programs(job.network, self.compiled()).score
        trained, epochs = self.trained(job.m), int(state.epoch)
        size = min(self.batch or trained, trained)
        facts: dict[str, float | int | str | bool] = {
            "steps": epochs * -(-trained // size),
            "epochs": epochs,
            "stopped": self._stopped(state),
            "parameters": job.network.parameter_count(job.shape),
            "train_flops": PASSES * job.network.flops(job.shape) * trained * epochs,
        }
        if self.target_error is None or math.isfinite(float(state.loss)):
            facts["train_loss"] = float(state.loss)
        if job.network.form:
            facts["form"] = job.network.form
        traces = {"loss_at_epochs_2^i": state.trace}
        if self.target_error is not None:
            facts["held_out_error"] = float(state.error)
            traces["held_out_error_at_epochs_2^i"] = state.errors
        return Fit(
            scores=lambda x: np.asarray(score(state.params, x)),
            facts=facts,
            trace={name: [float(v) for v in np.asarray(trace) if v >= 0] for name, trace in traces.items()},
            params=state.params,
        )

    def _stopped(self, state: Running) -> str:
        """Why training ended: error, loss, diverged or cap."""
        if not math.isfinite(float(state.loss)):
            return "diverged"
        if self.target_error is not None and float(state.error) <= self.target_error:
            return "error"
        return "loss" if float(state.loss) <= self.tolerance else "cap"

    def cost(self, network: Network | None, shape: tuple[int, ...], m: int) -> Cost:
        """Three forward passes an example and epoch (forward, two products back)."""
        assert network is not None
        epoch = PASSES * network.step_flops(shape, max(m, min(self.batch or m, network.chunk)))
        inputs = float(np.prod(shape))
        rows = max(m, 1024)
        memory = 4.0 * (3 * rows * inputs + 8 * network.stored(shape))
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
        return lambda f, y: jnp.where(y * f < 1, 1 - y * f, 0.0)
    return lambda f, y: (y - f) ** 2


class Data(NamedTuple):
    """Prepared examples, of which ``m`` rows from ``first`` on count."""

    x: jax.Array
    y: jax.Array
    first: jax.Array
    m: jax.Array

    def chunks(self, size: int) -> jax.Array:
        """How many pieces of ``size`` rows there are, the last one counted whole."""
        return (self.m + size - 1) // size

    def rows(self, order: jax.Array, begin: jax.Array, size: int) -> tuple[jax.Array, jax.Array]:
        """``size`` row numbers of ``order`` from ``begin`` on, and 1 for those that count, else 0."""
        place = begin + jnp.arange(size)
        inside = place < self.m
        return self.first + order[jnp.where(inside, place, 0)], inside.astype(float)

    def summed(self, function: Callable[..., Any], zero: Any, chunk: int) -> Any:
        """The sum of ``function(row numbers, counts)`` over the rows that count, ``chunk`` at once."""
        plain = jnp.arange(self.y.shape[0])
        size = min(chunk, self.y.shape[0])

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
        return params, self.optimiser.init(self.split(params)[0])

    def split(self, params: Any) -> tuple[Any, Any]:
        """The parameters that are trained, and those that are not."""
        fixed = self.network.fixed
        if not fixed:
            return params, {}
        return (
            {name: part for name, part in params.items() if name not in fixed},
            {name: part for name, part in params.items() if name in fixed},
        )

    def derive(self, trained: Any, kept: Any) -> Any:
        """What the network reads, from its trained and its other parameters."""
        return self.network.derive({**trained, **kept} if kept else trained)

    def score(self, params: Any, x: jax.Array) -> jax.Array:
        return self.network.apply(self.network.derive(params), self.network.prepare(x))

    def scores(self, derived: Any, data: Data, chosen: jax.Array) -> jax.Array:
        return self.network.apply(derived, jnp.take(data.x, chosen, axis=self.network.example_axis))

    def total(self, derived: Any, data: Data, chosen: jax.Array, counts: jax.Array) -> jax.Array:
        """The loss of the chosen rows, each as often as it counts."""
        return jnp.sum(counts * self.pointloss(self.scores(derived, data, chosen), data.y[chosen]))

    def update(self, params: Any, inner: Any, grad: Any) -> tuple[Any, Any]:
        trained, kept = self.split(params)
        updates, inner = self.optimiser.update(grad, inner, trained)
        trained = optax.apply_updates(trained, updates)
        return self.network.constrain({**trained, **kept} if kept else trained), inner

    def whole_loss(self, params: Any, data: Data) -> jax.Array:
        derived = self.network.derive(params)
        total = data.summed(
            lambda *part: self.total(derived, data, *part), jnp.zeros((), float), self.network.chunk
        )
        return total / data.m

    def error(self, params: Any, data: Data) -> jax.Array:
        """The share of wrong signs; a score of zero counts as the label -1."""
        derived = self.network.derive(params)

        def wrong(chosen: jax.Array, counts: jax.Array) -> jax.Array:
            positive = self.scores(derived, data, chosen) > 0
            return jnp.sum(counts * (positive != (data.y[chosen] > 0)))

        return data.summed(wrong, jnp.zeros((), float), self.network.chunk) / data.m

    def full_epoch(self, params: Any, inner: Any, data: Data) -> tuple[Any, Any, jax.Array]:
        """One step on the whole sample: what the network derives is made, and differentiated, once."""
        trained, kept = self.split(params)
        derived, pull_back = jax.vjp(lambda part: self.derive(part, kept), trained)
        zero = (jnp.zeros((), float), jax.tree.map(jnp.zeros_like, derived))
        loss, grad = data.summed(
            lambda *part: jax.value_and_grad(self.total)(derived, data, *part), zero, self.network.chunk
        )
        (grad,) = pull_back(jax.tree.map(lambda g: g / data.m, grad))
        params, inner = self.update(params, inner, grad)
        return params, inner, loss / data.m

    def batch_epoch(self, params: Any, inner: Any, data: Data, key: jax.Array) -> tuple[Any, Any, jax.Array]:
        """One step for every batch of a fresh permutation."""
        size = self.learner.batch or 1
        lots = jax.random.uniform(key, data.y.shape, jnp.float32)
        order = jnp.argsort(jnp.where(jnp.arange(data.y.shape[0]) < data.m, lots, 2.0))

        def step(i: jax.Array, carry: Any) -> Any:
            params, inner, loss = carry
            chosen, inside = data.rows(order, i * size, size)
            trained, kept = self.split(params)

            def batch_loss(part: Any) -> jax.Array:
                return self.total(self.derive(part, kept), data, chosen, inside / inside.sum())

            value, grad = jax.value_and_grad(batch_loss)(trained)
            return *self.update(params, inner, grad), loss + value * inside.sum()

        start = (params, inner, jnp.zeros((), float))
        params, inner, loss = jax.lax.fori_loop(0, data.chunks(size), step, start)
        return params, inner, loss / data.m

    def epoch(self, state: Running, data: Data, key: jax.Array, epochs: jax.Array) -> Running:
        """One epoch and the stopping rule."""
        if self.learner.batch is None:
            params, inner, running = self.full_epoch(state.params, state.optimiser, data)
        else:
            key = jax.random.fold_in(key, state.epoch)
            params, inner, running = self.batch_epoch(state.params, state.optimiser, data, key)
        epoch = state.epoch + 1
        last = epoch == epochs
        look = (running <= self.learner.tolerance) | last
        loss = jax.lax.cond(look, lambda: self.whole_loss(params, data), lambda: running)
        done = (look & (loss <= self.learner.tolerance)) | last | ~jnp.isfinite(loss)
        error = state.error
        if self.learner.target_error is not None:
            held_out = Data(data.x, data.y, data.m, jnp.asarray(self.learner.held_out))
            error = self.error(params, held_out)
            done = done | (error <= self.learner.target_error)
        slot = jnp.round(jnp.log2(epoch.astype(jnp.float32))).astype(int)
        marked = ((1 << slot) == epoch) & (jnp.arange(TRACE) == slot)
        trace, errors = jnp.where(marked, running, state.trace), jnp.where(marked, error, state.errors)
        return Running(params, inner, epoch, loss, error, trace, errors, done, state.pace)

    def segment(
        self, state: Running, data: Data, key: jax.Array, until: jax.Array, epochs: jax.Array
    ) -> Running:
        """Epochs until ``until``, or until training stops; ``epochs`` are all that are allowed."""
        return jax.lax.while_loop(
            lambda state: (state.epoch < until) & ~state.stopped,
            lambda state: self.epoch(state, data, key, epochs),
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
