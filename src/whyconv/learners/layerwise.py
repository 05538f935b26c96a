"""LW_CNN: the layerwise algorithm of Brutzkus & Globerson (Algorithm 1), with its conditions checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from whyconv.compiling import brief
from whyconv.lazy import jax, jnp, np
from whyconv.learners import Cost, Fit, Job, Learner, at_most
from whyconv.networks import Network
from whyconv.networks.pooling import ConvPool
from whyconv.spec import once

TRACE = 24


class Layers(NamedTuple):
    """The state: both layers, steps done on each, last L_2, its trace."""

    w: jax.Array
    a: jax.Array
    first: Any
    second: Any
    loss: Any
    trace: Any


class Programs(NamedTuple):
    """Compiled programs: steps of the first layer; of the second, on features; scores."""

    first: Callable[..., Layers]
    second: Callable[..., Layers]
    score: Callable[[Any, Any], jax.Array]


class Layerwise(Learner, name="layerwise"):
    """LW_CNN: gradient descent on the filters with half the sample, then on the readout with the other half.

    S_1 = the first ceil(m/2) examples, S_2 = the rest.
    W^(t) = W^(t-1) - eta_1 dL_1/dW (W^(t-1), a^(0)),  t = 1..T_1;
    a^(t) = a^(t-1) - eta_2 dL_2/da (W^(T_1), a^(t-1)),  t = 1..T_2, or until L_2 <= ``tolerance``.

    Symbols: ``first_steps`` = T_1, ``second_steps`` = T_2, ``first_rate`` = eta_1 and ``second_rate``
    = eta_2 (None for the theorem's largest: 1/(4k(T_1+1)), and 0.99 * 8k), logistic loss. The network
    must start as in the theorem (``init_law = sphere``).

    Reported, not enforced: the conditions of Theorem 5.1, namely eta_1 <= 1/(4k(T_1+1)),
    eta_2 < 8k, r <= eta_1/200, k > 8d^3, and that each class has at least a third of S_1.
    """

    version: ClassVar[int] = 2
    reference: ClassVar[str] = "Brutzkus & Globerson, Algorithm 1 and Theorem 5.1"

    first_steps: int = Field(20, ge=0, le=1_000_000)
    second_steps: int = Field(20_000, ge=1, le=8_000_000)
    first_rate: float | None = Field(None, gt=0)
    second_rate: float | None = Field(None, gt=0)
    tolerance: float = Field(1e-3, ge=0)

    def refusal(self, network: Network | None, m: int) -> str:
        """Only ConvPool has the two layers of the algorithm."""
        del m
        return (
            "" if isinstance(network, ConvPool) else "the learner layerwise trains the network conv-pool only"
        )

    def rates(self, channels: int) -> tuple[float, float]:
        """(eta_1, eta_2) for k = ``channels``."""
        return (
            self.first_rate or 1 / (4 * channels * (self.first_steps + 1)),
            self.second_rate or 0.99 * 8 * channels,
        )

    def start(self, job: Job) -> Layers:
        network = _conv_pool(job.network)
        params = network.init(job.init, job.shape)
        whole, real = (jax.dtypes.canonicalize_dtype(kind) for kind in (int, float))
        zero, trace = np.zeros((), whole), np.full((TRACE,), -1.0, real)
        return Layers(params["w"], params["a"], zero, zero, np.asarray(np.inf, real), trace)

    def advance(self, job: Job, state: Layers, steps: int) -> Layers:
        """Steps of the first layer, or of the second once the first is done."""
        network = _conv_pool(job.network)
        program, number = programs(network, self), state.first.dtype
        half = -(-job.m // 2)
        if half == job.m:
            raise ValueError("the layerwise learner splits its sample in two, so it needs m >= 2")
        x, y = np.asarray(job.sample.x)[: job.m], np.asarray(job.sample.y)[: job.m]
        if int(state.first) < self.first_steps:
            until = np.asarray(min(int(state.first) + steps, self.first_steps), number)
            return program.first(state, x[:half], y[:half], until)
        until = np.asarray(min(int(state.second) + steps, self.second_steps), number)
        return program.second(state, x[half:], y[half:], until)

    def progress(self, state: Layers) -> float:
        """Steps on the readout over steps allowed; 1 once L_2 is small or not finite."""
        stopped = at_most(state.loss, self.tolerance) or np.isnan(float(state.loss))
        return 1.0 if stopped else int(state.second) / self.second_steps

    def finish(self, job: Job, state: Layers) -> Fit:
        """The network as a predictor, with the theorem's conditions as facts."""
        network = _conv_pool(job.network)
        params = {"w": state.w, "a": state.a}
        trace = np.asarray(state.trace)
        facts = {
            "steps": int(state.first) + int(state.second),
            "stopped": "loss" if at_most(state.loss, self.tolerance) else "cap",
            "train_loss": float(state.loss),
            "parameters": network.parameter_count(job.shape),
            **self.conditions(network, job),
        }
        return Fit(
            scores=lambda x: np.asarray(programs(network, self).score(params, x)),
            facts=facts,
            trace={"loss_at_steps_2^i": [float(v) for v in trace[trace >= 0]]},
            params=params,
        )

    def conditions(self, network: ConvPool, job: Job) -> dict[str, bool]:
        """Which conditions of Theorem 5.1 this run meets."""
        k, d = network.channels, network.windows(job.shape)[1]
        eta_1, eta_2 = self.rates(k)
        labels = np.asarray(job.sample.y)[: -(-job.m // 2)]
        share = float(np.mean(labels > 0))
        sphere = network.init_law == "sphere"
        slack = 1 + 1e-6
        return {
            "first_rate_small": eta_1 <= slack / (4 * k * (self.first_steps + 1)),
            "second_rate_small": eta_2 < 8 * k,
            "radius_small": sphere and network.radius <= slack * eta_1 / 200,
            "wide": k > 8 * d**3,
            "classes_balanced": min(share, 1 - share) >= 1 / 3,
        }

    def cost(self, network: Network | None, shape: tuple[int, ...], m: int) -> Cost:
        """T_1 passes through the network and T_2 through the readout."""
        chosen = _conv_pool(network)
        first = 3.0 * self.first_steps * chosen.flops(shape) * m / 2
        second = 4.0 * self.second_steps * chosen.channels * max(m / 2, 16)
        memory = 4.0 * (3 * m * float(np.prod(shape)) + m * chosen.channels)
        return Cost(first + second, first + second, memory)


def _conv_pool(network: Network | None) -> ConvPool:
    if not isinstance(network, ConvPool):
        raise TypeError("the learner layerwise trains the network conv-pool only")
    return network


@once
def programs(network: ConvPool, learner: Layerwise) -> Programs:
    eta_1, eta_2 = learner.rates(network.channels)

    def mean_loss(w: jax.Array, a: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
        return jax.nn.softplus(-y * network.apply({"w": w, "a": a}, x)).mean()

    def first_layer(state: Layers, x: jax.Array, y: jax.Array, until: jax.Array) -> Layers:
        x = network.prepare(x)

        def step(_: int, w: jax.Array) -> jax.Array:
            return w - eta_1 * jax.grad(mean_loss)(w, state.a, x, y)

        return state._replace(w=jax.lax.fori_loop(state.first, until, step, state.w), first=until)

    def second_layer(state: Layers, x: jax.Array, y: jax.Array, until: jax.Array) -> Layers:
        z = y[:, None] * network.features({"w": state.w}, network.prepare(x))

        def goes_on(carry: Any) -> jax.Array:
            _, t, loss, _ = carry
            return (t < until) & ~(loss <= learner.tolerance) & ~jnp.isnan(loss)

        def step(carry: Any) -> Any:
            a, t, _, trace = carry
            margins = z @ a
            loss = jax.nn.softplus(-margins).mean()
            grad = -(jax.nn.sigmoid(-margins) @ z) / len(y)
            slot = jnp.round(jnp.log2(jnp.maximum(t, 1).astype(jnp.float32))).astype(int)
            marked = (1 << slot) == t
            trace = jnp.where(marked & (jnp.arange(TRACE) == slot), loss, trace)
            return a - eta_2 * grad, t + 1, loss, trace

        carry = (state.a, state.second, state.loss, state.trace)
        a, t, loss, trace = jax.lax.while_loop(goes_on, step, carry)
        return state._replace(a=a, second=t, loss=loss, trace=trace)

    return Programs(
        brief(first_layer),
        brief(second_layer),
        brief(lambda params, x: network.apply(params, network.prepare(x))),
    )
