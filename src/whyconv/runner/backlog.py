"""The trials that wait for a worker, by kind: the next one is found without a scan of the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from typing import Any

Job = Mapping[str, Any]


class Backlog:
    """Waiting jobs; those of one ``kind`` share compiled programs.

    Compiling takes longer than most trials, so each worker keeps to its own programs if possible. ``add`` and
    ``take`` cost the same however many jobs wait, up to the number of workers.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Job]] = {}
        self._fresh: dict[str, None] = {}
        """The waiting kinds that no worker has compiled, the first to come first."""
        self._compiled: dict[Hashable, set[str]] = {}
        self._own: dict[Hashable, dict[str, None]] = {}
        """The waiting kinds that a worker has compiled."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, job: Job, *, first: bool = False) -> None:
        """Let a job wait; ``first``: before the others of its kind."""
        kind = job["kind"]
        if kind not in self._waiting:
            self._waiting[kind] = deque()
            owners = [worker for worker, kinds in self._compiled.items() if kind in kinds]
            for worker in owners:
                self._own[worker][kind] = None
            if not owners:
                self._fresh[kind] = None
        queue = self._waiting[kind]
        (queue.appendleft if first else queue.append)(job)
        self._count += 1

    def take(self, worker: Hashable) -> Job:
        """The next job for a worker: of a kind that it has compiled, else that no other has, else any."""
        compiled, own = self._compiled.setdefault(worker, set()), self._own.setdefault(worker, {})
        kind = next(iter(own or self._fresh or self._waiting))
        job = self._waiting[kind].popleft()
        self._count -= 1
        compiled.add(kind)
        self._fresh.pop(kind, None)
        if self._waiting[kind]:
            own[kind] = None
        else:
            del self._waiting[kind]
            for kinds in self._own.values():
                kinds.pop(kind, None)
        return job

    def further(
        self, worker: Hashable, kind: str, most: int, alone: Callable[[str], bool] = lambda key: False
    ) -> list[Job]:
        """Up to so many more jobs of the kind that this worker has just taken, up to one to go alone."""
        jobs: list[Job] = []
        while len(jobs) < most and kind in self._waiting and next(iter(self._own[worker])) == kind:
            if alone(self._waiting[kind][0]["key"]):
                break
            jobs.append(self.take(worker))
        return jobs

    def forget(self, worker: Hashable) -> None:
        """A worker has ended, and its compiled programs with it."""
        compiled = self._compiled.pop(worker, set())
        self._own.pop(worker, None)
        others = set[str]().union(*self._compiled.values())
        self._fresh |= dict.fromkeys(kind for kind in self._waiting if kind in compiled - others)

    def clear(self) -> None:
        """Forget the jobs, not what was compiled."""
        self._waiting, self._fresh, self._count = {}, {}, 0
        self._own = {worker: {} for worker in self._own}
