"""In a Dask worker: a running chunk has a seat, which is a pool of one worker process of ours.

The pool brings its watch: a trial that hangs or whose process dies is noticed here, without the coordinator.
Dask cannot interrupt a thread, so the thread looks itself whether its task was cancelled, which also happens
when the client is gone, and then ends the process. Idle seats keep what they have compiled for a while.
"""

from __future__ import annotations

import json
import threading
import time
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from whyconv.errors import UserError
from whyconv.runner import checkpoint
from whyconv.runner.cluster import nodes
from whyconv.runner.pool import LOG, Errand, Outcome, Pool
from whyconv.spec import digest

IDLE_SECONDS = 30.0
"""A seat that nobody takes for so long ends its process."""
BEAT_SECONDS = 1.0
"""A Dask worker reports the progress of its trials at most this often, in one message for all."""
LOOK_SECONDS = 0.25
"""How often a thread looks whether its task was cancelled."""
PRINTED = 10_000
"""The most characters of what trials of a chunk printed that are sent back."""
RUNNING = ("running", "paused", "closing_gracefully")
"""The states of a Dask worker that still runs tasks."""


@dataclass(frozen=True)
class NodeErrand(Errand):
    """An errand on a node: a folder of its own for what is printed, checkpoints on shared storage if any."""

    checkpoints: str = ""

    def job(self) -> dict[str, str]:
        return {**super().job(), **({"checkpoints": self.checkpoints} if self.checkpoints else {})}


@dataclass(eq=False)
class Seat:
    """A pool of one process, and the kinds of trials that it has compiled programs for."""

    pool: Pool
    number: int
    made_for: str = ""
    """The digest of the errand that it took up."""
    log: Path = Path()
    kinds: set[str] = field(default_factory=set)
    timer: threading.Timer | None = None


_lock = threading.Lock()
_idle: list[Seat] = []
_numbers = count()


def perform(order: bytes, cargo: nodes.Cargo = ()) -> dict[str, Any]:
    """Run the trials of a chunk; what came of them, or why this node must not run them.

    This is the Dask task. ``order`` is compressed JSON: in bytes Dask neither searches nor replaces anything.
    """
    from distributed import get_worker

    asked, worker = json.loads(zlib.decompress(order)), get_worker()
    if why := nodes.differing(asked["versions"], nodes.versions()):
        return {"refused": why}
    if why := nodes.lacking(tuple(asked["needs"]), asked["data"]):
        return {"refused": why}
    try:
        seat = _take(asked, cargo, Path(worker.local_directory) / "whyconv")
    except (UserError, OSError) as error:
        return {"refused": f"cannot start trials: {error}"}
    began = time.monotonic()
    try:
        outcomes = _run(seat, asked, worker)
    except UserError as error:
        seat.pool.close()
        return {"error": str(error)}
    except BaseException:
        seat.pool.close()
        raise
    printed = _printed(seat)
    _give_back(seat)
    return {
        "outcomes": [asdict(each) for each in outcomes],
        "seconds": time.monotonic() - began,
        "printed": printed,
    }


def _run(seat: Seat, asked: Mapping[str, Any], worker: Any) -> list[Outcome]:
    """Run the trials one after the other; those that are left when nobody wants them any more are dropped."""
    outcomes: list[Outcome] = []
    try:
        for trial in asked["trials"]:
            seat.pool.submit(trial["key"], trial["spec"], trial["kind"])
        while seat.pool.unfinished:
            outcomes += seat.pool.wait(LOOK_SECONDS)
            if _abandoned(worker, asked["name"]):
                seat.pool.clear()
            _beats.tell(worker, asked["topic"], asked["name"], seat.pool.running())
    finally:
        _beats.forget(asked["name"])
    return outcomes


def _abandoned(worker: Any, name: str) -> bool:
    """Whether the task was cancelled, its client is gone, or the Dask worker is closing."""
    task = worker.state.tasks.get(name)
    return task is None or task.state == "cancelled" or worker.status.name not in RUNNING


def _take(asked: Mapping[str, Any], cargo: nodes.Cargo, scratch: Path) -> Seat:
    """An idle seat, if possible one of this errand that has compiled the kind; else a new one."""
    errand, kind = asked["errand"], asked["trials"][0]["kind"]
    made_for = digest({**errand, "data": asked["data"]})
    with _lock:
        ranked = sorted(_idle, key=lambda seat: (seat.made_for != made_for, kind not in seat.kinds))
        seat = ranked[0] if ranked else None
        if seat is not None:
            _idle.remove(seat)
            if seat.timer is not None:
                seat.timer.cancel()
    seat = seat or Seat(Pool(), next(_numbers))
    if seat.made_for != made_for:
        try:
            nodes.unpack(cargo, scratch)
            with nodes.searching(asked["data"]):
                _prepare(seat, errand, scratch, made_for[:16])
        except BaseException:
            seat.pool.close()
            raise
        seat.made_for = made_for
    seat.kinds.add(kind)
    return seat


def _prepare(seat: Seat, errand: Mapping[str, Any], scratch: Path, name: str) -> None:
    """Have a seat take up an errand; its process stays if it would be started in the same way."""
    own = scratch / f"seat-{seat.number}"
    own.mkdir(parents=True, exist_ok=True)
    shared = Path(errand["folder"]) / checkpoint.FOLDER
    here = shared if (shared / errand["marker"]).exists() else scratch / name / checkpoint.FOLDER
    loads = tuple(str(scratch / file) for file in errand["loads"])
    how = errand["limit"], loads, errand["execute"], errand["rebuild"], scratch / "kept"
    seat.pool.begin(NodeErrand(own, *how, checkpoints=str(here)), 1)
    seat.log = own / LOG


def _give_back(seat: Seat) -> None:
    seat.timer = threading.Timer(IDLE_SECONDS, _end, [seat])
    seat.timer.daemon = True
    with _lock:
        _idle.append(seat)
        seat.timer.start()


def _end(seat: Seat) -> None:
    """End an idle seat, unless it was taken just now."""
    with _lock:
        if seat not in _idle:
            return
        _idle.remove(seat)
    seat.pool.close()


def _printed(seat: Seat) -> str:
    """What the trials of the chunk printed; the log starts over."""
    try:
        text = seat.log.read_text(errors="replace")
        if text:
            with seat.log.open("w"):
                pass
    except OSError:
        return ""
    return text[-PRINTED:]


class _Beats:
    """Tells the coordinators how far the running trials of this Dask worker are."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, tuple[str, dict[str, float]]] = {}
        self._last = 0.0

    def tell(self, worker: Any, topic: str, name: str, running: dict[str, float]) -> None:
        with self._lock:
            self._running[name] = topic, running
            if not running or time.monotonic() - self._last < BEAT_SECONDS:
                return  # told when they end, trials of a second would never be told while they run
            self._last = time.monotonic()
            by_topic: dict[str, dict[str, dict[str, float]]] = {}
            for chunk, (its_topic, trials) in self._running.items():
                by_topic.setdefault(its_topic, {})[chunk] = trials
        for each, chunks in by_topic.items():
            worker.log_event(each, chunks)

    def forget(self, name: str) -> None:
        with self._lock:
            self._running.pop(name, None)


_beats = _Beats()
