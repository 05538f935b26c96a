"""The local pool: worker processes with one pipe pair each, killable one by one, kept between runs.

Workers share neither a queue nor a lock, so one can die at any instant, by any signal or exit code, and only
its current trial is affected. If it was killed from outside, that trial is put back and tried again. The
coordinator's side is one loop without threads. What a run brings (folder, limit, files of pieces) is its
:class:`Errand`; workers that were started for another one are used again if that makes no difference to them.
"""

from __future__ import annotations

import copy
import json
import os
import selectors
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from whyconv import registry, system
from whyconv.errors import UserError
from whyconv.runner import checkpoint, fit
from whyconv.runner.backlog import Backlog
from whyconv.runner.child import Child
from whyconv.runner.folder import as_user_error, refuse_odd
from whyconv.runner.standing import Standing
from whyconv.runner.worker import surroundings
from whyconv.tasks import StreamedTask

if TYPE_CHECKING:
    from whyconv.runner.events import Options
    from whyconv.trial import Trial

START_SECONDS = 300.0
"""Kill a worker that is not ready after this many seconds."""
STARTS = 3
"""End the run after this many workers in a row that ended before they began a trial."""
PUT_BACK = 2
"""How often a trial whose worker was killed from outside is put back before it counts as failed."""
LOG = "workers.log"
SET_BY_PACKAGES = ("KMP_", "TF_CPP_", "TPU_")
"""Prefixes of variables that packages set when they are imported, at some time after the first worker."""


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


@dataclass(frozen=True)
class Errand:
    """What a run asks of the workers, beside its trials."""

    folder: Path
    """Where trials keep checkpoints, and workers what they print."""
    limit: float
    """Kill a trial that reports no progress for this many seconds."""
    loads: tuple[str, ...] = ()
    """The user's own files of pieces."""
    execute: str = "whyconv.execution:execute"
    """The function that runs a trial, as ``module:name``."""
    rebuild: str = "whyconv.trial:Trial"
    """What makes a trial of its spec; anything with a ``key`` will do."""
    kept: Path | None = None
    """The folder with data kept beside rows, if it is another."""
    needs: tuple[StreamedTask, ...] = ()
    """The tasks that read data, one for each set; a place elsewhere looks for them before it runs trials."""

    def loaded(self) -> list[Any]:
        """What workers that can be used again must have in common: Python's path, and the files' digests."""
        return [sys.path, [(file, registry.file_digest(file)) for file in self.loads]]

    def greeting(self) -> bytes:
        """The first lines that a worker reads: Python's path, what it loads, and what to get ready for."""
        hello = {"loads": self.loads, "execute": self.execute, "parent": os.getpid()}
        return f"{json.dumps(sys.path)}\n{json.dumps(hello)}\n".encode()

    def kept_files(self) -> list[Path]:
        """The files of data that are kept with the rows, and nowhere else."""
        return [path for task in self.needs for path in task.kept_files()]

    def job(self) -> dict[str, str]:
        """What is sent with every trial."""
        room = self.folder.resolve()
        places = {"checkpoints": str(room / checkpoint.FOLDER), "log": str(room / LOG)}
        kept = str((self.kept or self.folder).resolve())
        return {"execute": self.execute, "rebuild": self.rebuild, "kept": kept, **places}


class Pool:
    """Runs trials in processes, which start when there is work for them; :meth:`begin` comes first."""

    def __init__(self) -> None:
        self._size = 0
        self._backlog = Backlog()
        self._workers: list[Child] = []
        self._selector = selectors.DefaultSelector()
        self._bad_starts = 0
        self._killed: Counter[str] = Counter()
        self._clock = _Clock()
        self._log = tempfile.TemporaryFile(prefix="whyconv-")  # noqa: SIM115
        """What workers print outside of trials."""
        self._start_as: tuple[bytes, Mapping[str, str]] = b"", {}
        self._started_with: tuple[list[Any], Mapping[str, str]] = [], {}

    def fitting(self, todo: Sequence[Trial], folder: Path, options: Options) -> int:
        """One per core, or fewer; see :func:`whyconv.runner.fit.workers`."""
        return fit.workers(todo, folder, options)

    def standing(self) -> Standing:
        return Standing(self._size)

    def begin(self, errand: Errand, workers: int) -> None:
        """Take up an errand with up to ``workers`` processes."""
        self.clear()
        self._ready_for(errand)
        while len(self._workers) > workers:
            self._end(self._workers[-1])
        self._errand, self._size = errand, workers
        self._job = errand.job()
        self._killed.clear()
        self._clock.advance()
        with as_user_error(errand.folder):
            refuse_odd(errand.folder / checkpoint.FOLDER, folder=True)
            log = errand.folder / LOG
            log.unlink(missing_ok=True)  # what is there may be a link or a pipe
            os.close(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.SAFE, 0o644))

    def start(self, errand: Errand, workers: int) -> None:
        """Start the processes of an errand that is about to begin, while the run is being prepared."""
        self._ready_for(errand)
        self._start(workers)

    def _ready_for(self, errand: Errand) -> None:
        """End workers that are dead, or would be started in another way now.

        That is with other files, another path or other environment variables.
        """
        variables = surroundings(os.environ)
        lasting = {name: v for name, v in variables.items() if not name.startswith(SET_BY_PACKAGES)}
        loaded = copy.deepcopy(errand.loaded())
        same = (loaded, lasting) == self._started_with
        self._started_with, self._start_as = (loaded, lasting), (errand.greeting(), variables)
        for worker in list(self._workers):
            if not same or worker.death():
                self._end(worker)
        self._bad_starts = 0

    def submit(self, key: str, spec: Mapping[str, Any], kind: str) -> None:
        """Queue a trial; trials of one kind share compiled programs."""
        self._backlog.add({"key": key, "spec": spec, "kind": kind, **self._job})

    @property
    def unfinished(self) -> int:
        """How many submitted trials have no outcome yet."""
        return len(self._backlog) + sum(worker.key is not None for worker in self._workers)

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

    def clear(self) -> None:
        """Forget waiting trials and kill busy workers, whose current trials are lost; idle ones stay."""
        self._backlog.clear()
        for worker in [worker for worker in self._workers if worker.key is not None]:
            self._end(worker)

    def close(self) -> None:
        """Kill all workers; their current trials are lost."""
        try:
            while self._workers:
                self._end(self._workers[0])
        finally:
            self._backlog.clear()
            self._selector.close()
            self._log.close()

    def _start(self, workers: int) -> None:
        """Start workers until there are this many."""
        while len(self._workers) < workers:
            try:
                worker = Child(*self._start_as, self._log.fileno(), self._clock.seconds)
            except OSError as error:
                raise UserError(f"no worker could be started: {error}.") from error
            self._selector.register(worker.output, selectors.EVENT_READ, worker)
            self._workers.append(worker)

    def _hand_out(self) -> None:
        """Give waiting trials to idle workers, and start missing workers."""
        for worker in self._workers:
            if not self._backlog:
                return
            if worker.ready and worker.key is None:
                job = self._backlog.take(worker)
                if not worker.take(job, self._clock.seconds):
                    self._backlog.add(job, first=True)
        starting = sum(not worker.ready for worker in self._workers)
        wanted = len(self._workers) + max(0, len(self._backlog) - starting)
        self._start(min(self._size, wanted))

    def _listen(self, worker: Child) -> list[Outcome]:
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

    def _look_after(self, worker: Child) -> list[Outcome]:
        """End the trial of a worker that died or hangs."""
        silent = self._clock.seconds - worker.heard
        if death := worker.death():
            outcomes = self._listen(worker)  # what it said before it died counts
            how = f"worker died: {death}"
        elif worker.key is not None and silent > self._errand.limit:
            outcomes = []
            how = f"hung: no progress for {self._errand.limit:g} s"
        elif not worker.ready and silent > START_SECONDS:
            outcomes = []
            how = f"not ready after {START_SECONDS:g} s"
        else:
            return []
        self._end(worker)
        if worker.key is not None and (worker.begun or not death):
            outcomes.append(self._ended(worker, how))
        elif worker.job is not None or not worker.ready:
            self._replace(worker, how)
        return outcomes

    def _ended(self, worker: Child, how: str) -> Outcome:
        """The outcome if a worker died or hung: put back if it was killed from outside, else failed."""
        assert worker.job is not None
        key, seconds = worker.job["key"], self._clock.seconds - worker.since
        if worker.killed_from_outside and self._killed[key] < PUT_BACK:
            self._killed[key] += 1
            self._backlog.add(worker.job, first=True)
            return Outcome(key, "put back", seconds, error=how)
        return Outcome(key, "failed", seconds, error=how, environment=worker.environment)

    def _replace(self, worker: Child, how: str) -> None:
        """Put back the trial of a worker that never began it; several such workers in a row end the run."""
        if worker.job is not None:
            self._backlog.add(worker.job, first=True)
        self._bad_starts += 1
        if self._bad_starts >= STARTS:
            log = self._errand.folder / LOG
            self._copy_log(log)
            raise UserError(f"{STARTS} workers in a row ended while starting ({how}); see {log}.")

    def _copy_log(self, path: Path) -> None:
        """Append what workers printed outside of trials to the run's log."""
        with suppress(OSError), open(os.open(path, os.O_WRONLY | os.O_APPEND | system.SAFE), "wb") as log:
            self._log.seek(0)
            shutil.copyfileobj(self._log, log)

    def _end(self, worker: Child) -> None:
        self._workers.remove(worker)
        self._backlog.forget(worker)
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
