"""Forecasts of time and memory from closed-form costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from whyconv.studies.lazily import Trials
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
COORDINATED = 400.0
"""Trials per second that one coordinator is to hand out and write, whatever the number of slots: a goal."""
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
    todo = counted(trials)
    total = sum(number for _, number in todo)
    workers = max(1, min(workers, total))
    costs = [(trial.learner.cost(trial.form, trial.task.shape, trial.m), number) for trial, number in todo]
    programs = {trial.program for trial, _ in todo}
    fixed = (START_SECONDS + COMPILE_SECONDS * len(programs)) if todo else 0.0
    typical = sum(number * (TRIAL_SECONDS + cost.flops / RATE) for cost, number in costs) / workers
    longest = sum(number * (TRIAL_SECONDS + cost.flops_limit / RATE) for cost, number in costs) / workers
    memory = workers * footprint(trial for trial, _ in todo)
    return Forecast(total, workers, fixed + typical, fixed + longest, memory)


class Costs:
    """The typical seconds of trials by key, and in ``total``."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        self._group = trials.group if isinstance(trials, Trials) else str
        todo = counted(trials)
        self._seconds = {self._group(trial.key): seconds(trial) for trial, _ in todo}
        self.total = sum(number * self._seconds[self._group(trial.key)] for trial, number in todo)

    def __getitem__(self, key: str) -> float:
        return self._seconds[self._group(key)]


def counted(trials: Iterable[Trial]) -> list[tuple[Trial, int]]:
    """Trials with the number of those that cost the same; a long plan has one for each of its cells."""
    if isinstance(trials, Trials):
        return trials.counted()
    return [(trial, 1) for trial in {trial.key: trial for trial in trials}.values()]


def on_cluster(trials: Iterable[Trial], slots: int) -> Forecast:
    """The same on the slots of a cluster, whose one coordinator writes so many rows per second at most."""
    guess = forecast(trials, slots)
    least = guess.trials / COORDINATED
    return replace(guess, seconds=max(guess.seconds, least), seconds_limit=max(guess.seconds_limit, least))


def footprint(trials: Iterable[Trial]) -> float:
    """Bytes of one worker with the largest of these trials."""
    trials = [trial for trial, _ in trials.counted()] if isinstance(trials, Trials) else trials
    kinds = {(id(t.task), id(t.network), id(t.learner), t.m): t for t in trials}  # whatever the seed
    return WORKER_BYTES + max(map(memory, kinds.values()), default=0.0)


def memory(trial: Trial) -> float:
    """Bytes of a trial beside its worker; of a streamed sample, those of a batch and of the images."""
    rows = 1 if trial.streams else trial.m
    return trial.learner.cost(trial.form, trial.task.shape, rows).memory + STOCK_BYTES * trial.streams
