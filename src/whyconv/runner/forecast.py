"""Forecasts of time and memory from closed-form costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from whyconv.trial import Trial

RATE = 2e10
"""Floating-point operations per second on one core of a small server; corrected as soon as trials end."""
TRIAL_SECONDS = 0.15
"""What a trial takes besides training: sampling, testing, messages."""
START_SECONDS = 4.0
"""Starting a worker: imports and the first small programs."""
COMPILE_SECONDS = 4.0
"""Compiling the programs of one (task shape, network, learner), once per worker."""
WORKER_BYTES = 4.5e8
"""A worker with its imports and small programs (0.36 GB measured), and some reserve."""
STOCK_BYTES = 2e8
"""Images in memory, as bytes: once as read, once for the compiled programs."""


@dataclass(frozen=True)
class Forecast:
    """Seconds of the typical and of the longest run on ``workers`` cores, and bytes in total."""

    trials: int
    workers: int
    seconds: float
    seconds_limit: float
    memory: float


def seconds(trial: Trial) -> float:
    """The typical time of one trial, without compilation."""
    return TRIAL_SECONDS + trial.learner.cost(trial.form, trial.task.shape, trial.m).flops / RATE


def forecast(trials: Iterable[Trial], workers: int) -> Forecast:
    """Time and memory of trials that have not run yet."""
    todo = list({trial.key: trial for trial in trials}.values())
    workers = max(1, min(workers, len(todo)))
    costs = [trial.learner.cost(trial.form, trial.task.shape, trial.m) for trial in todo]
    programs = {trial.program for trial in todo}
    fixed = (START_SECONDS + COMPILE_SECONDS * len(programs)) if todo else 0.0
    typical = sum(TRIAL_SECONDS + cost.flops / RATE for cost in costs) / workers
    longest = sum(TRIAL_SECONDS + cost.flops_limit / RATE for cost in costs) / workers
    return Forecast(len(todo), workers, fixed + typical, fixed + longest, workers * footprint(todo))


def footprint(trials: Iterable[Trial]) -> float:
    """Bytes of one worker with the largest of these trials."""
    kinds = {(id(t.task), id(t.network), id(t.learner), t.m): t for t in trials}  # whatever the seed
    return WORKER_BYTES + max(map(memory, kinds.values()), default=0.0)


def memory(trial: Trial) -> float:
    """Bytes of a trial beside its worker; of a streamed sample, those of a batch and of the images."""
    rows = 1 if trial.streams else trial.m
    return trial.learner.cost(trial.form, trial.task.shape, rows).memory + STOCK_BYTES * trial.streams
