"""Runs questions in the background, one after the other, in workers that stay warm.

One thread has the folder's lock and the workers. A question in the making ends at the next event once
somebody stops it; rows that are there are kept. While nobody asks, the programs of neighbouring questions
are compiled.
"""

from __future__ import annotations

import os
import queue
import secrets
import shutil
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, Literal

from whyconv import system
from whyconv.errors import UserError, one_sentence, said
from whyconv.page.known import Known
from whyconv.page.question import Question
from whyconv.page.shown import command, planned
from whyconv.page.uploads import abandoned
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Event, Finished, Options, Planned
from whyconv.runner.pool import Errand, Pool
from whyconv.studies import Point

Status = Literal["waiting", "running", "ended", "stopped", "refused"]
OVER = ("ended", "stopped", "refused")
MOST_WAITING = 8
"""Questions that wait; more than so many tabs nobody has."""
KEPT = 50
"""Questions that are over and can still be asked about."""
READING = 1.0
"""Seconds without a question after which somebody reads, and neighbours are compiled: who presses a button
again at once finds the workers free."""
PATIENCE = 1.0
"""Seconds that somebody waits for a program that is being compiled ahead; starting a worker takes longer."""
LIMIT = 60.0
"""Seconds without progress after which a trial of the page is given up."""

ROOM = "whyconv-page-"
"""How the temporary folder of a server begins; its number follows."""


class Stopped(Exception):
    """Somebody stopped the question that is being run."""


@dataclass
class Asked:
    """A question that somebody asked, and how far it is; ``version`` counts its changes."""

    question: Any
    work: Callable[[Asked], None] | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    status: Status = "waiting"
    sentence: str = ""
    done: int = 0
    total: int = 0
    version: int = 0
    stop: threading.Event = field(default_factory=threading.Event)
    more: dict[str, Any] = field(default_factory=dict)

    def change(self, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self, name, value)
        self.version += 1

    @property
    def over(self) -> bool:
        return self.status in OVER


class Desk:
    """Takes questions, one at a time; ``close`` ends the workers."""

    def __init__(self, known: Known, workers: int | None = None) -> None:
        self.known = known
        self.asked: dict[str, Asked] = {}
        self._workers = workers or system.cores()
        self._queue: queue.Queue[Asked | None] = queue.Queue()
        self._ahead: list[Point] = []
        self._compiled: set[str] = set()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="desk", daemon=True)
        self._thread.start()

    def ask(self, question: Any, work: Callable[[Asked], None] | None = None) -> Asked:
        """Put a question in the line; refused if the line is too long."""
        self.require_room()
        over = [each.id for each in self.asked.values() if each.over]
        for old in over[:-KEPT]:
            del self.asked[old]
        new = Asked(question, work)
        self.asked[new.id] = new
        self._queue.put(new)
        return new

    def require_room(self) -> None:
        """Refuse further questions if the line is too long."""
        waiting = sum(not each.over for each in self.asked.values())
        if waiting >= MOST_WAITING:
            raise UserError(f"{waiting} questions wait already; stop one, or ask again later.")

    @property
    def busy(self) -> bool:
        """Whether rows are being added right now."""
        return any(each.status == "running" for each in list(self.asked.values()))

    def stop(self, asked: Asked) -> None:
        """End a question now, or before it begins."""
        asked.stop.set()
        if asked.status == "waiting":
            asked.change(status="stopped")

    def close(self) -> None:
        """Stop everything and end the workers; returns when they are gone."""
        self._closing.set()
        for asked in list(self.asked.values()):
            asked.stop.set()
        self._queue.put(None)
        self._thread.join(10)

    # -- in the thread -----------------------------------------------------------------------------

    def _loop(self) -> None:
        pool = Pool()
        with TemporaryDirectory(prefix=f"{ROOM}{os.getpid()}-") as room:
            try:
                self._warm(pool, Path(room))  # they import JAX meanwhile
                while not self._closing.is_set():
                    try:
                        asked = self._queue.get(timeout=READING)
                    except queue.Empty:
                        self._guess(pool, Path(room))
                        continue
                    if asked is not None:
                        self._answer(asked, pool)
                while not self._queue.empty():
                    if (asked := self._queue.get()) is not None:
                        self._answer(asked, pool)
            finally:
                pool.close()

    def _answer(self, asked: Asked, pool: Pool) -> None:
        try:
            if not asked.stop.is_set():
                asked.change(status="running")
            if asked.work is not None:
                asked.work(asked)  # also if it was stopped, to tidy up
            elif asked.stop.is_set():
                raise Stopped
            else:
                self._run(asked, pool)
            asked.change(status="ended")
        except Stopped:
            asked.change(status="stopped")
            pool.clear()
            self._warm(pool, self.known.folder)
        except UserError as error:
            asked.change(status="refused", sentence=one_sentence(str(error)))
        except Exception as error:  # the server must live on; the terminal has the traceback
            traceback.print_exc()
            asked.change(status="refused", sentence=one_sentence(f"this is a fault of ours: {said(error)}"))
        finally:
            asked.work = None  # it has the data of an audit

    def _run(self, asked: Asked, pool: Pool) -> None:
        question = asked.question

        def watch(event: Event) -> None:
            if isinstance(event, Planned):
                asked.change(total=event.total, done=event.reused)
            elif isinstance(event, Finished) and event.row is not None:
                self.known.add(event.row)
                asked.change(done=event.done)
            if asked.stop.is_set():
                raise Stopped

        options = Options(
            workers=self._workers, limit=LIMIT, retry_failed=False, preset="quick",
            command=command(question, self.known.folder),
        )  # fmt: skip
        summary = complete(question, self.known.folder, options, watch, pool)
        self.known.add(*summary.rows.values())
        self.known.settle(question.canonical())
        self._compiled |= {point.trial.program for point in summary.points}
        self._ahead = self._neighbours(question)

    def _errand(self, folder: Path) -> Errand:
        return Errand(folder, LIMIT)

    def _neighbours(self, question: Question) -> list[Point]:
        """One trial for every program that a click away may need and that no worker has compiled."""
        wanted: dict[str, Point] = {}
        for near in neighbours(question):
            for point in planned(near):
                if (program := point.trial.program) not in self._compiled:
                    wanted.setdefault(program, point)
        return list(wanted.values())

    def _warm(self, pool: Pool, folder: Path) -> None:
        """Start workers before somebody asks; if that fails, whoever asks is told why."""
        try:
            pool.start(self._errand(folder), self._workers)
        except UserError:
            pool.clear()
        except Exception:  # the server must live on; the terminal has the traceback
            traceback.print_exc()
            pool.clear()

    def _guess(self, pool: Pool, room: Path) -> None:
        """Compile ahead; what goes wrong there ends nothing but that."""
        try:
            self._compile_ahead(pool, room)
        except Exception:  # the server must live on; the terminal has the traceback
            traceback.print_exc()
            self._ahead.clear()
            pool.clear()

    def _compile_ahead(self, pool: Pool, room: Path) -> None:
        """Run one trial of each program and forget its row; ends as soon as somebody asks."""
        if not self._ahead:
            return
        pool.begin(Errand(room, LIMIT), self._workers)
        patience = time.monotonic() + PATIENCE
        while self._ahead or pool.unfinished:
            wanted = self._queue.empty() and not self._closing.is_set()
            if wanted:
                patience = time.monotonic() + PATIENCE
            while wanted and self._ahead and pool.unfinished < self._workers:
                point = self._ahead.pop(0)
                self._compiled.add(point.trial.program)
                pool.submit(point.trial.key, point.trial.canonical(), point.trial.program)
            if not pool.unfinished or self._closing.is_set() or time.monotonic() > patience:
                return
            pool.wait(0.05)


def sweep() -> None:
    """Delete the temporary folders of servers that were killed."""
    for room in Path(gettempdir()).glob(f"{ROOM}*-*"):
        server = room.name.removeprefix(ROOM).partition("-")[0]
        if server.isdecimal() and abandoned(server):
            shutil.rmtree(room, ignore_errors=True)


def neighbours(question: Question) -> Iterable[Question]:
    """The questions that differ in one setting."""
    for knob in question.knobs:
        for value in question.choices(knob.name):
            if value != getattr(question, knob.name):
                yield question.model_copy(update={knob.name: value})
