"""Damage to the files of a store: flipped bits, changed bytes, files cut off, zeroed ranges, damaged logs.

One experiment is a copy of a store with one damage. Every row that is given must be the one written; what is
gone must be named; the same command must finish with the bytes of an undamaged run; nothing may be silent: if
anything differs from what was written, ``verify`` says so.
"""

from __future__ import annotations

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

import kills
from runner_fakes import FakeGrid, options

from whyconv.runner.coordinator import complete
from whyconv.runner.database import FILE
from whyconv.runner.opened import open_folder
from whyconv.runner.store import Store

STUDY = FakeGrid(does=("work", "raise"), seeds=kills.SEEDS, sleep=0.001)
WAL = f"{FILE}-wal"


@cache
def finished(place: Path) -> Path:
    """A folder whose study was run to its end, and then run again by its writer into a log of its own."""
    folder = place / f"finished-{os.getpid()}"
    complete(STUDY, folder, options(workers=2))
    return folder


@cache
def interrupted(place: Path) -> Path:
    """A folder as a killed writer leaves it: most rows are in the write-ahead log."""
    folder = place / f"interrupted-{os.getpid()}"
    program = (
        "import os, signal, sys; sys.path.insert(0, sys.argv[1]); import damages\n"
        "def watch(event):\n"
        "    if getattr(event, 'done', 0) == 40: os.kill(os.getpid(), signal.SIGKILL)\n"
        "damages.complete(damages.STUDY, sys.argv[2], damages.options(workers=2), watch)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(Path(__file__).parent), str(folder)], check=False, timeout=120
    )
    assert done.returncode == -signal.SIGKILL
    time.sleep(0.5)  # workers end
    return folder


@cache
def reference(place: Path) -> dict[str, bytes]:
    """What the undamaged study exports."""
    copy = place / f"reference-damages-{os.getpid()}"
    shutil.copytree(finished(place), copy)
    return kills.exported(copy)


def flip(content: bytearray, chance: random.Random) -> None:
    """A bit, or a byte, somewhere."""
    place = chance.randrange(len(content))
    if chance.random() < 0.5:
        content[place] ^= 1 << chance.randrange(8)
    else:
        content[place] = chance.choice([value for value in range(256) if value != content[place]])


def cut(content: bytearray, chance: random.Random) -> None:
    """The end cut off, or a range of zeros."""
    place = chance.randrange(len(content))
    if chance.random() < 0.5:
        del content[place:]
    else:
        end = min(len(content), place + chance.choice((1, 64, 512, 4096, 20_000)))
        content[place:end] = bytes(end - place)


def log(content: bytearray, chance: random.Random) -> None:
    """Any damage to a log, a log that is gone (empty) included."""
    chance.choice((flip, cut, cut, lambda content, chance: content.clear()))(content, chance)


def experiment(kind: str, number: int, place: Path) -> Counter[str]:
    """One damage of a kind (flips, cuts, logs): read, repair, compare. See :mod:`chaos` for the counts."""
    chance = random.Random(f"{kind} {number}")
    counts: Counter[str] = Counter({kind: 1})
    source = interrupted(place) if kind == "logs" or chance.random() < 0.3 else finished(place)
    folder = place / f"{kind}-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    whole = open_folder(folder).contents
    names = [WAL] if kind == "logs" else _damageable(folder)
    path = folder / chance.choice(names)
    content = bytearray(path.read_bytes())
    {"flips": flip, "cuts": cut, "logs": log}[kind](content, chance)
    path.write_bytes(content)
    try:
        _read(folder, whole, counts)
        complete(STUDY, folder, options(workers=1))
        with Store.read(folder) as store:
            counts["unrepaired"] += bool(store.verify())
        same = kills.exported(folder) == reference(place)
        counts["identical exports"] += same
        counts["wrong"] += not same
    except Exception as error:
        print(f"{kind} {number} ({path.name}): {error!r}", file=sys.stderr)
        counts["unrepaired"] += 1
    shutil.rmtree(folder)
    return counts


def _damageable(folder: Path) -> list[str]:
    """The database most of the time; at times the list of acknowledged rows or what SQLite keeps beside."""
    others = [path.name for path in sorted(folder.iterdir()) if path.name != FILE and path.stat().st_size]
    return [FILE] * 4 * max(1, len(others)) + others


def _read(folder: Path, whole, counts: Counter[str]) -> None:
    """What a reader of the damaged folder gets, against what was written."""
    found = open_folder(folder)
    rows = whole.rows()
    counts["wrong"] += sum(rows.get(key) != row for key, row in found.rows.items())
    changed = any(set(found.contents.records[table]) != set(whole.records[table]) for table in whole.records)
    counts["silent"] += changed and not found.problems
    unnamed = rows.keys() - found.rows.keys() - found.contents.lost
    counts["silent"] += len(unnamed)
