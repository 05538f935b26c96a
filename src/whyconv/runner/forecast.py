"""How long trials are going to take: a forecast from closed-form costs, corrected by what has run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from whyconv.trial import Trial

RATE = 2e10
"""Floating-point operations a second on one core of a small server; corrected as soon as trials end."""
TRIAL_SECONDS = 0.15
START_SECONDS = 4.0
"""Start of a worker: imports and the first, small programs."""
COMPILE_SECONDS = 4.0
"""Compilation of the programs of one (task shape, network, learner), once in every worker."""
WORKER_BYTES = 4.5e8
STOCK_BYTES = 2e8
"""Images in memory, as bytes, once as they were read and once for the compiled programs."""


@dataclass(frozen=True)
class Forecast:
    """Seconds of the typical run and of the longest, on ``workers`` cores, and bytes in all."""

    trials: int
    workers: int
    seconds: float
    seconds_limit: float
    memory: float


def seconds(trial: Trial) -> float:
    """The typical time of one trial, compilation aside."""
    return TRIAL_SECONDS + trial.learner.cost(trial.form, trial.task.shape, trial.m).flops / rate(trial)


def rate(trial: Trial) -> float:
    """Operations a second that the trial's network is usually trained at."""
    return RATE * (trial.network.speed() if trial.network is not None else 1.0)


def forecast(trials: Iterable[Trial], workers: int) -> Forecast:
    """Time and memory of trials that have not run yet."""
    todo = list({trial.key: trial for trial in trials}.values())
    workers = max(1, min(workers, len(todo)))
    costs = [trial.learner.cost(trial.form, trial.task.shape, trial.m) for trial in todo]
    programs = {trial.program for trial in todo}
    fixed = (START_SECONDS + COMPILE_SECONDS * len(programs)) if todo else 0.0
    rates = [rate(trial) for trial in todo]
    typical = sum(TRIAL_SECONDS + c.flops / r for c, r in zip(costs, rates, strict=True)) / workers
    longest = sum(TRIAL_SECONDS + c.flops_limit / r for c, r in zip(costs, rates, strict=True)) / workers
    return Forecast(
        len(todo),
        workers,
        fixed + typical,
        fixed + longest,
        workers * footprint(todo),
    )


def footprint(trials: Iterable[Trial]) -> float:
    """Bytes of one worker with the trial among these that holds most."""
    kinds = {(id(t.task), id(t.network), id(t.learner), t.m): t for t in trials}  # seeds take alike
    return WORKER_BYTES + max(map(memory, kinds.values()), default=0.0)


def memory(trial: Trial) -> float:
    """Bytes that a trial holds beside its worker: of a streamed sample a batch and what it is made of."""
    rows = 1 if trial.streams else trial.m
    return trial.learner.cost(trial.form, trial.task.shape, rows).memory + STOCK_BYTES * trial.streams
