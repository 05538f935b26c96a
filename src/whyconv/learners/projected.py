"""Projected gradient descent on the whole sample, for a grid of step sizes side by side."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field, field_validator

from whyconv.compiling import brief, quick
from whyconv.lazy import jax, jnp, np, optax
from whyconv.learners import Cost, Fit, Job, Learner
from whyconv.learners.gradient import PASSES
from whyconv.learners.losses import Loss, mismatch
from whyconv.networks import Network
from whyconv.spec import once

BIAS = "b"
"""The parameter whose step size is the bias rate."""
CHUNK = 128
"""Examples per pass; the sample is cut into pieces of this size."""


class Descent(NamedTuple):
    """The state, the grid on the first axis: parameters, moments, steps, losses before the last step."""

    params: Any
    moments: Any
    step: jax.Array
    loss: jax.Array


class Laid(NamedTuple):
    """The sample in pieces: x (piece, ..., example), y (piece, example), of which ``m`` examples count."""

    x: jax.Array
    y: jax.Array
    m: jax.Array


class Programs(NamedTuple):
    """Compiled programs: initial parameters; the layout of a sample; some steps; scores."""

    init: Callable[..., Any]
    lay: Callable[..., Laid]
    segment: Callable[..., Descent]
    score: Callable[[Any, jax.Array], jax.Array]


class Projected(Learner, name="projected"):
    """Full-batch gradient descent, projected after every step, with a grid of step sizes side by side.

    theta <- P(theta - rate * gradient of the mean loss), the threshold b with ``bias_rates`` in place of
    ``rates``; P is the network's own constraint (unit ball, b >= 0). Every pair of a rate and a bias rate is
    trained on the same sample from the same start, all in one program that reads the examples once; the
    trial keeps the pair that does best on a validation sample (:func:`whyconv.execution.chosen`). The grid is
    thus the tuning budget, the same for every network with this learner.

    ``loss``: one of :mod:`whyconv.learners.losses`, such as squared (y - f)^2 or correlation -y f.
    ``optimiser``: *gd*, which is equivariant to rotations, or *adam*, which is not.
    Cost: 3 forward passes per example, step and pair.
    """

    reference: ClassVar[str] = "Lahoti et al., experiments (step sizes from the authors' discussion page)"
    version: ClassVar[int] = 3

    rates: tuple[float, ...] = (0.3, 0.1)
    bias_rates: tuple[float, ...] = (0.03, 0.003)
    steps: int = Field(600, ge=1, le=10_000_000)
    loss: Loss = "squared"
    optimiser: Literal["gd", "adam"] = "gd"

    @field_validator("rates", "bias_rates")
    @classmethod
    def _some(cls, rates: tuple[float, ...]) -> tuple[float, ...]:
        if not rates or not 0 <= min(rates) <= max(rates) <= 1e6 or len(set(rates)) < len(rates):
            raise ValueError(
                "give one or more different step sizes from 0 to 1e6, as in [1, 0.1]; an empty grid trains "
                "nothing"
            )
        return rates

    @property
    def grid(self) -> list[tuple[float, float]]:
        """The pairs (rate, bias rate)."""
        return list(product(self.rates, self.bias_rates))

    def compiled(self) -> Projected:
        """Rates and steps are arguments; the size of the grid is not."""
        size = len(self.grid)
        same = {"rates": tuple(float(i) for i in range(size)), "bias_rates": (1.0,), "steps": 1}
        return self.model_copy(update=same)

    def refusal(self, network: Network | None, m: int) -> str:
        """The loss must suit the network's number of scores."""
        return mismatch(self.loss, network) or super().refusal(network, m)

    def trains(self, network: Network) -> Network:
        """The network that is trained: the one given."""
        return network

    def start(self, job: Job) -> Descent:
        """The network's initial parameters, repeated for every pair."""
        assert job.network is not None
        program = programs(self.trains(job.network), self.compiled())
        return self.begin(job, program.init(job.init, job.shape))

    def begin(self, job: Job, params: Any) -> Descent:
        size = len(self.grid)
        grid = jax.tree.map(lambda part: np.broadcast_to(np.asarray(part), (size, *part.shape)), params)
        zero = jnp.zeros((), int)
        moments = optax.scale_by_adam().init(grid) if self.optimiser == "adam" else ()
        return Descent(grid, moments, zero, jnp.zeros((size,), float))

    def advance(self, job: Job, state: Descent, steps: int) -> Descent:
        """At most ``steps`` steps of every pair."""
        assert job.network is not None
        program = programs(self.trains(job.network), self.compiled())
        if "laid" not in job.kept:
            job.kept["laid"] = program.lay(job.sample.x, job.sample.y, np.asarray(job.m, state.step.dtype))
        data = job.kept["laid"]
        rates = tuple(np.asarray(column, data.y.dtype) for column in zip(*self.grid, strict=True))
        until = np.asarray(min(int(state.step) + steps, self.steps), state.step.dtype)
        return program.segment(state, data, rates, until)

    def progress(self, state: Descent) -> float:
        """Steps done over steps to do."""
        return int(state.step) / self.steps

    def fits(self, job: Job, state: Descent) -> list[Fit]:
        return [self._fit(job, state, place) for place in range(len(self.grid))]

    def finish(self, job: Job, state: Descent) -> Fit:
        """The pair with the least loss on the sample."""
        losses = np.asarray(state.loss, float)
        return self._fit(job, state, int(np.argmin(np.where(np.isfinite(losses), losses, np.inf))))

    def _fit(self, job: Job, state: Descent, place: int) -> Fit:
        assert job.network is not None
        trained = self.trains(job.network)
        params = jax.tree.map(lambda part: np.asarray(part)[place], state.params)
        score = programs(trained, self.compiled()).score
        rate, bias_rate = self.grid[place]
        facts: dict[str, float | int | str | bool] = {
            "rate": rate,
            "bias_rate": bias_rate,
            "steps": self.steps,
            "parameters": job.network.parameter_count(job.shape),
            "train_flops": PASSES * trained.flops(job.shape) * job.m * self.steps,
        }
        if BIAS in params:
            facts["bias"] = float(params[BIAS])
        if np.isfinite(loss := float(state.loss[place])):
            facts["train_loss"] = loss
        return Fit(lambda x: np.asarray(score(params, x)), facts, {}, params)

    def cost(self, network: Network | None, shape: tuple[int, ...], m: int) -> Cost:
        """Three forward passes per example, step and pair; a small sample costs as much as a full piece."""
        assert network is not None
        rows = -(-m // CHUNK) * CHUNK if m > 32 else 32
        work = PASSES * self.trains(network).load(shape, rows).flops * self.steps * len(self.grid)
        numbers = len(self.grid) * network.load(shape, rows).numbers
        held = 4.0 * (3 * max(m, 1024) * float(np.prod(shape)) + 4 * numbers)
        return Cost(work, work, held)


class Descending:
    """The functions to compile for one network and learner: pure functions of arrays."""

    def __init__(self, network: Network, learner: Projected) -> None:
        self.network, self.adam = network, learner.optimiser == "adam"
        self.pointloss = learner.function("loss")
        self.applied = jax.vmap(network.apply, in_axes=(0, None))
        self.projected = jax.vmap(network.constrain)

    def lay(self, x: jax.Array, y: jax.Array, m: jax.Array) -> Laid:
        """Prepared inputs cut into pieces along their examples, pieces first."""
        axis, count = self.network.example_axis, min(CHUNK, len(x))
        x = self.network.prepare(x)
        shape = (*x.shape[:axis], -1, count, *x.shape[axis + 1 :])
        return Laid(jnp.moveaxis(x.reshape(shape), axis, 0), y.reshape(-1, count), m)

    def losses(self, params: Any, x: jax.Array, y: jax.Array, counts: jax.Array) -> Any:
        """The loss of a piece, summed over the grid (for the gradient) and for each member."""
        each = (counts * self.pointloss(self.applied(params, x), y)).sum(axis=1)
        return each.sum(), each

    def gradient(self, params: Any, data: Laid) -> tuple[jax.Array, Any]:
        """Mean loss and its gradient, for every member of the grid."""
        count = data.y.shape[1]
        slope = jax.value_and_grad(self.losses, has_aux=True)

        def add(piece: jax.Array, so_far: Any) -> Any:
            counts = (piece * count + jnp.arange(count) < data.m).astype(data.y.dtype)
            (_, losses), grad = slope(params, data.x[piece], data.y[piece], counts)
            return jax.tree.map(jnp.add, so_far, (losses, grad))

        members = len(jax.tree.leaves(params)[0])
        zero = (jnp.zeros((members,), data.y.dtype), jax.tree.map(jnp.zeros_like, params))
        total = jax.lax.fori_loop(0, (data.m + count - 1) // count, add, zero)
        return jax.tree.map(lambda part: part / data.m, total)

    def step(self, state: Descent, data: Laid, rates: tuple[jax.Array, jax.Array]) -> Descent:
        loss, grad = self.gradient(state.params, data)
        moments = state.moments
        if self.adam:
            grad, moments = optax.scale_by_adam().update(grad, moments)
        rate, bias_rate = rates

        def moved(path: Any, part: jax.Array, slope: jax.Array) -> jax.Array:
            bias = getattr(path[-1], "key", None) == BIAS if path else False
            size = bias_rate if bias else rate
            return part - size.reshape(-1, *[1] * (part.ndim - 1)) * slope

        params = self.projected(jax.tree_util.tree_map_with_path(moved, state.params, grad))
        return Descent(params, moments, state.step + 1, loss)

    def segment(self, state: Descent, data: Laid, rates: Any, until: jax.Array) -> Descent:
        return jax.lax.while_loop(
            lambda state: state.step < until, lambda state: self.step(state, data, rates), state
        )


@once
def programs(network: Network, learner: Projected) -> Programs:
    """The compiled programs of one network and learner; m, rates and steps are arguments."""
    descending = Descending(network, learner)

    def score(params: Any, x: jax.Array) -> jax.Array:
        return network.apply(params, network.prepare(x))

    return Programs(
        quick(network.init, static=1),
        quick(descending.lay),
        brief(descending.segment),
        brief(score),
    )
