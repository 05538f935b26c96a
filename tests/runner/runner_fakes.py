"""Pieces and an ``execute`` for tests of the runner: trials of milliseconds that need no JAX.

What a trial does is the ``does`` of its learner. The module is imported by workers too.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from whyconv.learners import Cost, Learner
from whyconv.networks import Network
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Event, Finished, Options
from whyconv.runner.pool import Errand, Pool
from whyconv.studies import Cell, Point, Study
from whyconv.tasks import Task
from whyconv.trial import Row, Trial

EXECUTE = "runner_fakes:execute"
Does = Literal[
    *("work", "raise", "nan", "inf", "trace", "array", "hang", "beat", "kill", "exit0", "exit3", "leave"),
    *("print", "read", "steps", "mute", "address", "doomed", "surrogate", "dies", "grip", "fell"),
]


def never(*_: Any) -> Any:
    """Stands for the methods of a piece: the runner calls none of them."""
    raise AssertionError("the runner called a method of a piece")


class FakeTask(Task, name="fake-task"):
    """Nothing to learn."""

    size: int = 3
    hardness: float = 0.5
    shape = property(lambda self: (3,))
    examples = never


class FakeNetwork(Network, name="fake-network"):
    """No function at all."""

    width: int = 8
    init = apply = parameter_count = flops = never


class FakeLearner(Learner, name="fake-learner"):
    """Does as it is told."""

    does: Does = "work"
    sleep: float = 0.0
    start = advance = progress = finish = never

    def cost(self, network: Any, shape: Any, m: int) -> Cost:
        return Cost(flops=1.0, flops_limit=1.0, memory=1000.0 * m)


FakeNetwork.version = int(os.environ.get("FAKE_NETWORK_VERSION", "1"))


class FakeGrid(Study, name="fake-grid"):
    """Every behaviour at every m with every seed."""

    does: tuple[Does, ...] = ("work",)
    ms: tuple[int, ...] = (10, 20)
    sleep: float = 0.0
    reverse: bool = False
    presets: ClassVar = {"quick": {}}
    title = criterion = broken = "none"
    judge = figures = never

    def plan(self, rows: Any) -> list[Point]:
        points = [
            point(does, m, seed, self.sleep)
            for does in self.does
            for m in self.ms
            for seed in range(self.seeds)
        ]
        return points[::-1] if self.reverse else points


class FakeCells(Study, name="fake-cells"):
    """So many places, as cells, so that a long plan stays lazy."""

    places: int = 2
    sleep: float = 0.0
    does: Does = "work"
    presets: ClassVar = {"quick": {}}
    title = criterion = broken = "none"
    judge = figures = never

    def cells(self) -> Iterator[Cell]:
        learner = FakeLearner(sleep=self.sleep, does=self.does)
        for m in range(1, self.places + 1):
            yield Cell({"arm": "fake", "m": m}, FakeTask(), learner, FakeNetwork(), m, self.repetitions())


class FakeSearch(Study, name="fake-search"):
    """Doubles m until all seeds of a point give a value above a half, or m is 1000."""

    presets: ClassVar = {"quick": {}}
    title = criterion = broken = "none"
    judge = figures = never
    start: int = Field(10, ge=1)

    def plan(self, rows: Any) -> list[Point]:
        points, m = [], self.start
        while m < 1000:
            here = [point("work", m, seed) for seed in range(self.seeds)]
            points += here
            known = [rows[p.trial.key] for p in here if p.trial.key in rows]
            if len(known) < len(here) or all(row.result["value"] > 0.5 for row in known):
                break
            m *= 2
        return points


class FakeTwice(FakeGrid, name="fake-twice"):
    """Two labels for each trial."""

    def plan(self, rows: Any) -> list[Point]:
        points = super().plan(rows)
        return [Point({**p.labels, "arm": arm}, p.trial) for arm in ("left", "right") for p in points]


class FakeRefusal(FakeGrid, name="fake-refusal"):
    """Cannot be planned."""

    def plan(self, rows: Any) -> list[Point]:
        from whyconv.errors import UserError

        raise UserError("the data are not there; fetch them.")


def trial(does: Does = "work", m: int = 10, seed: int = 0, sleep: float = 0.0) -> Trial:
    learner = FakeLearner(does=does, sleep=sleep)
    return Trial(task=FakeTask(), network=FakeNetwork(), learner=learner, m=m, seed=seed)


def point(does: Does, m: int, seed: int, sleep: float = 0.0) -> Point:
    return Point({"does": does, "m": m}, trial(does, m, seed, sleep))


def row(of: Trial, **changes: Any) -> Row:
    """A row a fake trial could have left."""
    result, trace = outcome(of)
    fields = {"status": "ok", "result": result, "trace": trace, "environment": "0" * 16}
    identity = {"key": of.key, "stem": of.stem, "spec": of.canonical(), "versions": of.versions}
    return Row(**{**identity, **fields, **changes})


def outcome(of: Trial) -> tuple[dict[str, Any], dict[str, Any]]:
    """Numbers that depend on the trial's identity alone."""
    number = int(hashlib.sha256(of.key.encode()).hexdigest()[:12], 16) / 16**12
    return {"value": number, "third": number / 3, "count": of.m}, {"loss": [number, number / 7]}


@dataclass(frozen=True)
class Completed:
    """A run: its points and rows, and what its events and rows add up to."""

    points: list[Point]
    rows: Mapping[str, Row]
    ran: int

    total = property(lambda self: len(self.rows))
    reused = property(lambda self: self.total - self.ran)
    failed = property(lambda self: sum(row.status == "failed" for row in self.rows.values()))


def completed(
    study: Study, out: Any, how: Options, watch: Callable[[Event], None] = id, place: Any = None
) -> Completed:
    """``complete``, with the rows counted that were computed in this run."""
    ran = set()

    def count(event: Event) -> None:
        if isinstance(event, Finished):
            ran.add(event.key)
        watch(event)

    summary = complete(study, out, how, count, place)
    return Completed(summary.points, summary.rows, len(ran))


def options(**changes: Any) -> Options:
    """Two workers whatever the machine, unless a test is about what fits."""
    return Options(**{"workers": 2, "execute": EXECUTE, "limit": 30.0, "force": True, **changes})


def execute(of: Trial, beat: Any, checkpoint: Any) -> Any:
    learner = of.learner
    assert isinstance(learner, FakeLearner)
    if noted := os.environ.get("FAKE_BEGUN"):
        with Path(noted).open("a") as file:
            file.write(f"{of.key}\n")
    time.sleep(learner.sleep)
    result, trace = outcome(of)
    action = _ACTIONS.get(learner.does)
    return (action(of, result, trace, beat, checkpoint) if action else None) or (result, trace)


def _raise(*_: Any) -> None:
    raise ValueError("a trial\nthat fails")


def _hang(*_: Any) -> None:
    time.sleep(60)


def _beat(of: Trial, result: Any, trace: Any, beat: Any, checkpoint: Any) -> None:
    """Longer than the limit, with progress all the time."""
    for step in range(30):
        beat(step / 30)
        time.sleep(0.1)


def _steps(of: Trial, result: Any, trace: Any, beat: Any, checkpoint: Any) -> Any:
    """Two hundred steps of ten milliseconds; each is written to the file FAKE_STEPS names."""
    import numpy as np

    state = checkpoint.load() or [np.zeros(1, np.int64), np.full(3, 0.5)]
    step, numbers = int(state[0][0]), state[1]
    while step < 200:
        with Path(os.environ["FAKE_STEPS"]).open("a") as file:
            file.write(f"{step}\n")
        numbers, step = np.sin(numbers + step), step + 1
        time.sleep(0.01)
        beat(step / 200)
        checkpoint.save([np.array([step]), numbers])
    return {**result, "sum": numbers.sum()}, trace


def _print(*_: Any) -> None:
    print('{"type": "done", "key": "nonsense"}', flush=True)
    os.write(1, b"noise\n")


def _mute(*_: Any) -> None:
    """Close every file, the pipe too, and go on living."""
    os.closerange(3, 64)
    time.sleep(60)


def _doomed(*_: Any) -> None:
    """Die a moment after the trial has ended well."""
    threading.Timer(0.1, os._exit, (1,)).start()


def _dies(of: Trial, *_: Any) -> None:
    """Die by the signal FAKE_SIGNAL on the first FAKE_DEATHS tries; every try leaves a letter in a file."""
    with (Path(os.environ["FAKE_TRIES"]) / of.key).open("a+") as file:
        file.write("x")
        file.flush()
        file.seek(0)
        tries = len(file.read())
    if tries <= int(os.environ["FAKE_DEATHS"]):
        os.kill(os.getpid(), signal.Signals[os.environ["FAKE_SIGNAL"]])
        time.sleep(60)


def _grip(*_: Any) -> None:
    """Stay in compiled code that lets no other thread run, for a minute or so."""
    re.match(r"(a+)+$", "a" * 31 + "b")


def _fell(*_: Any) -> None:
    """Kill the process that started this one."""
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


def _address(*_: Any) -> None:
    raise RuntimeError(f"{object()} is no good")


_ACTIONS: dict[str, Any] = {
    "raise": _raise,
    "nan": lambda of, result, trace, *_: ({**result, "value": float("nan")}, trace),
    "inf": lambda of, result, trace, *_: ({**result, "third": float("-inf")}, trace),
    "trace": lambda of, result, trace, *_: (result, {"loss": [1.0, float("nan")]}),
    "array": lambda of, result, trace, *_: ({**result, "value": [1, 2]}, trace),
    "hang": _hang,
    "beat": _beat,
    "kill": lambda *_: os.kill(os.getpid(), signal.SIGKILL),
    "exit0": lambda *_: os._exit(0),
    "exit3": lambda *_: os._exit(3),
    "leave": lambda *_: sys.exit("no more"),
    "print": _print,
    "read": lambda *_: input(),
    "steps": _steps,
    "mute": _mute,
    "address": _address,
    "doomed": _doomed,
    "dies": _dies,
    "grip": _grip,
    "fell": _fell,
    "surrogate": lambda of, result, trace, *_: ({**result, "name": "\ud800"}, trace),
}


def begun(folder: Path, limit: float = 30.0, workers: int = 1) -> Pool:
    """A pool of our own, ready for fake trials."""
    pool = Pool()
    pool.begin(Errand(folder, limit, execute=EXECUTE), workers)
    return pool
