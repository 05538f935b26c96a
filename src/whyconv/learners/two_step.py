"""The two-step projected gradient descent of Lahoti et al., with its constants as knobs."""

from __future__ import annotations

from math import log, prod, sqrt
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from whyconv.compiling import brief
from whyconv.lazy import jax, jnp, np
from whyconv.learners import Cost, Fit, Job, Learner
from whyconv.learners.gradient import PASSES
from whyconv.learners.losses import Loss, mismatch
from whyconv.learners.projected import Descending, Projected
from whyconv.networks import Network
from whyconv.networks.threshold import Threshold, plain
from whyconv.spec import once


class Steps(NamedTuple):
    """Parameters after the last step, after the first, and how many were taken."""

    params: Any
    first: Any
    step: jax.Array


class TwoStep(Learner, name="two-step"):
    """Two steps of projected gradient descent: find the signal roughly, then denoise it.

    1. w ~ N(0, 1/(10 k d)^2), b = 0; one step of size ``rate_1`` on the first half of the examples; filters
       longer than 1 are scaled to 1. With b = 0 and tiny w the gradient is -(1/m) sum y x_i: a signal of
       length 1/k for the LCN and 1 for the CNN, in noise of length sigma sqrt(d/m), or sigma sqrt(k d/m).
    2. b = ``bias_1``, (1/32) sqrt((k + d) ln(kd) / (kd)) if not given: patches without signal fall below
       the threshold and leave the gradient; one step of size ``rate_2``, 10^3 k if not given, on the second
       half; projected likewise. ``steps`` > 2 repeats this one; ``steps`` = 1 omits it.
    Last, b = ``bias_2``.

    k = patches, d = patch_dim. The algorithm is reconstructed from secondary sources, by which data are
    split in two and filters projected onto unit balls; other readings are settings. ``fresh`` =
    False takes all examples for every step; ``normalise`` = *sphere* scales shorter filters up as well.
    That matters for the LCN, whose filters have length 1/k or so after step one: b_1 is of that size, and
    with unit filters it lies below the noise unless sigma <= b_1 / 3. ``loss``: the squared loss
    turns filters round where much noise passes the threshold, since f is then too large; the default is the
    correlation -y f. The row reports ``alignment_step_one``, and whether noise stays below the threshold
    and the signal above it (``denoises_step_one``).

    Version 2: two halves and the ball by default, as in the source; before, one sample and the sphere.
    """

    version: ClassVar[int] = 3
    reference: ClassVar[str] = "Lahoti et al., upper bounds for LCN and CNN"

    rate_1: float = Field(1.0, gt=0, le=1e9)
    bias_1: float | None = Field(None, ge=0, le=1e3)
    rate_2: float | None = Field(None, gt=0, le=1e12)
    bias_2: float = Field(1e-4, ge=0, le=1e3)
    loss: Loss = "correlation"
    fresh: bool = True
    normalise: Literal["sphere", "ball"] = "ball"
    steps: int = Field(2, ge=1, le=10_000)

    def refusal(self, network: Network | None, m: int) -> str:
        """The network must be a sum of soft thresholds; ``fresh`` needs two examples."""
        if network is not None and not (isinstance(network, Threshold) and plain(network)):
            return "two-step trains the lsa networks without second layer and with activation lsa; take one"
        if self.fresh and m < 2:
            return f"m = {m} was given, but fresh = true needs an example for each half; take 2 or more"
        return mismatch(self.loss, network) or super().refusal(network, m)

    def first_bias(self, shape: tuple[int, ...]) -> float:
        """b_1 as given, or the paper's (1/32) sqrt((k + d) ln(kd) / (kd))."""
        if self.bias_1 is not None:
            return self.bias_1
        k, d = shape
        return sqrt((k + d) * log(k * d) / (k * d)) / 32

    def start(self, job: Job) -> Steps:
        """Tiny filters, no threshold."""
        network = job.network
        assert isinstance(network, Threshold)
        _, nodes, entries = network.blocks(job.shape)
        w = jax.random.normal(job.init, (network.groups(job.shape), nodes, entries), dtype=float)
        params = {"w": w / (10 * prod(job.shape)), "b": jnp.zeros((), float)}
        return Steps(params, params, jnp.zeros((), int))

    def advance(self, job: Job, state: Steps, steps: int) -> Steps:
        del steps
        assert isinstance(job.network, Threshold)
        first, number = int(state.step) == 0, state.step.dtype
        half = job.m // 2 if self.fresh else job.m
        begin, end = (0, half) if first else (job.m - half, job.m)
        k = job.shape[0]
        rate = self.rate_1 if first else (self.rate_2 or 1e3 * k)
        data = (job.sample.x, job.sample.y, np.asarray(begin, number), np.asarray(end, number))
        params = taken(job.network, self.loss, self.normalise)(state.params, *data, rate)
        last = int(state.step) + 1 == self.steps
        after = self.bias_2 if last else self.first_bias(job.shape)
        params = {**params, "b": jnp.full_like(params["b"], after)}
        return Steps(params, params if first else state.first, state.step + 1)

    def progress(self, state: Steps) -> float:
        return int(state.step) / self.steps

    def finish(self, job: Job, state: Steps) -> Fit:
        """The network after the last step, and its parameters after the first."""
        network = job.network
        assert isinstance(network, Threshold)
        half = job.m // 2 if self.fresh else job.m
        facts: dict[str, float | int | str | bool] = {
            "steps": self.steps,
            "bias_1": self.first_bias(job.shape),
            "bias": self.bias_2,
            "parameters": network.parameter_count(job.shape),
            "train_flops": PASSES * network.flops(job.shape) * half * self.steps,
        }
        params = state.params
        return Fit(
            lambda x: np.asarray(scored(network)(params, x)), facts, {}, params, {"step_one": state.first}
        )

    def cost(self, network: Network | None, shape: tuple[int, ...], m: int) -> Cost:
        """Three forward passes a step."""
        assert network is not None
        forward = network.load(shape, m)
        work = self.steps * PASSES * forward.flops
        return Cost(work, work, 12.0 * m * prod(shape) + 32.0 * forward.numbers)


@once
def scored(network: Threshold) -> Any:
    return brief(lambda params, x: network.apply(params, network.prepare(x)))


@once
def taken(network: Threshold, loss: str, normalise: str) -> Any:
    """The compiled step on examples ``begin`` to ``end``, with normalisation."""
    descending = Descending(network, Projected.model_validate({"rates": (1.0,), "loss": loss}))

    @brief
    def step(params: Any, x: jax.Array, y: jax.Array, begin: Any, end: Any, rate: Any) -> Any:
        data = descending.lay(jnp.roll(x, -begin, axis=0), jnp.roll(y, -begin), end - begin)
        grid = jax.tree.map(lambda part: part[None], params)
        _, grad = descending.gradient(grid, data)
        w = params["w"] - rate * grad["w"][0]
        length = jnp.linalg.norm(w, axis=-1, keepdims=True)
        length = jnp.maximum(length, jnp.finfo(w.dtype).tiny)
        return {**params, "w": w / (length if normalise == "sphere" else jnp.maximum(length, 1.0))}

    return step
