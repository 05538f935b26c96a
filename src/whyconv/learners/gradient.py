"""Gradient training of a whole network with any Optax optimiser."""

from __future__ import annotations

import ast
import math
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import Field, field_validator, model_validator

from whyconv import registry
from whyconv.lazy import jax, jnp, np, optax
from whyconv.learners import Cost, Fit, Job, Learner, Maker, at_most
from whyconv.learners._adadelta import adadelta
from whyconv.learners.losses import Loss, mismatch
from whyconv.networks import Network, Setting
from whyconv.spec import once
from whyconv.tasks import Task

PASSES = 3
"""Forward passes that a training step on an example is worth: forward, and two products back."""
TRACE = 24
"""The trace keeps the training loss of epochs 1, 2, 4, ..., 2^23."""
TYPICAL_EPOCHS = 1500
"""Epochs until the loss is small are about this over sqrt(m): measured on digits, m = 50 to 10,000, 1000 for
ConvPool and 1700 for the MLP."""
ELEMENTWISE = frozenset(
    ["sgd", "adam", "adagrad", "adadelta", "adamax", "amsgrad", "nadam", "rmsprop", "rprop"]
)
"""Optimisers that treat every number by itself, so that equal filters stay equal."""


class Running(NamedTuple):
    """The state: parameters, optimiser; epochs done, and steps of the present one; loss, errors, traces."""

    params: Any
    optimiser: Any
    epoch: jax.Array
    step: jax.Array
    total: jax.Array
    """The loss of the present epoch, summed over examples."""
    share: jax.Array
    """How much of the present epoch is done."""
    loss: jax.Array
    error: jax.Array
    trace: jax.Array
    errors: jax.Array
    stopped: jax.Array
    pace: jax.Array


class Programs(NamedTuple):
    """Compiled: parameters and optimiser state; layout; some steps; scores."""

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
    batch counts as a step. ``loss``: one of :mod:`whyconv.learners.losses`; for more than two classes the
    cross-entropy -log softmax(f)_y. ``options`` go to the optimiser by name (``{"b1": 0.8}``).

    *Steps to a target.* With ``target_error`` the last ``held_out`` examples of the sample are not trained
    on; training stops after the first epoch whose error on them is at most the target. A run that ends
    otherwise has not reached it, and ``stopped`` tells why: *loss* (it fits its sample and does not
    generalise), *cap* (the epochs are spent) or *diverged*. An answer, not a failure.

    Examples of a streamed task are made batch by batch. Where every epoch has new ones, they come in order
    and the loss is the mean over the epoch's batches.

    Networks with an equal, faster form (tables, multiplicities) are trained in that form.
    """

    version: ClassVar[int] = 2
    streams: ClassVar[bool] = True
    reference: ClassVar[str] = "Brutzkus & Globerson, section 7 (Adam); Optax for the optimisers"

    optimiser: str = "adam"
    rate: float = Field(1e-3, gt=0, le=1e6)
    options: dict[str, float] = Field(default_factory=dict)
    batch: int | None = Field(32, ge=1, le=1_000_000)
    loss: Loss = "logistic"
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
        if self.optimiser == "adadelta" and set(self.options) <= {"rho", "eps"}:
            make = adadelta
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
        if registry.find("loss", self.loss).companions["unbounded"]:
            return (
                f"loss = {self.loss} was given, which has no minimum, and {self.name} stops once the loss is "
                "small; take another loss"
            )
        return mismatch(self.loss, network) or super().refusal(network, m)

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
        params, inner = self.programs(job).begin(job.init, job.shape)
        rate = jnp.asarray(self.rate, inner.hyperparams["learning_rate"].dtype)
        inner = inner._replace(hyperparams={**inner.hyperparams, "learning_rate": rate})
        zero = jnp.zeros((), int)
        return Running(
            params,
            inner,
            epoch=zero,
            step=zero,
            total=jnp.zeros((), float),
            share=jnp.zeros((), float),
            loss=jnp.full((), jnp.inf, float),
            error=jnp.ones((), float),
            trace=jnp.full((TRACE,), -1.0, float),
            errors=jnp.full((TRACE,), -1.0, float),
            stopped=jnp.zeros((), bool),
            pace=zero + 16,
        )

    def advance(self, job: Job, state: Running) -> Running:
        """About a second of steps: ``pace`` follows the clock, and does not touch the numbers."""
        program = self.programs(job)

        def whole(number: int) -> Any:
            return np.asarray(number, state.epoch.dtype)

        data, steps = self._data(job, state, whole), int(state.pace)
        if job.feed is not None and job.feed.maker.fresh:  # no further than this epoch's order goes
            size = min(self.batch or job.m, self.trained(job.m))
            steps = min(steps, -(-self.trained(job.m) // size) - int(state.step))
        arguments = (state, data, job.batches, whole(steps), whole(self.epochs))
        begin = time.monotonic()
        after = jax.block_until_ready(program.segment(*arguments))
        seconds = max(time.monotonic() - begin, 1e-3)
        pace = int(np.clip(steps / seconds, 1, 4 * int(state.pace)))
        return after._replace(pace=whole(pace))

    def _data(self, job: Job, state: Running, whole: Callable[[int], Any]) -> Data:
        """The prepared sample; or what batches are made of, in the order of the present epoch."""
        if job.feed is None:
            if "data" not in job.kept:
                x = self.programs(job).prepare(job.sample.x)
                job.kept["data"] = Data(x, job.sample.y, whole(0), whole(self.trained(job.m)))
            return job.kept["data"]
        maker, arrays, rows = job.feed
        epoch = int(state.epoch) if maker.fresh else 0
        if job.kept.get("epoch") != epoch:
            order = jax.tree.map(jnp.asarray, maker.shuffle(arrays, epoch))
            data = Data(arrays, jnp.zeros(rows), whole(0), whole(self.trained(job.m)), order)
            job.kept.update(epoch=epoch, data=data)
        return job.kept["data"]

    def programs(self, job: Job) -> Programs:
        """The compiled programs for a job."""
        assert job.network is not None
        return programs(job.network, self.compiled(), job.feed.maker if job.feed is not None else None)

    def progress(self, state: Running) -> float:
        """Epochs done, with the share of the present one, over epochs allowed; 1 once stopped."""
        done = (int(state.epoch) + float(state.share)) / self.epochs
        return 1.0 if bool(state.stopped) else min(done, 1 - 1e-9)

    def finish(self, job: Job, state: Running) -> Fit:
        """The trained network as a predictor."""
        assert job.network is not None
        score = self.programs(job).score
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
        if self.target_error is not None and at_most(state.error, self.target_error):
            return "error"
        return "loss" if at_most(state.loss, self.tolerance) else "cap"

    def cost(self, network: Network | None, shape: tuple[int, ...], m: int) -> Cost:
        """Three forward passes an example and epoch (forward, two products back)."""
        assert network is not None
        epoch = PASSES * network.step_flops(shape, max(m, min(self.batch or m, network.chunk)))
        inputs = float(np.prod(shape))
        rows = max(m, 1024)
        memory = 4.0 * (3 * rows * inputs + 8 * network.stored(shape))
        stops = self.tolerance > 0 or self.target_error is not None
        typical = min(self.epochs, math.ceil(TYPICAL_EPOCHS / math.sqrt(m))) if stops else self.epochs
        return Cost(epoch * typical, epoch * self.epochs, memory)


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


class Data(NamedTuple):
    """Prepared examples, or what they are made of, of which ``m`` rows from ``first`` on count."""

    x: Any
    y: jax.Array
    first: jax.Array
    m: jax.Array
    order: Any = ()
    """What the examples of the epoch have in common, where they are made batch by batch."""

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

    def __init__(self, network: Network, learner: Gradient, maker: Maker | None) -> None:
        self.network, self.learner, self.maker = network, learner, maker
        self.optimiser = learner.transformation()
        self.pointloss = learner.function("loss")

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

    def look(self, data: Data, chosen: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The chosen examples, prepared, with their labels."""
        if self.maker is None:
            return jnp.take(data.x, chosen, axis=self.network.example_axis), data.y[chosen]
        made = self.maker.batch(data.x, data.order, chosen)
        return self.network.prepare(made.x), made.y

    def total(self, derived: Any, data: Data, chosen: jax.Array, counts: jax.Array) -> jax.Array:
        """The loss of the chosen rows, each as often as it counts."""
        x, y = self.look(data, chosen)
        return jnp.sum(counts * self.pointloss(self.network.apply(derived, x), y))

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
        """The share of wrong labels; a single score of zero counts as the label -1."""
        derived = self.network.derive(params)

        def wrong(chosen: jax.Array, counts: jax.Array) -> jax.Array:
            x, y = self.look(data, chosen)
            scores = self.network.apply(derived, x)
            missed = (scores > 0) != (y > 0) if scores.ndim == 1 else jnp.argmax(scores, axis=1) != y
            return jnp.sum(counts * missed)

        return data.summed(wrong, jnp.zeros((), float), self.network.chunk) / data.m

    def full_step(self, params: Any, inner: Any, data: Data) -> tuple[Any, Any, jax.Array]:
        """One step on the whole sample: what the network derives is made, and differentiated, once."""
        trained, kept = self.split(params)
        derived, pull_back = jax.vjp(lambda part: self.derive(part, kept), trained)
        zero = (jnp.zeros((), float), jax.tree.map(jnp.zeros_like, derived))
        loss, grad = data.summed(
            lambda *part: jax.value_and_grad(self.total)(derived, data, *part),
            zero,
            self.network.chunk,
        )
        (grad,) = pull_back(jax.tree.map(lambda g: g / data.m, grad))
        params, inner = self.update(params, inner, grad)
        return params, inner, loss

    def batch_steps(
        self, state: Running, data: Data, key: jax.Array, until: jax.Array
    ) -> tuple[Any, Any, jax.Array]:
        """A step for every batch of the epoch, from where it stands to ``until``."""
        size = self.learner.batch or 1
        places = jnp.arange(data.y.shape[0])
        if self.maker is None or not self.maker.fresh:
            lots = jax.random.uniform(jax.random.fold_in(key, state.epoch), data.y.shape, jnp.float32)
            places = jnp.argsort(jnp.where(places < data.m, lots, 2.0))

        def step(i: jax.Array, carry: Any) -> Any:
            params, inner, loss = carry
            chosen, inside = data.rows(places, i * size, size)
            trained, kept = self.split(params)

            def batch_loss(part: Any) -> jax.Array:
                return self.total(self.derive(part, kept), data, chosen, inside / inside.sum())

            value, grad = jax.value_and_grad(batch_loss)(trained)
            return *self.update(params, inner, grad), loss + value * inside.sum()

        return jax.lax.fori_loop(state.step, until, step, (state.params, state.optimiser, state.total))

    def stretch(
        self, state: Running, data: Data, key: jax.Array, steps: jax.Array, epochs: jax.Array
    ) -> tuple[Running, jax.Array]:
        """At most ``steps`` steps, no further than the end of the epoch, and how many are left."""
        if self.learner.batch is None:
            count = until = jnp.ones_like(state.step)
            params, inner, total = self.full_step(state.params, state.optimiser, data)
        else:
            count = data.chunks(self.learner.batch)
            until = jnp.minimum(count, state.step + steps)
            params, inner, total = self.batch_steps(state, data, key, until)
        left = steps - (until - state.step)
        share = until.astype(state.share.dtype) / count
        state = state._replace(params=params, optimiser=inner, step=until, total=total, share=share)
        progress = jax.lax.cond(
            until == count, lambda: self.judged(state, data, epochs), lambda: _progress(state)
        )
        return state._replace(**progress), left

    def judged(self, state: Running, data: Data, epochs: jax.Array) -> dict[str, jax.Array]:
        """The end of an epoch: the stopping rule."""
        running, epoch = state.total / data.m, state.epoch + 1
        last = epoch == epochs
        look = (running <= self.learner.tolerance) | last
        loss = running
        if self.maker is None or not self.maker.fresh:
            loss = jax.lax.cond(look, lambda: self.whole_loss(state.params, data), lambda: running)
        done = (look & (loss <= self.learner.tolerance)) | last | ~jnp.isfinite(loss)
        error = state.error
        if self.learner.target_error is not None:
            held_out = Data(data.x, data.y, data.m, jnp.asarray(self.learner.held_out), data.order)
            error = self.error(state.params, held_out)
            done = done | (error <= self.learner.target_error)
        slot = jnp.round(jnp.log2(epoch.astype(jnp.float32))).astype(int)
        marked = ((1 << slot) == epoch) & (jnp.arange(TRACE) == slot)
        return {
            "epoch": epoch,
            "step": jnp.zeros_like(state.step),
            "total": jnp.zeros_like(state.total),
            "share": jnp.zeros_like(state.share),
            "loss": loss,
            "error": error,
            "trace": jnp.where(marked, running, state.trace),
            "errors": jnp.where(marked, error, state.errors),
            "stopped": done,
        }

    def segment(
        self, state: Running, data: Data, key: jax.Array, steps: jax.Array, epochs: jax.Array
    ) -> Running:
        """``steps`` more steps, or until training stops; ``epochs`` are all that are allowed."""
        return jax.lax.while_loop(
            lambda carry: (carry[1] > 0) & ~carry[0].stopped,
            lambda carry: self.stretch(carry[0], data, key, carry[1], epochs),
            (state, steps),
        )[0]


def _progress(state: Running) -> dict[str, jax.Array]:
    """What the end of an epoch changes, unchanged."""
    names = ("epoch", "step", "total", "share", "loss", "error", "trace", "errors", "stopped")
    return {name: getattr(state, name) for name in names}


@once
def programs(network: Network, learner: Gradient, maker: Maker | None = None) -> Programs:
    """The compiled programs of one network and learner.

    ``m`` and the keys are dynamic, so one compilation serves every seed and every sample size that
    fits the same padded array.
    """
    training = _Training(network, learner, maker)
    return Programs(
        jax.jit(training.begin, static_argnums=1),
        jax.jit(network.prepare),
        jax.jit(training.segment),
        jax.jit(training.score),
    )
