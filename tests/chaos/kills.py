"""SIGKILL at random lines of runner/ and at random instants, to the coordinator and to its workers.

One experiment is a folder with a study of fake trials that is killed a few times and then finished. Nothing
acknowledged may be lost, no process may go on, the same command must finish, the exported bytes must be those
of a run that nobody killed, and nothing else may be left behind.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "runner"))

from runner_fakes import FakeGrid, options

from whyconv.runner.coordinator import complete
from whyconv.runner.database import FILE
from whyconv.runner.export import export
from whyconv.runner.store import Store

HERE = Path(__file__).parent
SEEDS = 12
KILLS_A_FOLDER = 5
MARK = "WHYCONV_CHAOS_MARK"
LEFT = {FILE, "lock", "acknowledged", "export"}


def exported(folder: Path) -> dict[str, bytes]:
    """The exported bytes, without what a run took."""
    return {path.name: path.read_bytes() for path in export(folder).paths if path.name != "durations.csv"}


def start(folder: Path, *words: object) -> subprocess.Popen[bytes]:
    """The fake study in a process of its own, marked so that what it starts can be found."""
    command = [sys.executable, str(HERE / "killed_run.py"), str(folder), str(SEEDS), *map(str, words)]
    environ = {**os.environ, MARK: str(folder)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ)


def marked(folder: Path) -> list[int]:
    """The processes that carry the folder's mark."""
    mark = f"{MARK}={folder}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@cache
def reference(place: Path) -> dict[str, bytes]:
    """What a run that nobody killed exports."""
    folder = place / f"reference-{os.getpid()}"
    complete(FakeGrid(seeds=SEEDS, sleep=0.001), folder, options(workers=2))
    return exported(folder)


@cache
def lines(place: Path, damaged: bool) -> list[tuple[str, str, int]]:
    """The lines of runner/ that a run passes, and how often; with ``damaged``, of one that repairs first."""
    folder, notes = place / f"lines-{damaged}-{os.getpid()}", place / f"lines-{damaged}-{os.getpid()}.json"
    if damaged:
        complete(FakeGrid(seeds=SEEDS, sleep=0.001), folder, options(workers=1))
        damage(folder, random.Random(0))
    process = start(folder, "note", notes)
    _, said = process.communicate()
    assert process.returncode == 0, said.decode()
    passed = json.loads(notes.read_text())
    return [(*line.split(":"), count) for line, count in sorted(passed.items())]


def damage(folder: Path, chance: random.Random) -> None:
    """Zero a page of the database, so that the next run repairs it."""
    content = bytearray((folder / FILE).read_bytes())
    page = chance.randrange(1, len(content) // 4096)
    content[4096 * page : 4096 * (page + 1)] = bytes(4096)
    (folder / FILE).write_bytes(content)


def experiment(number: int, place: Path) -> Counter[str]:
    """One folder: killed, looked at, killed again, finished. For the counts see :mod:`chaos`."""
    chance = random.Random(f"kills {number}")
    folder = place / f"kills-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    counts: Counter[str] = Counter()
    acknowledged: set[str] = set()
    repairs = number % 4 == 0
    if repairs:
        complete(FakeGrid(seeds=SEEDS, sleep=0.001), folder, options(workers=1))
    for _ in range(KILLS_A_FOLDER):
        if repairs:
            damage(folder, chance)
            acknowledged = set()  # what the damage takes is another experiment's question
        acknowledged |= _killed(folder, place, chance, repairs, counts)
        if not vanished(folder):
            counts["processes left"] += 1
        if not (folder / FILE).exists():
            counts["lost"] += len(acknowledged)
            continue
        with Store.read(folder) as store:
            counts["lost"] += len(acknowledged - store.rows().keys())
    try:
        complete(FakeGrid(seeds=SEEDS, sleep=0.001), folder, options(workers=1))
    except Exception as error:
        print(f"kills {number}: {error!r}", file=sys.stderr)
        counts["unrepaired"] += 1
        return counts
    with Store.read(folder) as store:
        counts["unrepaired"] += bool(store.verify())
    same = exported(folder) == reference(place)
    counts["identical exports"] += same
    counts["wrong"] += not same
    left = {path.name for path in folder.iterdir() if not path.name.startswith(f"{FILE}.damaged-")}
    counts["left behind"] += len(left ^ LEFT)
    shutil.rmtree(folder)
    return counts


def _killed(
    folder: Path, place: Path, chance: random.Random, repairs: bool, counts: Counter[str]
) -> set[str]:
    """Run until killed (at a line, at an instant, or a worker of it); what was acknowledged."""
    way = chance.choice(("line", "line", "line", "instant", "worker"))
    words: list[object] = []
    if way == "line":
        file, line, passed = chance.choice(lines(place, repairs))
        words = ["kill", file, line, chance.randint(1, min(passed, 20))]
    process = start(folder, *words)
    if way != "line":
        time.sleep(chance.uniform(0.2, 1.2))
        children = [each for each in marked(folder) if each != process.pid]
        victim = process.pid if way == "instant" or not children else chance.choice(children)
        try:
            os.kill(victim, signal.SIGKILL)
            counts["kills"] += victim != process.pid or process.poll() is None
        except ProcessLookupError:
            pass
        if victim != process.pid:
            time.sleep(chance.uniform(0, 0.5))
    out, said = process.communicate() if way != "worker" else _ended(process)
    counts["kills"] += way == "line" and process.returncode == -signal.SIGKILL
    if process.returncode not in (0, -signal.SIGKILL):
        print(f"{folder.name}: {said.decode()[-500:]}", file=sys.stderr)
        counts["tracebacks"] += 1
    return {line.decode() for line in out.split(b"\n")[:-1] if len(line) == 32}


def _ended(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """A run whose worker was killed goes on by itself to its end."""
    return process.communicate(timeout=120)


def vanished(folder: Path, seconds: float = 30.0) -> bool:
    """Whether all processes end; one that has just started must import first, which takes time."""
    end = time.monotonic() + seconds
    while marked(folder):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
