"""The local pool: worker processes with one pipe pair each, killable one by one.

Workers share neither a queue nor a lock, so one can die at any instant, by any signal or exit code, and only
its current trial is affected. If it was killed from outside, that trial is put back and tried again. The
coordinator's side is one loop without threads. To run trials elsewhere, implement ``submit``, ``wait``,
``running``, ``unfinished`` and ``close``.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from whyconv import system
from whyconv.errors import UserError
from whyconv.runner import checkpoint
from whyconv.runner.folder import as_user_error, refuse_odd
from whyconv.runner.worker import surroundings

START_SECONDS = 300.0
"""Kill a worker that is not ready after this many seconds."""
STARTS = 3
"""End the run after this many workers in a row that ended before they began a trial."""
PUT_BACK = 2
"""How often a trial whose worker was killed from outside is put back before it counts as failed."""

_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.readline() or sys.exit()); "
    "from whyconv.runner.worker import serve; serve()"
)


@dataclass(frozen=True)
class Outcome:
    """How a trial ended; one that is *put back* will have another outcome."""

    key: str
    status: Literal["ok", "failed", "put back"]
    seconds: float
    result: Mapping[str, Any] = field(default_factory=dict)
    trace: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    traceback: str = ""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """The worker's; see :mod:`whyconv.runner.environment`."""


class Pool:
    """Runs trials in up to ``workers`` processes, which start when there is work for them."""

    def __init__(self, folder: Path, workers: int, limit: float, loads: Iterable[str], execute: str) -> None:
        self._size = workers
        self._limit = limit
        hello = {
            "loads": list(loads),
            "execute": execute,
            "checkpoints": str(folder.resolve() / checkpoint.FOLDER),
            "parent": os.getpid(),
        }
        self._hello = f"{json.dumps(sys.path)}\n{json.dumps(hello)}\n".encode()
        self._queue: deque[Mapping[str, Any]] = deque()
        self._workers: list[_Worker] = []
        self._selector = selectors.DefaultSelector()
        self._bad_starts = 0
        self._killed: Counter[str] = Counter()
        self._clock = _Clock()
        self._log_path = folder / "workers.log"
        with as_user_error(folder):
            refuse_odd(folder / checkpoint.FOLDER, folder=True)
            self._log_path.unlink(missing_ok=True)  # what is there may be a link or a pipe
            self._log = os.open(self._log_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.SAFE, 0o644)

    def submit(self, key: str, spec: Mapping[str, Any], kind: str) -> None:
        """Queue a trial; trials of one kind share compiled programs."""
        self._queue.append({"key": key, "spec": spec, "kind": kind})

    @property
    def unfinished(self) -> int:
        """How many submitted trials have no outcome yet."""
        return len(self._queue) + sum(worker.key is not None for worker in self._workers)

    def running(self) -> dict[str, float]:
        """The keys of the running trials, and how far each of them is (0 to 1)."""
        return {worker.key: worker.fraction for worker in self._workers if worker.key is not None}

    def wait(self, seconds: float) -> list[Outcome]:
        """The trials that have ended; waits up to ``seconds`` if there are none."""
        self._hand_out()
        outcomes: list[Outcome] = []
        selected = self._selector.select(seconds)
        self._clock.advance()  # before listening: a worker heard now was not silent until now
        for each, _ in selected:
            outcomes += self._listen(each.data)
        for worker in list(self._workers):
            outcomes += self._look_after(worker)
        self._hand_out()
        return outcomes

    def close(self) -> None:
        """Kill all workers; their current trials are lost."""
        try:
            while self._workers:
                self._end(self._workers[0])
        finally:
            self._queue.clear()
            self._selector.close()
            os.close(self._log)

    def _hand_out(self) -> None:
        """Give waiting trials to idle workers, and start missing workers."""
        idle = (worker for worker in self._workers if worker.ready and worker.key is None)
        for worker in idle:
            if not self._queue:
                return
            chosen = self._choose(worker)
            if worker.take(self._queue[chosen], self._clock.seconds):
                del self._queue[chosen]
        starting = sum(not worker.ready for worker in self._workers)
        while len(self._workers) < self._size and starting < len(self._queue):
            try:
                worker = _Worker(self._hello, self._log, self._clock.seconds)
            except OSError as error:
                raise UserError(f"no worker could be started: {error}.") from error
            self._selector.register(worker.output, selectors.EVENT_READ, worker)
            self._workers.append(worker)
            starting += 1

    def _choose(self, worker: _Worker) -> int:
        """Index of the first waiting trial of a kind that this worker has compiled, else that no other has.

        Compiling takes longer than most trials, so each worker keeps to its own programs if possible.
        """
        others = {kind for other in self._workers if other is not worker for kind in other.kinds}
        kinds = [job["kind"] for job in self._queue]
        own = (i for i, kind in enumerate(kinds) if kind in worker.kinds)
        fresh = (i for i, kind in enumerate(kinds) if kind not in others)
        return next(own, next(fresh, 0))

    def _listen(self, worker: _Worker) -> list[Outcome]:
        outcomes = []
        for message in worker.messages():
            worker.heard = self._clock.seconds
            if message["type"] == "ready":
                worker.ready, worker.environment = True, message["environment"]
            elif message["type"] == "refused":
                raise UserError(message["error"])
            elif message["type"] == "beat":
                worker.fraction, worker.begun = message["fraction"], True
                self._bad_starts = 0
            elif message["type"] == "done":
                outcomes.append(self._outcome({**message, "environment": worker.environment}))
                worker.job = None
        return outcomes

    def _outcome(self, message: dict[str, Any]) -> Outcome:
        del message["type"]
        if message["status"] == "lost":
            raise UserError(
                f"a worker could not rebuild a trial: {message['error']} Put pieces of your own into a file, "
                "give it with --load, leave it as it is during the run, and run the same command again."
            )
        return Outcome(**message)

    def _look_after(self, worker: _Worker) -> list[Outcome]:
        """End the trial of a worker that died or hangs."""
        silent = self._clock.seconds - worker.heard
        if death := worker.death():
            outcomes = self._listen(worker)  # what it said before it died counts
            how = f"worker died: {death}"
        elif worker.key is not None and silent > self._limit:
            outcomes = []
            how = f"hung: no progress for {self._limit:g} s"
        elif not worker.ready and silent > START_SECONDS:
            outcomes = []
            how = f"not ready after {START_SECONDS:g} s"
        else:
            return []
        self._end(worker)
        if worker.key is not None and (worker.begun or not death):
            outcomes.append(self._ended(worker, how))
        elif not worker.begun:
            self._replace(worker, how)
        return outcomes

    def _ended(self, worker: _Worker, how: str) -> Outcome:
        """The outcome if a worker died or hung: put back if it was killed from outside, else failed."""
        assert worker.job is not None
        key, seconds = worker.job["key"], self._clock.seconds - worker.since
        if worker.killed_from_outside and self._killed[key] < PUT_BACK:
            self._killed[key] += 1
            self._queue.appendleft(worker.job)
            return Outcome(key, "put back", seconds, error=how)
        return Outcome(key, "failed", seconds, error=how, environment=worker.environment)

    def _replace(self, worker: _Worker, how: str) -> None:
        """Put back the trial of a worker that never began it; several such workers in a row end the run."""
        if worker.job is not None:
            self._queue.appendleft(worker.job)
        self._bad_starts += 1
        if self._bad_starts >= STARTS:
            raise UserError(f"{STARTS} workers in a row ended while starting ({how}); see {self._log_path}.")

    def _end(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        self._selector.unregister(worker.output)
        worker.end()


class _Clock:
    """Seconds during which the coordinator was running.

    If it was stopped (Ctrl-Z, a sleeping laptop), its workers were stopped too and do not hang; so a pause
    counts as a second at most.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._last = time.monotonic()

    def advance(self) -> None:
        now = time.monotonic()
        self.seconds += min(now - self._last, 1.0)
        self._last = now


class _Worker:
    """One process, the two pipes to it, and its current trial."""

    def __init__(self, hello: bytes, log: int, now: float) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=surroundings(os.environ),
            bufsize=0,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._input, self.output = self.process.stdin, self.process.stdout
        os.set_blocking(self.output.fileno(), False)
        self._rest = b""
        self.silenced = False
        self.killed_from_outside = False
        self.ready = False
        self.environment: Mapping[str, Any] = {}
        self.job: Mapping[str, Any] | None = None
        self.kinds: set[str] = set()
        self.begun = False
        """Whether it has reported progress on its current or last trial."""
        self.fraction = 0.0
        self.since = self.heard = now
        self._write(hello)

    def take(self, job: Mapping[str, Any], now: float) -> bool:
        """Hand over a trial; False if the worker has died."""
        if not self._write((json.dumps(job) + "\n").encode()):
            return False
        self.job, self.fraction, self.begun = job, 0.0, False
        self.kinds.add(job["kind"])
        self.since = self.heard = now
        return True

    @property
    def key(self) -> str | None:
        """The key of its current trial."""
        return None if self.job is None else self.job["key"]

    def messages(self) -> list[dict[str, Any]]:
        while chunk := self.output.read(1 << 16):
            self._rest += chunk
        self.silenced = chunk == b""  # the end of the pipe; None means nothing more for now
        *lines, self._rest = self._rest.split(b"\n")
        return [json.loads(line) for line in lines]

    def death(self) -> str:
        """How the process ended; empty while it lives. One that closed its pipe counts as dead."""
        if self.silenced:
            try:
                self.process.wait(1.0)
            except subprocess.TimeoutExpired:
                return "it closed its pipe"
        code = self.process.poll()
        if code is None:
            return ""
        name = system.signal_name(code)
        self.killed_from_outside = name in system.OUTSIDE
        return f"killed by {name}" if name else f"exit code {code}"

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._input.close()
        self.output.close()

    def _write(self, data: bytes) -> bool:
        try:
            while data:
                data = data[self._input.write(data) or 0 :]
        except BrokenPipeError:
            return False
        return True
