"""A Dask cluster on this machine against the local pool: what the way to another process costs.

    python bench/cluster.py [--only NAME ...] [--tiny]

Scheduler and worker (two threads) are processes of their own on loopback; the local pool has two workers.
Trials only wait (``sleep``), so every ratio is the runner's. Both sides are warm, take turns, and keep their
rows on disk, unless it says otherwise.

pace     wall time of 5 ms and of 1 s trials, cluster over local pool
rate     trivial trials per second, without the store and with it
death    seconds until all slots are busy again after a Dask worker was killed
memory   of scheduler and coordinator after 10^4 and after 10^5 trivial trials
million  10^6 trials planned and the first 10^3 of them run: seconds and memory
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

BENCH = Path(__file__).parent
sys.path[:0] = [str(BENCH.parent / "tests" / name) for name in ("helpers", "runner")]

from dask_cluster import Cluster  # noqa: E402
from runner_fakes import FakeCells, options  # noqa: E402

from machine import describe  # noqa: E402
from outcome import Outcome, table, write  # noqa: E402
from whyconv.runner.cluster.connecting import connected  # noqa: E402
from whyconv.runner.coordinator import complete  # noqa: E402
from whyconv.runner.events import Finished, Tick  # noqa: E402
from whyconv.runner.pool import Errand  # noqa: E402

SLOTS = 2
PACE = {"5 ms": (0.005, 1000, 1.25), "1 s": (1.0, 10, 1.02)}
"""Seconds per trial, trials per slot, and the ratio to stay below."""
RATES = {"without the store": 1000, "with the store": 400}
BUSY_SECONDS = 5.0
FLAT = 1.1
"""Memory after ten times as many trials, at most."""
MILLION_BYTES = 2e9


@contextmanager
def cluster(workers: int = 1, threads: int = SLOTS) -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="whyconv-bench-") as room:
        made = Cluster(Path(room))
        try:
            for _ in range(workers):
                made.worker(threads)
            yield made
        finally:
            made.close()


def study(trials: int, sleep: float = 0.0) -> FakeCells:
    """So many trials of one kind."""
    seeds = min(trials, 10_000)
    return FakeCells(places=max(1, trials // seeds), seeds=seeds, sleep=sleep)


def timed(chosen: FakeCells, folder: Path, place: Any = None) -> float:
    began = time.perf_counter()
    complete(chosen, folder, options(), place=place)
    return time.perf_counter() - began


def pace(tiny: bool) -> list[Outcome]:
    rows = []
    with cluster() as made, connected(made.address) as place, tempfile.TemporaryDirectory() as room:
        complete(study(20), Path(room) / "warm", options(), place=place)
        complete(study(20), Path(room) / "warm here", options())
        for name, (sleep, each, goal) in PACE.items():
            trials, ratios = SLOTS * (each // 50 + 2 if tiny else each), []
            for turn in range(2 if tiny else 3):
                there = timed(study(trials, sleep), Path(room) / f"{name} {turn} there", place)
                here = timed(study(trials, sleep), Path(room) / f"{name} {turn} here")
                ratios.append(there / here)
            value = median(ratios)
            shown = ", ".join(f"{ratio:.3f}" for ratio in ratios)
            rows.append(
                Outcome(f"{name} trials, over the pool", f"<= {goal}", f"{value:.3f}", value <= goal, shown)
            )
    return rows


def placed(place: Any, trials: int, folder: Path) -> float:
    """Trivial trials through the place alone, without plan and store."""
    folder.mkdir()
    place.begin(Errand(folder, 60.0, execute="runner_fakes:execute"), SLOTS)
    points = list(study(trials).plan({}))
    specs = [(point.trial.key, point.trial.canonical(), point.trial.program) for point in points]
    began = time.perf_counter()
    for spec in specs:
        place.submit(*spec)
    while place.unfinished:
        place.wait(0.1)
    return time.perf_counter() - began


def rate(tiny: bool) -> list[Outcome]:
    trials, rows = 200 if tiny else 10_000, []
    with cluster() as made, connected(made.address) as place, tempfile.TemporaryDirectory() as room:
        complete(study(20), Path(room) / "warm", options(), place=place)
        took = placed(place, trials, Path(room) / "bare"), timed(study(trials), Path(room) / "rows", place)
        for (name, goal), seconds in zip(RATES.items(), took, strict=True):
            value = trials / seconds
            rows.append(Outcome(f"trivial trials/s {name}", f">= {goal}", f"{value:,.0f}", value >= goal))
    return rows


def death(tiny: bool) -> list[Outcome]:
    """Two workers behind nannies; one is killed under load, and its nanny starts another.

    Trials of 3 s, since a Dask worker tells about once a second what it runs. The slot is lost when fewer
    trials run: a nanny may have another worker there before anyone sees one slot less.
    """
    with cluster(0) as made, tempfile.TemporaryDirectory() as room:
        nannies = [made.worker(1, nanny=True) for _ in range(2)]
        found: dict[str, float] = {}

        def watch(event: Any) -> None:
            now = time.monotonic()
            if isinstance(event, Finished) and event.done >= 4 and "killed" not in found:
                found["killed"] = now
                kill_worker_of(made, nannies[0].pid)
            if isinstance(event, Tick) and "killed" in found and "lost" not in found:
                fewer = min(event.standing.slots, len(event.running)) < SLOTS
                found.update({"lost": now} if fewer else {})
            elif isinstance(event, Tick) and "lost" in found and "busy" not in found:
                found.update({"busy": now} if len(event.running) == SLOTS else {})

        with connected(made.address) as place:
            while place.standing().slots < SLOTS:
                place.wait(0.1)
            complete(study(16 if tiny else 24, 3.0), Path(room) / "rows", options(), watch, place)
    seconds = found.get("busy", float("inf")) - found["killed"]
    return [
        Outcome(
            "s until all slots are busy again",
            f"<= {BUSY_SECONDS:g}",
            f"{seconds:.1f}",
            seconds <= BUSY_SECONDS,
        )
    ]


def kill_worker_of(made: Cluster, nanny: int) -> None:
    for pid in made.pids():
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        if int(stat[1]) == nanny and b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, 9)


def resident(pid: int) -> float:
    """Megabytes that a process holds now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def memory(tiny: bool) -> list[Outcome]:
    """Each size by a coordinator of its own and a scheduler of its own."""
    sizes, held = (400, 4000) if tiny else (10_000, 100_000), []
    for trials in sizes:
        with cluster() as made:
            told = alone("run", str(trials), made.address)
            held.append((resident(made.scheduler.pid), told["held"], trials / told["seconds"]))
    rows = []
    for at, who in enumerate(("scheduler", "coordinator")):
        small, large = (each[at] for each in held)
        shown = f"{small:.0f} MB after {sizes[0]:,} trials, {large:.0f} MB after {sizes[1]:,}"
        ratio = large / small
        rows.append(Outcome(f"memory of the {who}", f"<= {FLAT:g}x", f"{ratio:.2f}x", ratio <= FLAT, shown))
    rows[-1] = Outcome(**{**vars(rows[-1]), "reason": f"{rows[-1].reason}; {held[-1][2]:,.0f} trials/s"})
    return rows


def million(tiny: bool) -> list[Outcome]:
    trials = 20_000 if tiny else 1_000_000
    with cluster() as made:
        told = alone("first", str(trials), made.address)
    met = told["peak"] * 1e6 < MILLION_BYTES
    shown = f"{told['seconds']:.1f} s until {told['rows']:,} rows were kept"
    return [Outcome(f"{trials:,} planned", "< 2 GB", f"{told['peak']:,.0f} MB", met, shown)]


def alone(what: str, trials: str, address: str) -> dict[str, float]:
    """A coordinator in a process of its own."""
    words = [sys.executable, str(Path(__file__).resolve()), "--coordinate", what, trials, address]
    out = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {name: float(value) for name, value in (pair.split("=") for pair in out.split())}


class _Enough(Exception):
    pass


def coordinate(what: str, trials: int, address: str) -> None:
    """Run trials and print what it took; ``first``: end when a thousand rows are kept."""
    began, kept = time.perf_counter(), 0

    def watch(event: Any) -> None:
        nonlocal kept
        kept += isinstance(event, Finished)
        if what == "first" and kept >= 1000:
            raise _Enough

    with connected(address) as place, tempfile.TemporaryDirectory() as room:
        with suppress(_Enough):
            complete(study(trials), Path(room) / "rows", options(force=False, workers=None), watch, place)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        seconds = time.perf_counter() - began
        print(f"held={resident(os.getpid())} peak={peak} seconds={seconds} rows={kept}")


MEASURED: dict[str, Callable[[bool], list[Outcome]]] = {
    "pace": pace, "rate": rate, "death": death, "memory": memory, "million": million,
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=MEASURED, default=list(MEASURED))
    parser.add_argument("--tiny", action="store_true", help="few trials: does it run")
    parser.add_argument("--coordinate", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.coordinate:
        what, trials, address = chosen.coordinate
        coordinate(what, int(trials), address)
        return 0
    rows: list[Outcome] = []
    for name in chosen.only:
        print(f"cluster, {name} ...", file=sys.stderr, flush=True)
        rows += MEASURED[name](chosen.tiny)
        write("cluster", rows)
    print(f"{describe()}\n{table(rows)}")
    return 1 if any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
