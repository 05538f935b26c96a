"""The place on a Dask cluster: the coordinator's queue here, chunks of it at the workers.

Dask is told of a few chunks per slot, never of the plan, so that its scheduler has the same to do however
many trials wait. The chunks of a worker that is dead or silent are taken back and handed to others; a trial
may then begin twice, and the first outcome counts. Rows are written by the coordinator alone.
"""

from __future__ import annotations

import json
import os
import queue
import time
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from whyconv import system
from whyconv.errors import UserError, said
from whyconv.runner import fit
from whyconv.runner.backlog import Backlog, Job
from whyconv.runner.cluster import seats
from whyconv.runner.cluster.chunks import Chunk, Pace
from whyconv.runner.cluster.errands import Sent
from whyconv.runner.cluster.members import RESUME, Members
from whyconv.runner.cluster.results import Answer, Results
from whyconv.runner.pool import Errand, Outcome
from whyconv.runner.standing import Standing
from whyconv.text import count

if TYPE_CHECKING:
    from pathlib import Path

    from distributed import Client

    from whyconv.runner.events import Options
    from whyconv.trial import Trial

DEATHS = {True: 8, False: 40}
"""A trial has failed after the deaths of more Dask workers that were heard to run it, or that were given it
and not heard of again: such a worker may have died while it was starting, and the trial never began."""
FAILURES = 3
"""A worker that fails so often in a row, for another reason than a trial, gets no more work."""
AGAIN_SECONDS = 0.1
"""Ask again at most this often for results that are being made again."""


class DaskPlace:
    """Runs trials on the workers of a Dask cluster; ``ending`` is called when it is closed."""

    def __init__(
        self,
        client: Client,
        where: str,
        members: Members | None = None,
        ending: Callable[[], None] = lambda: None,
    ) -> None:
        self._client, self._where, self._ending = client, where, ending
        self._members = members or Members(client, where)
        self._dashboard = _dashboard(client)
        self._backlog, self._pace = Backlog(), Pace()
        self._chunks: dict[str, Chunk] = {}
        self._open: set[str] = set()
        """Keys of submitted trials without an outcome."""
        self._ended: queue.SimpleQueue[str] = queue.SimpleQueue()
        """Names of chunks that have ended, and addresses of workers whose results have come."""
        self._results = Results(client, self._ended.put)
        self._again: list[str] = []
        """Names of chunks whose results are being made again."""
        self._asked = 0.0
        self._progress: dict[str, dict[str, float]] = {}
        self._deaths = {heard: Counter[str]() for heard in DEATHS}
        self._failures: Counter[str] = Counter()
        """How often in a row a worker could not run trials, by its address."""
        self._notes: deque[str] = deque(maxlen=100)
        self._error: UserError | None = None
        """What ends the run once the outcomes that came before it are given out."""
        self._sent: Sent | None = None
        self._topic = f"whyconv-{uuid4().hex}"
        client.subscribe_topic(self._topic, self._hear)

    # -- the contract ---------------------------------------------------------------------------------

    def begin(self, errand: Errand, workers: int) -> None:
        del workers
        self.clear()
        self._sent = Sent(self._client, errand)
        self._sent.carry(self._members.threads)
        for deaths in self._deaths.values():
            deaths.clear()
        self._failures.clear()

    def start(self, errand: Errand, workers: int) -> None:
        """Nothing: nodes start processes when there is work."""

    def submit(self, key: str, spec: Mapping[str, Any], kind: str) -> None:
        self._open.add(key)
        self._backlog.add({"key": key, "spec": spec, "kind": kind})

    @property
    def unfinished(self) -> int:
        return len(self._open)

    def running(self) -> dict[str, float]:
        found = dict[str, float]()
        for name, trials in list(self._progress.items()):
            if name in self._chunks:
                found |= trials
        return {key: fraction for key, fraction in found.items() if key in self._open}

    def fitting(self, todo: Sequence[Trial], folder: Path, options: Options) -> int:
        """One trial per thread of every Dask worker that is used; refuses what its memory cannot hold."""
        fit.disk(todo, folder, options)
        self._members.require_memory(todo, options)
        return max(1, self._members.slots)

    def standing(self) -> Standing:
        there = count(len(self._members.threads), "Dask worker")
        where = f"{there} of {self._where}{self._dashboard}"
        return Standing(self._members.slots, where, tuple(self._notes))

    def wait(self, seconds: float) -> list[Outcome]:
        outcomes = list[Outcome]()
        if self._error is None:
            self._hand_out()
            outcomes += self._collect(seconds)
            with self._kept():
                for address, gone in self._members.look().items():
                    outcomes += self._recall(address, "is gone" if gone else "is not heard of", gone)
            self._hand_out()
        if self._error is not None and not outcomes:
            raise self._error
        return outcomes

    def clear(self) -> None:
        chunks, self._chunks = self._chunks, {}
        for address in {chunk.address for chunk in chunks.values()}:
            self._backlog.forget(address)
        self._backlog.clear()
        self._open.clear()
        self._progress.clear()
        self._results.clear()
        self._error = None
        if self._sent is not None:
            self._sent.close()
        if chunks:
            with suppress(Exception):  # a scheduler that is gone has forgotten them
                self._client.cancel([chunk.future for chunk in chunks.values()], force=True)

    def close(self) -> None:
        self.clear()
        with suppress(Exception):
            self._client.unsubscribe_topic(self._topic)
        self._ending()

    # -- handing out ----------------------------------------------------------------------------------

    def _hand_out(self) -> None:
        """Fill the slots, first of all workers, then a second chunk for each that is soon done."""
        out = Counter(chunk.address for chunk in self._chunks.values())
        soon = Counter(chunk.address for chunk in self._chunks.values() if self._soon(chunk))
        for ahead in (0, 1):
            for address, threads in self._members.threads.items():
                while self._backlog and out[address] < threads + (ahead * min(threads, soon[address])):
                    chunk = self._send(address)
                    out[address] += 1
                    soon[address] += self._soon(chunk)

    def _soon(self, chunk: Chunk) -> bool:
        """Whether a chunk will be done in a moment; nothing waits behind one that a worker may die of."""
        return not self._suspect(chunk.jobs[0]["key"]) and self._pace.short(chunk.kind, len(chunk.jobs))

    def _suspect(self, key: str) -> bool:
        """Whether a Dask worker died that had this trial."""
        return any(key in deaths for deaths in self._deaths.values())

    def _send(self, address: str) -> Chunk:
        first = self._backlog.take(address)
        size = self._pace.size(first["kind"], len(self._backlog) + 1, self._members.slots)
        size = 1 if self._suspect(first["key"]) else size
        others = self._backlog.further(address, first["kind"], size - 1, alone=self._suspect)
        return self._dispatch([first, *others], address)

    def _dispatch(self, jobs: list[Job], address: str) -> Chunk:
        """Submit a chunk, as a tenth of its bytes: client and scheduler keep their last thousand messages."""
        assert self._sent is not None
        name = f"whyconv-{uuid4().hex}"
        chunk = Chunk(name, jobs, address)
        order = {"name": name, "topic": self._topic, "trials": jobs, **self._sent.order}
        chunk.future = self._client.submit(
            seats.perform, zlib.compress(json.dumps(order).encode()), self._sent.cargo, key=name, pure=False,
            workers=[address],  # and no other: to Dask, one that is silent looks idle
        )  # fmt: skip
        self._chunks[name] = chunk
        chunk.future.add_done_callback(lambda future: self._ended.put(future.key))
        return chunk

    def _recall(self, address: str, why: str, gone: bool = False) -> list[Outcome]:
        """Take back the chunks of a worker that is gone, refused or silent; what it still says is ignored."""
        self._backlog.forget(address)
        self._results.forget(address)
        outcomes, chunks = (
            list[Outcome](),
            [each for each in self._chunks.values() if each.address == address],
        )
        trials = count(sum(len(chunk.jobs) for chunk in chunks), "trial")
        self._notes.append(f"the worker {address} {why}; {trials} of it will be tried elsewhere")
        for chunk in chunks:
            self._drop(chunk)
            chunk.future.cancel(force=True)
            if gone:
                outcomes += self._lost(chunk)
            else:
                self._put_back(chunk)
        if not gone and self._sent is not None:
            self._sent.carry(self._members.threads)
        return outcomes

    def _lost(self, chunk: Chunk) -> list[Outcome]:
        """The Dask worker of a chunk died: try its trials again, one by one, but not for ever."""
        outcomes, seconds = list[Outcome](), time.monotonic() - chunk.sent
        deaths, most = self._deaths[chunk.heard], DEATHS[chunk.heard]
        for job in reversed([job for job in chunk.jobs if job["key"] in self._open]):
            deaths[job["key"]] += 1
            if deaths[job["key"]] <= most:
                self._backlog.add(job, first=True)
            else:
                self._open.discard(job["key"])
                how = f"{most + 1} Dask workers died {'while' if chunk.heard else 'before'} it ran"
                outcomes.append(Outcome(job["key"], "failed", seconds, error=how))
        return outcomes

    def _put_back(self, chunk: Chunk) -> None:
        for job in reversed(chunk.jobs):
            if job["key"] in self._open:
                self._backlog.add(job, first=True)

    def _drop(self, chunk: Chunk) -> None:
        del self._chunks[chunk.name]
        self._progress.pop(chunk.name, None)

    # -- what comes back ------------------------------------------------------------------------------

    def _hear(self, event: tuple[float, Mapping[str, dict[str, float]]]) -> None:
        """A Dask worker tells how far its trials are (in a thread of the client)."""
        for name, told in event[1].items():
            if chunk := self._chunks.get(name):
                self._progress[name] = told
                chunk.heard = chunk.heard or bool(told)

    def _collect(self, seconds: float) -> list[Outcome]:
        """The outcomes that have come; waits for the first chunk that ends, or whose results come."""
        outcomes, names = list[Outcome](), dict.fromkeys(self._names(seconds))
        for chunk in [self._chunks[name] for name in names if name in self._chunks]:
            status = chunk.future.status
            if status == "finished":
                self._results.want(chunk)
            elif status == "error":
                with self._kept():
                    outcomes += self._failed(chunk, chunk.future.exception())
            elif status == "cancelled":
                why = f"the connection to the scheduler {self._where} is lost; {RESUME}"
                self._error = self._error or UserError(why)
            else:  # its result was on a worker that died, and is being made again
                self._again.append(chunk.name)
        for chunks, answer in self._results.answers():
            with self._kept():
                outcomes += self._fetched(chunks, answer)
        return outcomes

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """An error is kept for the end of ``wait``, or for the next one: the outcomes beside it count."""
        try:
            yield
        except UserError as error:
            self._error = self._error or error

    def _names(self, seconds: float) -> list[str]:
        """The chunks that have ended, or are asked for again; waits for the first one."""
        seconds = min(seconds, AGAIN_SECONDS) if self._again else seconds
        names = list[str]()
        with suppress(queue.Empty):
            names.append(self._ended.get(timeout=seconds) if seconds > 0 else self._ended.get_nowait())
            while True:
                names.append(self._ended.get_nowait())
        if self._again and time.monotonic() - self._asked >= AGAIN_SECONDS:
            self._asked = time.monotonic()
            names, self._again = names + self._again, []
        return names

    def _fetched(self, chunks: list[Chunk], answer: Answer) -> list[Outcome]:
        """The outcomes of chunks of one worker; they are asked for again if it did not answer."""
        try:
            results = answer.result().get("data")
        except (OSError, CancelledError):  # whether the scheduler is gone is seen elsewhere
            results = None
        except Exception as error:
            why = f"results could not be fetched from {self._where} ({said(error)})"
            raise UserError(f"{why}; {RESUME}") from None
        outcomes = list[Outcome]()
        for chunk in chunks:
            if chunk.name not in self._chunks:  # taken back meanwhile
                continue
            if results is None:
                self._again.append(chunk.name)
                continue
            with self._kept():
                outcomes += self._received(chunk, results[chunk.name])
        return outcomes

    def _received(self, chunk: Chunk, result: dict[str, Any]) -> list[Outcome]:
        self._drop(chunk)
        if why := result.get("refused") or self._broken(chunk, result):
            self._put_back(chunk)
            self._members.refuse(chunk.address, why)
            return self._recall(chunk.address, why)
        if "error" in result:
            self._put_back(chunk)
            return []
        del self._failures[chunk.address]
        if result["printed"]:
            self._keep_printed(result["printed"])
        outcomes = [Outcome(**each) for each in result["outcomes"]]
        fresh = [each for each in outcomes if each.key in self._open]
        if ended := {each.key for each in outcomes if each.status != "put back"}:
            self._pace.learn(chunk.kind, result["seconds"] / len(ended))
        self._open -= ended
        self._put_back(chunk)  # what a closing worker did not begin
        return fresh

    def _broken(self, chunk: Chunk, result: Mapping[str, Any]) -> str:
        """Why a worker gets no more work, in a clause; empty if it may try again."""
        if (error := result.get("error")) is None:
            return ""
        self._failures[chunk.address] += 1
        broken = self._failures[chunk.address] >= FAILURES
        return f"failed {FAILURES} times ({error.rstrip('.')})" if broken else ""

    def _failed(self, chunk: Chunk, error: BaseException | None) -> list[Outcome]:
        """Dask gave a chunk up: it killed several workers, or cannot be run at all."""
        from distributed import KilledWorker

        self._drop(chunk)
        if isinstance(error, KilledWorker):
            return self._lost(chunk)
        why = f"a worker of {self._where} could not run trials ({said(error or RuntimeError())})"
        raise UserError(f"{why}; {RESUME}")

    def _keep_printed(self, text: str) -> None:
        assert self._sent is not None
        flags = os.O_WRONLY | os.O_APPEND | system.SAFE
        with suppress(OSError), open(os.open(self._sent.log, flags), "wb") as log:
            log.write(text.encode(errors="replace"))


def _dashboard(client: Client) -> str:
    """Where Dask's dashboard is, if there is one; that of a scheduler in this process is for this machine."""
    about = client.scheduler_info(n_workers=0)
    if (port := about["services"].get("dashboard")) is None:
        return ""
    inside = about["address"].startswith("inproc://")
    return f"; dashboard {f'http://127.0.0.1:{port}/status' if inside else client.dashboard_link}"
