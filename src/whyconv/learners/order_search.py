"""Architecture search over the order of the bits; an evaluation trains a network over windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from whyconv.compiling import brief, quick
from whyconv.lazy import jax, jnp, np
from whyconv.learners import Cost, Fit, Job, Learner, at_most
from whyconv.networks import Network, Setting
from whyconv.networks.window import CNN
from whyconv.spec import once


class Searching(NamedTuple):
    """The state: evaluations done, the best order and its loss, the last error and its order."""

    evaluated: jax.Array
    order: jax.Array
    loss: jax.Array
    error: jax.Array
    found: jax.Array


class Programs(NamedTuple):
    """Compiled programs: initial parameters; some evaluations; training and scores with one order."""

    begin: Callable[..., Any]
    segment: Callable[..., Searching]
    train: Callable[..., Any]
    score: Callable[..., jax.Array]


class OrderSearch(Learner, name="order-search"):
    """Looks for an order of the bits in which a network over windows learns; counts its evaluations.

    Section 5 of the paper: if the order is unknown, an architecture search has to find windows that hold the
    pattern. One *evaluation* of an order trains the network on the bits in that order: ``steps`` steps of
    full-batch gradient descent with ``rate`` on the hinge loss, always from the same start. The search ends
    when the error on the last ``held_out`` examples is at most ``target_error``, or after ``evaluations``
    evaluations. ``strategy``:

    - *random*: every order is drawn independently;
    - *climb*: two random positions are swapped, and the swap is kept if the training loss does not rise;
    - *greedy*: bits are sorted by their correlation with the label, |mean of y x_i|, measured on the whole
      sample first and on random halves of it afterwards.
    """

    version: ClassVar[int] = 2
    reference: ClassVar[str] = "Malach & Shalev-Shwartz, section 5"

    strategy: Literal["random", "climb", "greedy"] = "random"
    evaluations: int = Field(1000, ge=1, le=10_000_000)
    steps: int = Field(20, ge=1, le=10_000)
    rate: float = Field(0.1, gt=0, le=1e6)
    target_error: float = Field(0.1, ge=0, lt=1)
    held_out: int = Field(512, ge=1, le=1_000_000)

    def refusal(self, network: Network | None, m: int) -> str:
        """Only networks over windows depend on the order, and some examples must be left to train on."""
        if not isinstance(network, CNN):
            return "the learner order-search trains networks over windows; take cnn, lcn or partly-shared"
        if m <= self.held_out:
            return (
                f"m = {m} examples were given, but held_out = {self.held_out} are not trained on; take more"
            )
        return ""

    def trained(self, m: int) -> int:
        """All but those held out."""
        return m - self.held_out

    def form(self, network: Network, setting: Setting) -> Network:
        """Tables, if inputs are signs."""
        return network.faster(setting._replace(rows=self.trained(setting.rows), elementwise=True))

    def compiled(self) -> OrderSearch:
        """The number of evaluations is an argument."""
        return self.model_copy(update={"evaluations": 1})

    def start(self, job: Job) -> Searching:
        zero, plain = jnp.zeros((), int), jnp.arange(job.shape[0])
        return Searching(zero, plain, jnp.full((), jnp.inf, float), jnp.ones((), float), plain)

    def advance(self, job: Job, state: Searching, steps: int) -> Searching:
        """At most ``steps`` evaluations."""
        assert job.network is not None
        program = programs(job.network, self.compiled())
        until = jnp.minimum(state.evaluated + steps, self.evaluations)
        params = program.begin(job.init, job.shape)
        return program.segment(state, params, *self._data(job), job.batches, until)

    def _data(self, job: Job) -> tuple[jax.Array, jax.Array, jax.Array]:
        return job.sample.x, job.sample.y, jnp.asarray(self.trained(job.m))

    def progress(self, state: Searching) -> float:
        """Evaluations done over evaluations allowed; 1 once the target is met."""
        return 1.0 if at_most(state.error, self.target_error) else int(state.evaluated) / self.evaluations

    def finish(self, job: Job, state: Searching) -> Fit:
        """The network of the last order evaluated, trained once more."""
        assert job.network is not None
        program = programs(job.network, self.compiled())
        trained = program.train(program.begin(job.init, job.shape), *self._data(job), state.found)
        met = at_most(state.error, self.target_error)
        count, rows = int(state.evaluated), self.trained(job.m)
        facts: dict[str, float | int | str | bool] = {
            "evaluations": count,
            "stopped": "error" if met else "cap",
            "held_out_error": float(state.error),
            "parameters": job.network.parameter_count(job.shape),
            "train_flops": 3 * job.network.flops(job.shape) * rows * self.steps * count,
        }
        score = program.score
        return Fit(lambda x: np.asarray(score(trained, x, state.found)), facts, {}, trained)

    def cost(self, network: Network | None, shape: tuple[int, ...], m: int) -> Cost:
        """3 forward passes per step, for an eighth of the evaluations (the cap is generous) and for all."""
        assert network is not None
        forward = network.load(shape, max(m, 1024))
        longest = 3.0 * forward.flops * self.steps * self.evaluations
        return Cost(longest / 8, longest, 4.0 * (4 * max(m, 1024) * shape[0] + 8 * forward.numbers))


class _Search:
    """The functions to compile for one network and learner: pure functions of arrays."""

    def __init__(self, network: Network, learner: OrderSearch) -> None:
        self.network, self.learner = network, learner
        self.fixed = network.fixed

    def loss(self, trained: Any, kept: Any, x: jax.Array, y: jax.Array, counts: jax.Array) -> jax.Array:
        f = self.network.apply(self.network.derive({**trained, **kept}), x)
        return jnp.sum(counts * jnp.where(y * f < 1, 1 - y * f, 0.0)) / jnp.sum(counts)

    def train(self, params: Any, x: jax.Array, y: jax.Array, m: jax.Array, order: jax.Array) -> Any:
        """The parameters after the steps of one evaluation."""
        prepared = self.network.prepare(x[:, order])
        counts = (jnp.arange(len(y)) < m).astype(float)
        kept = {name: part for name, part in params.items() if name in self.fixed}
        trained = {name: part for name, part in params.items() if name not in self.fixed}

        def step(_: Any, trained: Any) -> Any:
            grad = jax.grad(self.loss)(trained, kept, prepared, y, counts)
            return jax.tree.map(lambda part, g: part - self.learner.rate * g, trained, grad)

        return {**jax.lax.fori_loop(0, self.learner.steps, step, trained), **kept}

    def score(self, params: Any, x: jax.Array, order: jax.Array) -> jax.Array:
        return self.network.apply(self.network.derive(params), self.network.prepare(x[:, order]))

    def evaluate(self, params: Any, x: jax.Array, y: jax.Array, m: jax.Array, order: jax.Array) -> Any:
        """The training loss and the held-out error of one order."""
        f = self.score(self.train(params, x, y, m, order), x, order)
        number = jnp.arange(len(y))
        train = (number < m).astype(float)
        held = ((number >= m) & (number < m + self.learner.held_out)).astype(float)
        loss = jnp.sum(train * jnp.where(y * f < 1, 1 - y * f, 0.0)) / m
        return loss, jnp.sum(held * ((f > 0) != (y > 0))) / self.learner.held_out

    def propose(
        self, state: Searching, x: jax.Array, y: jax.Array, m: jax.Array, key: jax.Array
    ) -> jax.Array:
        n = x.shape[1]
        if self.learner.strategy == "greedy":
            half = jax.random.bernoulli(key, 0.5, y.shape) | (state.evaluated == 0)
            counts = half & (jnp.arange(len(y)) < m)
            return jnp.argsort(-jnp.abs((counts * y) @ x))
        fresh = jax.random.permutation(key, n)
        if self.learner.strategy == "random":
            return fresh
        first, second = fresh[0], fresh[1]
        order = state.order
        swapped = order.at[first].set(order[second]).at[second].set(order[first])
        return jnp.where(state.evaluated == 0, fresh, swapped)

    def segment(
        self,
        state: Searching,
        params: Any,
        x: jax.Array,
        y: jax.Array,
        m: jax.Array,
        key: jax.Array,
        until: jax.Array,
    ) -> Searching:
        """Evaluations until ``until``, or until one meets the target."""

        def go_on(state: Searching) -> jax.Array:
            return (state.evaluated < until) & (state.error > self.learner.target_error)

        def once_more(state: Searching) -> Searching:
            order = self.propose(state, x, y, m, jax.random.fold_in(key, state.evaluated))
            loss, error = self.evaluate(params, x, y, m, order)
            better = loss <= state.loss
            kept = jnp.where(better, order, state.order)
            return Searching(state.evaluated + 1, kept, jnp.where(better, loss, state.loss), error, order)

        return jax.lax.while_loop(go_on, once_more, state)


@once
def programs(network: Network, learner: OrderSearch) -> Programs:
    search = _Search(network, learner)
    return Programs(
        quick(network.init, static=1),
        brief(search.segment),
        brief(search.train),
        brief(search.score),
    )
