"""How long an audit lets its user wait, against the goals, on two free cores.

    python bench/audit_times.py [--quick] [--only NAME ...]

Every audit is the command's own function in a process of its own with an empty cache of compiled programs,
with the minutes of its goal and two workers; times are read from its progress, from the start of the process
on: when the order test and the references were known, when the fifth round was whole, and when it ended.
Images are synthetic: a stroke of one of ten directions at a random place. At size this takes twelve minutes;
``--quick``, for tests, audits tiny data with a few seconds each, and judges nothing but the import.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from machine import cores, describe, timed
from outcome import Outcome, table, write
from whyconv.auditing.dataset import Dataset
from whyconv.auditing.planted import planted

ROUNDS, WORKERS = 5, 2
FIRST, IMPORT = 30.0, 0.3
"""Seconds to the order test and the references, and for ``import whyconv``."""
LATE = 0.1
"""An audit may end so much of its time later, and must not before unless all is decided."""
DISTURBED = 0.1
TRIES = 5
CASES = {"series": (3000, 60, 2.0), "images": (6000, 28, 8.0), "short": (200, 150, 1.0)}
"""Examples, steps (or pixels a side), and the minutes in which five rounds are to be whole."""
TINY = {"series": (90, 12, 0.15), "images": (90, 8, 0.15), "short": (80, 16, 0.15)}
OURS = """
import json, sys, time
began = time.monotonic()
from pathlib import Path
import numpy as np
from whyconv.auditing.dataset import Dataset
from whyconv.auditing.run import audit
file, out, minutes, workers = sys.argv[1:]
with np.load(file) as held:
    names = tuple(map(str, np.unique(held["y"])))
    dataset = Dataset("bench", held["x"], held["y"], names, str(held["grid"]))
told = {"first": None, "fifth": None}
def watch(progress):
    found, now = progress.result, time.monotonic() - began
    if found is None:
        return
    if told["first"] is None and found.order.verdict != "not judged" and len(found.references) == 3:
        told["first"] = now
    if told["fifth"] is None and found.rounds >= 5:
        told["fifth"] = now
found = audit(dataset, minutes=float(minutes), out=out, workers=int(workers), since=began, watch=watch)
decided = all(each.verdict != "undecided" for each in found.savings[:3])
told |= {"ended": time.monotonic() - began, "rounds": found.rounds, "decided": decided, "ahead": found.ahead}
print(json.dumps(told))
"""


def strokes(examples: int, side: int, seed: int) -> Dataset:
    """Images of noise with a stroke of a quarter of the side, in one of ten directions, anywhere."""
    chance = np.random.default_rng(seed)
    y = chance.permutation(np.arange(examples) % 10)
    x = 0.3 * chance.standard_normal((examples, side, side, 1))
    reach = side // 8
    centre = chance.integers(reach, side - reach, size=(2, examples))
    for step in np.linspace(-reach, reach, 2 * side):
        row = np.rint(centre[0] + step * np.sin(np.pi * y / 10)).astype(int)
        column = np.rint(centre[1] + step * np.cos(np.pi * y / 10)).astype(int)
        x[np.arange(examples), row, column, 0] += 0.5
    return Dataset("strokes", x.astype(np.float32), y.astype(np.int64), tuple("0123456789"), "image")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="tiny, for tests: nothing but the import is judged"
    )
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    chosen = parser.parse_args()
    rows, told = [importing()], {}
    for name in chosen.only:
        case = (TINY if chosen.quick else CASES)[name]
        told[name] = measured(name, *case)
        rows += judged(name, case[2], told[name], chosen.quick)
    write("audit_times", rows, told)
    print(f"{describe()}\n{table(rows)}")
    return 1 if any(row.met is False for row in rows) else 0


def importing() -> Outcome:
    """``import whyconv`` in a new process, its best of some tries."""
    code = "import time; t = time.perf_counter(); import whyconv; print(time.perf_counter() - t)"
    took = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(TRIES)
    ]
    return Outcome("import whyconv", f"<= {IMPORT:g} s", f"{min(took):.2f} s", min(took) <= IMPORT)


def measured(name: str, examples: int, length: int, minutes: float) -> dict[str, Any]:
    """One audit, from the start of its process; what its progress told, and how busy others were."""
    image = name == "images"
    data = strokes(examples, length, 7) if image else planted("shift", examples, length, 7, 7)
    with tempfile.TemporaryDirectory() as folder:
        file, out, log = (Path(folder) / part for part in ("data.npz", "out", "log"))
        np.savez(file, x=data.x, y=data.y, grid=data.grid)
        words = [str(file), str(out), str(minutes), str(min(WORKERS, cores()))]
        used = timed([sys.executable, "-c", OURS, *words], {"WHYCONV_CACHE": f"{folder}/cache"}, log)
        told = json.loads(log.read_text().splitlines()[-1])
    return {**told, "cpu": used.cpu_seconds, "neighbours": used.neighbours}


def judged(name: str, minutes: float, told: dict[str, Any], quick: bool = False) -> list[Outcome]:
    """First answer, fifth round and end, against the goals; not judged if others used the processors."""
    disturbed = told["neighbours"] > DISTURBED or cores() < WORKERS
    reason = "tiny" if quick else "others used the processors" if disturbed else ""
    limit = 60 * minutes
    goals = [("first answer", told["first"], FIRST), ("five rounds", told["fifth"], limit)]
    goals.append(("end", told["ended"], (1 + LATE) * limit))
    rows = []
    for what, took, goal in goals:
        measured = "never" if took is None else f"{took:.1f} s"
        met = None if reason else took is not None and took <= goal
        rows.append(Outcome(f"{name}: {what}", f"<= {goal:g} s", measured, met, reason))
    early = told["ended"] < (1 - LATE) * limit and not told["decided"] and told["rounds"] < 40
    if early and not reason:
        rows.append(Outcome(f"{name}: not before", f">= {(1 - LATE) * limit:g} s", rows[-1].measured, False))
    return rows


if __name__ == "__main__":
    sys.exit(main())
