"""Training an estimator's network on arrays, by the gradient learner and its compiled programs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from whyconv.auditing.architecture import WHOLE, passes
from whyconv.auditing.scaling import ROWS, Scaling
from whyconv.compiling import brief
from whyconv.execution import FIRST_STEPS, paced
from whyconv.lazy import Floats, NDArray, jax, jnp, np
from whyconv.learners import Feed, Fit, Job, Maker
from whyconv.learners.gradient import Gradient
from whyconv.networks import Network
from whyconv.spec import once
from whyconv.streams import stream
from whyconv.tasks import Sample

BLOCK = 256
"""Examples per call of the program that scores."""
SMALLEST_ROOM = 1024


class Progress(NamedTuple):
    """How far training is: ``loss`` is the mean of the latest pass, ``left`` are seconds at the most."""

    step: int
    steps: int
    loss: float
    seconds: float
    left: float

    def __str__(self) -> str:
        return f"step {self.step:,} of {self.steps:,}, loss {self.loss:.4g}, {self.left:.0f} s left at most"


class Examples(NamedTuple):
    """What is trained on: inputs (example, row, column, channel), scaling, targets, weights of mean 1."""

    x: NDArray
    scaled: Scaling
    y: NDArray
    weights: Floats


def train(
    network: Network,
    learner: Gradient,
    examples: Examples,
    seed: int,
    precision: str,
    watch: Callable[[Progress], None],
) -> Fit:
    """Train in segments of about a second; ``watch`` is called after each.

    The random streams are those of a trial with this seed, so a trial on the same sample gives the same
    numbers up to rounding.
    """
    with jax.enable_x64(precision == "float64"):
        job = _job(network, examples, seed, np.dtype(precision))
        state, steps, began = learner.start(job), FIRST_STEPS, time.monotonic()
        per_pass = passes(learner.batch, job.m)
        while learner.progress(state) < 1:
            since = time.monotonic()
            state = jax.block_until_ready(learner.advance(job, state, steps))
            steps = paced(steps, time.monotonic() - since)
            done = int(state.epoch) * per_pass + int(state.step)
            seconds, whole = time.monotonic() - began, learner.epochs * per_pass
            left = 0.0 if bool(state.stopped) else seconds * (whole - done) / done
            watch(Progress(done, whole, _loss(state, job.m), seconds, left))
        fit = learner.finish(job, state)
        return Fit(fit.scores, fit.facts, fit.trace, jax.tree.map(np.asarray, fit.params))


def _job(network: Network, examples: Examples, seed: int, dtype: Any) -> Job:
    """The learner's job: examples by number, in a room whose size depends little on how many there are.

    Batches are those of a trial, though that pads to more rows: the n-th random number of an epoch does not
    depend on how many are drawn.
    """
    m = len(examples.x)
    room = roomy(m)

    def padded(array: NDArray, change: Callable[[NDArray], NDArray] = lambda part: part) -> jax.Array:
        whole = np.zeros((room, *array.shape[1:]), dtype)
        for first in range(0, m, ROWS):
            whole[first : min(m, first + ROWS)] = change(array[first : first + ROWS])
        return jnp.asarray(whole)

    arrays = (padded(examples.x, examples.scaled.apply), padded(examples.y))
    init, batches = stream("init", network.lineage(), seed), stream("batches", seed)
    empty = Sample(jnp.zeros((0, *examples.x.shape[1:])), jnp.zeros(0))
    weights = padded(examples.weights)
    return Job(network, empty, m, init, batches, Feed(_maker(), arrays, room), weights)


def roomy(m: int) -> int:
    """The rows of padded arrays, at most an eighth more than m if m is large.

    Programs are compiled for them, so folds that differ by a few examples share theirs.
    """
    if m <= WHOLE:
        return WHOLE
    if m <= SMALLEST_ROOM:
        return SMALLEST_ROOM
    unit = 2 ** (math.ceil(math.log2(m)) - 4)
    return -(-m // unit) * unit


@cache
def _maker() -> Maker:
    """Looks rows up; one object, so that all estimators share compiled programs."""

    def batch(arrays: tuple[jax.Array, jax.Array], order: Any, index: jax.Array) -> Sample:
        del order
        return Sample(*(array[index] for array in arrays))

    return Maker(lambda arrays, epoch: (), batch, fresh=False)


def _loss(state: Any, m: int) -> float:
    """The mean loss of the last whole pass; of the current one during the first."""
    if int(state.epoch):
        return float(state.loss)
    return float(state.total) / max(float(state.share) * m, 1.0)


def scores(network: Network, params: Any, x: NDArray, scaled: Scaling) -> Floats:
    """The scores of inputs, in the precision of the parameters, in blocks of one shape."""
    dtype = params["u"].dtype
    with jax.enable_x64(dtype == np.float64):
        parts = []
        for first in range(0, len(x), BLOCK):
            part = scaled.apply(x[first : first + BLOCK])
            block = np.zeros((BLOCK, *x.shape[1:]), dtype)
            block[: len(part)] = part
            parts.append(np.asarray(_scorer(network)(params, block), np.float64)[: len(part)])
    return np.concatenate(parts)


@once
def _scorer(network: Network) -> Callable[..., jax.Array]:
    return brief(lambda params, x: network.apply(network.derive(params), network.prepare(x)))
