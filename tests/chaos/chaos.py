"""Kills, damages and bad inputs by the hundred: what the tests do in small, until the numbers are convincing.

    python tests/chaos/chaos.py [--state FILE] [--jobs 2] [--only KIND ...]     (the same again goes on)

Counts: *lost* acknowledged rows that are gone, *silent* damage that nobody named, *wrong* rows or exported
bytes, *unrepaired* folders on which the same command does not go on, *processes left*, files *left behind*,
*tracebacks*; all of these must be 0. *identical exports* counts the folders that ended with the right bytes,
and must be their number. Every experiment is a function of its kind and number.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import damages
import kills
import real_kills

GOALS = {"kills": 1000, "flips": 400, "cuts": 100, "logs": 150, "real kills": 50}
"""How many of each, unless ``--scale`` says otherwise."""
INPUTS = 5000
BAD = ("lost", "silent", "wrong", "unrepaired", "processes left", "left behind", "tracebacks")


def experiment(kind: str, number: int, place: str) -> tuple[str, int, Counter[str]]:
    """One experiment, in any process."""
    folder = Path(place)
    if kind == "kills":
        return kind, number, kills.experiment(number, folder)
    if kind == "real kills":
        return kind, number, real_kills.experiment(number, folder)
    return kind, number, damages.experiment(kind, number, folder)


class State:
    """What is done so far, in a file that is written whole after every experiment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        kept = json.loads(path.read_text()) if path.exists() else {}
        self.done = {kind: set(kept.get(kind, {}).get("done", [])) for kind in GOALS}
        self.counts = {kind: Counter(kept.get(kind, {}).get("counts", {})) for kind in GOALS}

    def add(self, kind: str, number: int, counts: Counter[str]) -> None:
        self.done[kind].add(number)
        self.counts[kind].update(counts)
        told = {kind: {"done": sorted(self.done[kind]), "counts": dict(self.counts[kind])} for kind in GOALS}
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(told))
        part.replace(self.path)

    def bad(self) -> list[str]:
        """What must not have happened, and did."""
        found = [
            f"{kind}: {counts[name]} {name}"
            for kind, counts in self.counts.items()
            for name in BAD
            if counts[name]
        ]
        for kind, counts in self.counts.items():
            if counts["identical exports"] != len(self.done[kind]):
                found.append(
                    f"{kind}: {counts['identical exports']} identical exports of {len(self.done[kind])}"
                )
        return found


def run(kind: str, goal: int, state: State, place: str, jobs: int) -> None:
    """Experiments of a kind until there are enough kills or damages of it."""
    todo = (number for number in range(10**9) if number not in state.done[kind])
    began, before = time.monotonic(), state.counts[kind][kind]
    with ProcessPoolExecutor(1 if kind == "real kills" else jobs) as pool:
        running = set()
        while True:
            while len(running) < jobs and state.counts[kind][kind] + len(running) < goal:
                running.add(pool.submit(experiment, kind, next(todo), place))
            if not running:
                return
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for each in ended:
                state.add(*each.result())
            done = state.counts[kind][kind]
            rate = max(done - before, 1) / (time.monotonic() - began)
            left = max(0, goal - done) / rate
            print(
                f"\r{kind}: {done} of {goal}, about {left / 60:.0f} min left ",
                end="",
                file=sys.stderr,
                flush=True,
            )


def table(state: State) -> str:
    """One line a kind: how many folders, how many kills or damages, and every count."""
    names = ("identical exports", *BAD)
    lines = [f"{'':12}{'folders':>9}{'of it':>8}" + "".join(f"{name:>19}" for name in names)]
    for kind, counts in state.counts.items():
        cells = "".join(f"{counts[name]:>19}" for name in names)
        lines.append(f"{kind:12}{len(state.done[kind]):>9}{counts[kind]:>8}{cells}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--state", type=Path, default=Path("build/chaos.json"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of experiments")
    parser.add_argument("--only", nargs="*", choices=[*GOALS, "inputs"], default=[*GOALS, "inputs"])
    given = parser.parse_args()
    given.state.parent.mkdir(parents=True, exist_ok=True)
    state = State(given.state)
    with tempfile.TemporaryDirectory(prefix="chaos-") as place:
        for kind, goal in GOALS.items():
            if kind in given.only:
                run(kind, round(goal * given.scale), state, place, given.jobs)
    print(f"\n{table(state)}")
    bad = state.bad()
    if "inputs" in given.only:
        import inputs

        found = inputs.run(round(INPUTS * given.scale), state=given.state.with_name("chaos-inputs.json"))
        print("inputs:", ", ".join(f"{number} {name}" for name, number in sorted(found["counts"].items())))
        bad += [f"inputs: {each}" for each in found["bad"]]
    print("\n".join(bad) if bad else "Nothing lost, silent, wrong or left behind.")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
