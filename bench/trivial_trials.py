"""Trials that compute nothing, from the plan to rows on disk: what the loop around trials costs.

    python bench/trivial_trials.py [--trials N]

Figure 3a's quick study with more seeds, run by ``complete`` with a warm pool, an ``execute`` that returns at
once, and a store in a temporary folder. Seconds are wall seconds of the coordinator, each counted once;
*waiting* is the time in which it had nothing to do. Workers are started before the clock is.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from growth import memory
from outcome import Outcome, table, write

TRIALS, GOAL = 10_000, 20.0
"""Trials, and the seconds that they may take."""


def nothing(*_: Any) -> tuple[dict[str, float], dict[str, Any]]:
    """A trial's result, without the work."""
    return {"test_error": 0.0}, {}


class Parts:
    """Seconds by part; a part within another one counts for itself alone."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open: list[str] = []
        self._since = 0.0

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        self._turn()
        self._open.append(name)
        try:
            yield
        finally:
            self._turn()
            self._open.pop()

    def _turn(self) -> None:
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] = self.seconds.get(self._open[-1], 0.0) + now - self._since
        self._since = now

    @contextmanager
    def watching(self, places: Mapping[tuple[Any, str], str]) -> Iterator[None]:
        """Count the calls of these functions (an owner and a name) as parts."""
        with ExitStack() as stack:
            for (owner, name), part in places.items():
                plain = getattr(owner, name)
                setattr(owner, name, self._counted(plain, part))
                stack.callback(setattr, owner, name, plain)
            yield

    def _counted(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            with self.part(part):
                return function(*arguments, **named)

        return counted


def run(trials: int, folder: Path) -> dict[str, Any]:
    """Seconds in all and by part, rows, and the memory that this process needed beside what it had."""
    from selectors import DefaultSelector

    from whyconv.runner import fit
    from whyconv.runner.coordinator import complete
    from whyconv.runner.events import Options
    from whyconv.runner.planning import Planner
    from whyconv.runner.pool import Pool
    from whyconv.runner.store import Store
    from whyconv.settings import configure

    options = Options(execute="trivial_trials:nothing")
    quick = configure("brutzkus.fig3a", "quick", {}, 1)
    complete(quick, folder / "first", options)  # workers are there, and modules loaded
    study = configure("brutzkus.fig3a", "quick", {}, -(-trials // len(quick.plan({}))))
    parts, idle, began = Parts(), memory(), time.perf_counter()
    places = {
        (Planner, "plan"): "planning",
        (fit, "workers"): "does it fit",
        (Pool, "submit"): "queueing",
        (Pool, "_hand_out"): "sending",
        (Pool, "_listen"): "receiving",
        (Store, "put_all"): "storing",
        (DefaultSelector, "select"): "waiting",
    }
    with parts.watching(places), parts.part("the rest"):
        summary = complete(study, folder / "rows", options)
    seconds = time.perf_counter() - began
    return {
        "trials": len(summary.rows), "seconds": seconds, "parts": parts.seconds,
        "bytes_per_trial": (memory() - idle) / len(summary.rows),
    }  # fmt: skip


def judged(found: Mapping[str, Any]) -> list[Outcome]:
    """The whole against its goal, which is in proportion to the trials, and the parts."""
    goal = GOAL * found["trials"] / TRIALS
    whole = f"{found['trials']:,} trivial trials, with the store"
    rows = [Outcome(whole, f"< {goal:.3g} s", f"{found['seconds']:.2f} s", found["seconds"] < goal)]
    longest = sorted(found["parts"].items(), key=lambda part: -part[1])
    parts = [Outcome(f"  {name}", "", f"{seconds:.2f} s", None) for name, seconds in longest]
    size = Outcome("  memory of a trial and its row", "", f"{found['bytes_per_trial'] / 1e3:.1f} KB", None)
    return [*rows, *parts, size]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=TRIALS)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = run(chosen.trials, Path(folder))
    rows = judged(found)
    write("trivial_trials", rows, found)
    print(table(rows))
    return 0 if rows[0].met else 1


if __name__ == "__main__":
    sys.exit(main())
