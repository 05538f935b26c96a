"""What compiling and running cost, program by program: one trial of each kind of a study, measured.

JAX announces the time of tracing, lowering and compiling by the program's name. Reading a program from the
cache on disk counts as compiling it, and is told apart.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from whyconv.runner.worker import surroundings
from whyconv.trial import Trial

_STAGES = ("jaxpr_trace_duration", "jaxpr_to_mlir_module_duration", "backend_compile_duration")
_HIT = "/jax/compilation_cache/cache_hits"


@dataclass
class Program:
    """A compiled program: how often it was made, how often from the cache, and the seconds that took."""

    name: str
    made: int = 0
    cached: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Kind:
    """Trials that share their programs: one of them, its seconds, and the programs it had to make."""

    trial: Trial
    seconds: float
    programs: list[Program]

    @property
    def compiling(self) -> float:
        return sum(program.seconds for program in self.programs)


def kinds(trials: Iterable[Trial]) -> list[Trial]:
    """The first trial of every kind."""
    return list({trial.program: trial for trial in reversed(list(trials))}.values())[::-1]


def profile(trials: Iterable[Trial]) -> Iterator[Kind]:
    """Run one trial of each kind in this process, in the surroundings of a worker; no row is kept."""
    os.environ.update(surroundings(os.environ))
    from whyconv.execution import execute  # JAX reads its surroundings when it is imported

    for trial in kinds(trials):
        with watched() as made:
            began = time.perf_counter()
            execute(trial, lambda progress: None, _Nothing())
            seconds = time.perf_counter() - began
        yield Kind(trial, seconds, sorted(made.values(), key=lambda program: -program.seconds))


@contextmanager
def watched() -> Iterator[dict[str, Program]]:
    """The programs that JAX makes meanwhile, by name."""
    from jax import monitoring

    made: dict[str, Program] = {}
    hits = 0

    def timed(event: str, duration_secs: float, **of: Any) -> None:
        nonlocal hits
        stage = event.rpartition("/")[2]
        if stage not in _STAGES:
            return
        name = str(of.get("fun_name", "")).removeprefix("jit(").removesuffix(")")
        program = made.setdefault(name, Program(name))
        program.seconds += duration_secs
        if stage == _STAGES[-1]:
            program.made += 1
            program.cached += hits
            hits = 0

    def counted(event: str, **_: Any) -> None:
        nonlocal hits
        hits += event == _HIT

    monitoring.register_event_duration_secs_listener(timed)
    monitoring.register_event_listener(counted)
    try:
        yield made
    finally:
        monitoring.unregister_event_duration_listener(timed)
        monitoring.unregister_event_listener(counted)


class _Nothing:
    """A checkpoint that keeps nothing."""

    def load(self) -> None:
        return None

    def save(self, arrays: list[Any]) -> None:
        del arrays
