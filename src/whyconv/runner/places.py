"""Where trials run: the contract, and the pool of this process, which stays warm between runs.

Starting a worker takes longer than most trials, and so does compiling what it has compiled before. So the
studies of one command and the calls of a notebook use the same workers. They end when nobody has used them
for a minute, or with the process.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from whyconv import system
from whyconv.runner.pool import Errand, Outcome, Pool
from whyconv.runner.standing import Standing

if TYPE_CHECKING:
    from pathlib import Path

    from whyconv.runner.events import Options
    from whyconv.trial import Trial

IDLE_SECONDS = 60.0
"""Workers that nobody uses end after this time."""


class Place(Protocol):
    """Runs trials: :class:`whyconv.runner.pool.Pool` here, :class:`whyconv.runner.cluster.place.DaskPlace`
    on a cluster.
    """

    def fitting(self, todo: Sequence[Trial], folder: Path, options: Options) -> int:
        """How many of these trials run at a time; refuses what does not fit."""
        ...

    def standing(self) -> Standing:
        """How large the place is now, and what there is to say about it."""
        ...

    def begin(self, errand: Errand, workers: int) -> None:
        """Take up an errand with up to ``workers`` trials at a time; what is left of another is dropped."""
        ...

    def start(self, errand: Errand, workers: int) -> None:
        """Prepare for an errand that is about to begin, as far as that takes time."""
        ...

    def submit(self, key: str, spec: Mapping[str, Any], kind: str) -> None:
        """Queue a trial; trials of one kind share compiled programs."""
        ...

    def wait(self, seconds: float) -> list[Outcome]:
        """The trials that have ended; waits up to ``seconds`` if there are none."""
        ...

    def running(self) -> dict[str, float]:
        """The keys of the running trials, and how far each of them is (0 to 1)."""
        ...

    @property
    def unfinished(self) -> int:
        """How many submitted trials have no outcome yet."""
        ...

    def clear(self) -> None:
        """Drop all unfinished trials, running ones too, and be ready for another errand."""
        ...

    def close(self) -> None:
        """Drop all unfinished trials and end."""
        ...


class _Keeper:
    """The warm pool of this process while nobody uses it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: Pool | None = None
        self._timer: threading.Timer | None = None
        self._not_ours: list[Pool] = []

    def lend(self) -> Pool:
        """The warm pool; a new one if there is none or somebody has it."""
        with self._lock:
            pool, self._pool = self._pool, None
            if self._timer is not None:
                self._timer.cancel()
        return pool or Pool()

    def take_back(self, pool: Pool) -> None:
        """Keep a pool without work for a while; one is enough."""
        pool.clear()
        with self._lock:
            if first := self._pool is None:
                self._pool = pool
                self._timer = threading.Timer(IDLE_SECONDS, self.close)
                self._timer.daemon = True
                self._timer.start()
        if not first:
            pool.close()

    def close(self) -> None:
        """End the workers that nobody uses."""
        with self._lock:
            pool, self._pool = self._pool, None
            if self._timer is not None:
                self._timer.cancel()
        if pool is not None:
            pool.close()

    def disown(self) -> None:
        """In a forked child: the workers are the parent's."""
        self._lock = threading.Lock()
        if self._pool is not None:
            self._not_ours.append(self._pool)
        self._pool = self._timer = None


_keeper = _Keeper()
atexit.register(_keeper.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keeper.disown)


@contextmanager
def local() -> Iterator[Pool]:
    """The warm pool of this process, for one run; idle workers outlive the run, busy ones do not."""
    pool = _keeper.lend()
    try:
        yield pool
    finally:
        with system.deferred_interrupt():
            _keeper.take_back(pool)


def close() -> None:
    """End the idle workers of this process now."""
    _keeper.close()
