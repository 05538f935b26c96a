"""The compiled loop of gradient training: steps, epochs, the stopping rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from whyconv.compiling import brief, quick
from whyconv.lazy import jax, jnp, np, optax
from whyconv.learners import Maker
from whyconv.learners._batches import Data
from whyconv.learners._optimisers import transformation
from whyconv.networks import Network
from whyconv.spec import once

if TYPE_CHECKING:
    from whyconv.learners.gradient import Gradient

TRACE = 24
"""The trace holds the training loss after epochs 1, 2, 4, ..., 2^23."""


class Running(NamedTuple):
    """The state: parameters, optimiser; epochs done and steps of the current one; loss, errors, traces."""

    params: Any
    optimiser: Any
    epoch: Any
    step: Any
    total: Any
    """The loss of the current epoch, summed over examples."""
    share: Any
    """The finished share of the current epoch."""
    loss: Any
    error: Any
    trace: Any
    errors: Any
    stopped: Any


def beginning(params: Any, optimiser: Any) -> Running:
    """The state before the first step; in NumPy, since JAX would compile each of these."""
    whole, real = (jax.dtypes.canonicalize_dtype(kind) for kind in (int, float))
    zero, nothing, never = np.zeros((), whole), np.zeros((), real), np.full((TRACE,), -1.0, real)
    state = Running(
        params,
        optimiser,
        epoch=zero,
        step=zero,
        total=nothing,
        share=nothing,
        loss=np.asarray(np.inf, real),
        error=np.ones((), real),
        trace=never,
        errors=never,
        stopped=np.zeros((), bool),
    )
    return jax.device_put(state)  # as later states, so that both are one entry of the program's cache


class Programs(NamedTuple):
    """Compiled programs: initial state; memory layout; some steps; scores."""

    begin: Callable[..., tuple[Any, Any]]
    prepare: Callable[[jax.Array], jax.Array]
    segment: Callable[..., Running]
    score: Callable[[Any, jax.Array], jax.Array]


class Training:
    """The functions to compile for one network and learner: pure functions of arrays."""

    def __init__(self, network: Network, learner: Gradient, maker: Maker | None) -> None:
        self.network, self.learner, self.maker = network, learner, maker
        self.optimiser = transformation(learner.optimiser, learner.rate, learner.options)
        self.pointloss = learner.function("loss")

    def begin(self, key: jax.Array, shape: tuple[int, ...]) -> tuple[Any, Any]:
        params = self.network.init(key, shape)
        return params, self.optimiser.init(self.split(params)[0])

    def split(self, params: Any) -> tuple[Any, Any]:
        """The trained parameters, and the fixed ones."""
        fixed = self.network.fixed
        if not fixed:
            return params, {}
        return (
            {name: part for name, part in params.items() if name not in fixed},
            {name: part for name, part in params.items() if name in fixed},
        )

    def derive(self, trained: Any, kept: Any) -> Any:
        """What the network reads, from its trained and fixed parameters."""
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
        """The loss of the chosen rows, weighted by ``counts`` and by their own weights, if they have any."""
        x, y = self.look(data, chosen)
        counts = counts if isinstance(data.weights, tuple) else counts * data.weights[chosen]
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
        """The fraction of wrong labels; a single score of zero predicts -1."""
        derived = self.network.derive(params)

        def wrong(chosen: jax.Array, counts: jax.Array) -> jax.Array:
            x, y = self.look(data, chosen)
            scores = self.network.apply(derived, x)
            missed = (scores > 0) != (y > 0) if scores.ndim == 1 else jnp.argmax(scores, axis=1) != y
            return jnp.sum(counts * missed)

        return data.summed(wrong, jnp.zeros((), float), self.network.chunk) / data.m

    def full_step(self, params: Any, inner: Any, data: Data) -> tuple[Any, Any, jax.Array]:
        """One step on the whole sample; what the network derives is computed and differentiated once."""
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
        """One step per batch of the epoch, from its current step to ``until``."""
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
        """At most ``steps`` steps, stopping at the end of the epoch, and how many steps are left."""
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
        """The stopping rule, at the end of an epoch."""
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
        """``steps`` more steps, or until training stops; ``epochs`` is the limit of the whole run."""
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

    ``m`` and the keys are arguments, so one compilation serves all seeds and all sample sizes that share a
    padded array.
    """
    training = Training(network, learner, maker)
    return Programs(
        quick(training.begin, static=1),
        quick(network.prepare),
        (brief if maker is None or maker.brief else jax.jit)(training.segment),  # real images take minutes
        brief(training.score),
    )
