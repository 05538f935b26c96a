"""Training outside of a run: the job of a trial, its fits, and a plain loop to compare with."""

import jax
import numpy as np
import optax

from whyconv.execution import capacity, draw, train_in_segments
from whyconv.learners import Job
from whyconv.streams import streams


class NoCheckpoint:
    """A trial's checkpoint that keeps nothing."""

    def load(self):
        return None

    def save(self, arrays):
        pass


class Memory(NoCheckpoint):
    """Keeps the last state, and interrupts the trial after a given segment, as a kill would."""

    def __init__(self, die_at=None, state=None):
        self.state, self.die_at, self.count = state, die_at, 0

    def load(self):
        return self.state

    def save(self, arrays):
        self.count += 1
        self.state = [np.array(array) for array in arrays]
        if self.count == self.die_at:
            raise KeyboardInterrupt


def job_of(trial, network=None):
    """What the learner of a trial gets, the sample held in memory; ``network``: in place of the trial's."""
    keys = streams(trial)
    sample = draw(trial.task, keys["world"], keys["train"], capacity(trial.m))
    return Job(network or trial.form, sample, trial.m, keys["init"], keys["batches"])


def fits_of(trial, job=None, checkpoint=None, beat=lambda fraction: None):
    """All fits, as the trial makes them."""
    return train_in_segments(trial, job or job_of(trial), beat, checkpoint or NoCheckpoint())


def fit_of(*arguments, **named):
    """The first fit; most learners make no other."""
    return fits_of(*arguments, **named)[0]


def plain_loop(network, params, optimiser, loss, batches):
    """Training as one writes it in a Python loop: (parameters, mean loss of each batch before its step).

    ``loss``: of scores and labels, example by example; ``batches``: pairs of inputs and labels.
    """
    inner, losses = optimiser.init(params), []
    step = jax.jit(
        jax.value_and_grad(lambda params, x, y: loss(network.apply(params, network.prepare(x)), y).mean())
    )
    for x, y in batches:
        value, grad = step(params, x, y)
        updates, inner = optimiser.update(grad, inner, params)
        params = optax.apply_updates(params, updates)
        losses.append(float(value))
    return params, losses
