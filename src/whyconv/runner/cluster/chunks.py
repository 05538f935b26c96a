"""How many trials travel together: as many of one kind as take about a second."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

from whyconv.runner.backlog import Job

SECONDS = 1.0
"""How long a chunk is to take. A message costs milliseconds, and what a worker's death costs is a chunk."""
MOST = 500
"""The most trials in a chunk, whose rows travel in one message."""
AHEAD_BELOW = 3.0
"""Only chunks shorter than this wait at a worker for the one before; longer ones would wait in vain."""


class Pace:
    """Seconds per trial, by kind."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def learn(self, kind: str, seconds: float) -> None:
        """Believe faster trials at once, slower ones by and by: the first one also waits for compilation."""
        known = self._seconds.get(kind, math.inf)
        self._seconds[kind] = min(max(seconds, 1e-4), 2 * known)

    def size(self, kind: str, waiting: int, slots: int) -> int:
        """How many trials of a kind go into a chunk; the last ones are dealt out evenly."""
        if kind not in self._seconds:
            return 1
        even = math.ceil(waiting / max(1, slots))
        return max(1, min(MOST, even, round(SECONDS / self._seconds[kind])))

    def short(self, kind: str, trials: int) -> bool:
        """Whether a chunk is known to be short."""
        return self._seconds.get(kind, math.inf) * trials < AHEAD_BELOW


@dataclass(eq=False)
class Chunk:
    """Trials of one kind that were handed to a Dask worker."""

    name: str
    jobs: list[Job]
    address: str
    """The worker that runs it."""
    heard: bool = False
    """Whether that worker has told that a trial is running."""
    future: Any = None
    sent: float = field(default_factory=time.monotonic)

    @property
    def kind(self) -> str:
        return self.jobs[0]["kind"]
