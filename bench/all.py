"""Every bench, one after another, and one table: goal, measured, met.

    python bench/all.py [--slow] [--only NAME ...] [--minutes 15]

Each bench is a process of its own. What does not end within the minutes is ended and told as skipped.
``--slow`` adds PyTorch's slowest forms (compiled, dense without chunks) and the largest sizes, and takes the
time it needs. Everything is appended to bench/results/DATE-PROCESSOR.json with the machine. Exits with 1 if a
goal was missed or a bench failed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from machine import describe
from outcome import BUILD, Outcome, keep, skipped, table

BENCH = Path(__file__).parent
BENCHES: dict[str, tuple[list[str], list[str]]] = {
    "trivial_trials": ([], []),
    "margins": ([], []),
    "training_step": ([], []),
    "fig3a": (["--no-compiled"], []),
    "k_pattern": (["--no-slow"], []),
    "sample_complexity": (["--no-compiled", "--k", "10"], []),
    "cluster": (["--only", "pace", "rate", "death"], []),
    "page": ([], []),
    "growth": ([], ["--slow"]),
    "audit_times": (["--only", "short"], []),
    "audit": ([], []),
}
"""The arguments of each, as it is run by default and with ``--slow``; the longest come last."""
BESIDE_PYTORCH = ("training_step", "fig3a", "k_pattern", "sample_complexity", "audit")
"""Those that can wait for a quiet machine."""
CODES = (0, 1)
"""A bench ends with 1 if the sides differed or a goal was missed; it has then written its rows."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--slow", action="store_true", help="also PyTorch's slowest forms; an hour or so")
    parser.add_argument("--only", nargs="+", choices=BENCHES, default=list(BENCHES))
    parser.add_argument("--patience", type=float, default=0, help="minutes to wait for a quiet machine")
    parser.add_argument("--minutes", type=float, help="for all of them; 15, or any number with --slow")
    chosen = parser.parse_args()
    found, failed, load = {}, False, os.getloadavg()
    minutes = chosen.minutes or (math.inf if chosen.slow else 15)
    ends = time.monotonic() + 60 * minutes
    for name in chosen.only:
        arguments = BENCHES[name][chosen.slow]
        if name in BESIDE_PYTORCH:
            arguments = [*arguments, "--patience", str(chosen.patience)]
        print(f"{name} ...", file=sys.stderr, flush=True)
        found[name] = run(name, arguments, ends - time.monotonic())
        failed |= found[name]["failed"]
    rows = [Outcome(**row) for each in found.values() for row in each["rows"]]
    file = keep({"command": sys.argv, "load": load, "slow": chosen.slow, "benches": found})
    print(f"{describe()}\n{table(rows)}\nWritten to {file}")
    return 1 if failed or any(row.met is False for row in rows) else 0


def run(name: str, arguments: list[str], limit: float) -> dict[str, Any]:
    """The rows of one bench, its seconds, and whether it failed; it is ended after ``limit`` seconds."""
    file = BUILD / f"{name}.rows.json"
    file.unlink(missing_ok=True)
    began = time.perf_counter()
    code = ended([sys.executable, os.path.relpath(BENCH / f"{name}.py"), *arguments], limit)
    told = {"arguments": arguments, "seconds": time.perf_counter() - began, "code": code}
    content = json.loads(file.read_text()) if file.exists() else {"rows": []}
    reason = {None: f"no time was left; run it with --only {name}", 2: "PyTorch is missing; run make bench"}
    if code is None or not file.exists():
        row = skipped(name, reason.get(code, f"it ended with {code}"))
        content["rows"].append(row.__dict__)
    return {**told, "failed": code is not None and code not in (*CODES, 2), **content}


def ended(command: list[str], limit: float) -> int | None:
    """The exit code; None if it did not end in time. Neither it nor what it started goes on then."""
    if limit <= 0:
        return None
    process = subprocess.Popen(command, start_new_session=True)
    try:
        return process.wait(None if limit == math.inf else limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
