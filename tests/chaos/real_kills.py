"""SIGKILL to runs of real trials: networks that are trained, in workers that compile and keep checkpoints."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from functools import cache
from pathlib import Path

import kills

from whyconv.runner.database import FILE
from whyconv.runner.store import Store

KILLS_A_FOLDER = 10
WORDS = ("run", "brutzkus.fig3a", "--seeds", "3", "--set", "m=[20,40]", "--set", "task.positions=4")


def command(folder: Path) -> list[str]:
    """The command line of the study into this folder."""
    return [sys.executable, "-c", "from whyconv.cli.main import main; main()", *WORDS, "--out", str(folder)]


def environ(folder: Path) -> dict[str, str]:
    """Marked, and with a checkpoint after every segment."""
    return {**os.environ, kills.MARK: str(folder), "WHYCONV_CHECKPOINT_SECONDS": "0.01"}


def finish(folder: Path) -> str:
    """The same command, to its end; what it complained of, if it did not go well."""
    done = subprocess.run(command(folder), env=environ(folder), capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr


@cache
def reference(place: Path) -> dict[str, bytes]:
    """What a run that nobody killed exports."""
    folder = place / "real-reference"
    shutil.rmtree(folder, ignore_errors=True)
    if said := finish(folder):
        raise RuntimeError(said)
    return kills.exported(folder)


def experiment(number: int, place: Path) -> Counter[str]:
    """One folder, killed at random instants and finished; see :mod:`chaos` for the counts."""
    chance = random.Random(f"real {number}")
    wanted = reference(place)
    folder = place / f"real-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    counts: Counter[str] = Counter()
    known: set[str] = set()
    for _ in range(KILLS_A_FOLDER):
        process = subprocess.Popen(
            command(folder), env=environ(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(chance.uniform(1.0, 7.0))
        running = process.poll() is None
        process.kill()
        process.wait()
        counts["real kills"] += running
        counts["processes left"] += not kills.vanished(folder)
        if (folder / FILE).exists():
            with Store.read(folder) as store:
                rows = store.rows().keys()
                counts["silent"] += bool(store.verify())
            counts["lost"] += len(known - rows)
            known = set(rows)
        if not running:
            shutil.rmtree(folder)
            known = set()
    if said := finish(folder):
        print(f"real {number}: {said}", file=sys.stderr)
        counts["unrepaired"] += 1
        return counts
    same = kills.exported(folder) == wanted
    counts["identical exports"] += same
    counts["wrong"] += not same
    counts["left behind"] += len({path.name for path in folder.iterdir()} ^ kills.LEFT)
    shutil.rmtree(folder)
    return counts
