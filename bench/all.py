"""Every bench, one after another, and one table: goal, measured, met.

    python bench/all.py [--slow] [--only NAME ...]

Each bench is a process of its own. ``--slow`` adds PyTorch's slowest forms (compiled, dense without chunks)
and the largest sizes. Everything is appended to bench/results/DATE-PROCESSOR.json with the machine. Exits
with 1 if a goal was missed or a bench failed.
"""

from __future__ import annotations

import argparse
import json
import os
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
    "growth": ([], ["--slow"]),
    "margins": ([], []),
    "training_step": ([], []),
    "fig3a": (["--no-compiled"], []),
    "k_pattern": (["--no-slow"], []),
    "sample_complexity": (["--no-compiled", "--k", "10"], []),
    "audit": ([], []),
    "cluster": (["--only", "pace", "rate", "death"], []),
    "page": ([], []),
}
"""The arguments of each, as it is run by default and with ``--slow``."""
BESIDE_PYTORCH = ("training_step", "fig3a", "k_pattern", "sample_complexity", "audit")
"""Those that can wait for a quiet machine."""
CODES = (0, 1)
"""A bench ends with 1 if the sides differed or a goal was missed; it has then written its rows."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--slow", action="store_true", help="also PyTorch's slowest forms; an hour or so")
    parser.add_argument("--only", nargs="+", choices=BENCHES, default=list(BENCHES))
    parser.add_argument("--patience", type=float, default=0, help="minutes to wait for a quiet machine")
    chosen = parser.parse_args()
    found, failed, load = {}, False, os.getloadavg()
    for name in chosen.only:
        arguments = BENCHES[name][chosen.slow]
        if name in BESIDE_PYTORCH:
            arguments = [*arguments, "--patience", str(chosen.patience)]
        print(f"{name} ...", file=sys.stderr, flush=True)
        found[name] = run(name, arguments)
        failed |= found[name]["failed"]
    rows = [Outcome(**row) for each in found.values() for row in each["rows"]]
    file = keep({"command": sys.argv, "load": load, "slow": chosen.slow, "benches": found})
    print(f"{describe()}\n{table(rows)}\nWritten to {file}")
    return 1 if failed or any(row.met is False for row in rows) else 0


def run(name: str, arguments: list[str]) -> dict[str, Any]:
    """The rows of one bench, its seconds, and whether it failed."""
    file = BUILD / f"{name}.rows.json"
    file.unlink(missing_ok=True)
    began = time.perf_counter()
    ended = subprocess.run([sys.executable, str(BENCH / f"{name}.py"), *arguments], check=False)
    told = {"arguments": arguments, "seconds": time.perf_counter() - began, "code": ended.returncode}
    if file.exists():
        return {**told, "failed": ended.returncode not in CODES, **json.loads(file.read_text())}
    missing = ended.returncode == 2
    reason = "PyTorch is not installed; run make bench" if missing else f"it ended with {ended.returncode}"
    row = skipped(name, reason).__dict__
    return {**told, "failed": not missing, "rows": [row]}


if __name__ == "__main__":
    sys.exit(main())
