"""How seconds and memory grow: exponents on log-log axes with 95 % intervals, beside those they should have.

    python bench/growth.py [--slow] [--tiny] [--axis NAME ...]

Every point is a process of its own, which does its work a few times after a first that compiles. Trials run
by ``execution.execute``. Stores are filled with made rows in one transaction and read by ``Store.contents``;
reports are those of a grid study with made rows. Exponents are of processor seconds, which neighbours disturb
less; limits are of wall seconds. ``EXPECTED`` was written before anything was measured. An exponent of time
whose interval lies above the expected one is a defect, and so is one of memory that is itself above it.
``--slow`` reads 10^6 rows, too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from outcome import Outcome, skipped, table, write

EXPECTED = {
    "m": (1, 1),
    "n": (1, 1),
    "patterns 2^k": (1, 1),
    "filters, theorem's start": (0, 0),
    "filters, normal start": (1, 1),
    "images": (1, 0),
    "trials": (1, 0),
    "rows in a store": (1, 1),
    "rows in a report": (1, 1),
}
"""Exponents of seconds and of memory above that of an idle process. Samples and tables are passed through
once a step; equal filters are one with a count; images stay bytes and are fed batch by batch; a row is
written, read and drawn once."""
SLACK = 0.1
"""How far above its exponent counts as equal: few points, and caches that larger arrays leave."""
REPEATS = 3
REPORT_SECONDS, REPORT_BYTES, REPORT_ROWS = 20, 10e6, 10**5
BASE = {"n": 64, "k": 6, "q": 256, "m": 4096, "start": "theorem", "steps": 400}
AXES: dict[str, list[dict[str, Any]]] = {
    "m": [{"m": m} for m in (4096, 16384, 65536)],
    "n": [{"n": n, "m": 16384} for n in (32, 64, 128, 256)],
    "patterns 2^k": [{"k": k} for k in (8, 10, 12)],
    "filters, theorem's start": [{"q": q} for q in (10**3, 10**5, 10**7)],
    "filters, normal start": [{"q": q, "start": "normal"} for q in (1024, 4096, 16384)],
    "images": [{"images": m} for m in (2048, 8192, 32768)],
    "trials": [{"trials": count} for count in (8, 32, 128)],
    "rows in a store": [{"stored": count} for count in (10**3, 10**4, 10**5)],
    "rows in a report": [{"reported": count} for count in (10**3, 10**4, 10**5)],
}
TINY: dict[str, list[dict[str, Any]]] = {
    "m": [{"m": m, "steps": 2, "n": 16, "k": 3} for m in (64, 128)],
    "rows in a store": [{"stored": count} for count in (10, 40)],
    "rows in a report": [{"reported": count} for count in (12, 48)],
}


def size(point: dict[str, Any], axis: str) -> float:
    """Where a point lies on its axis."""
    if axis.startswith("patterns"):
        return 2 ** point["k"]
    name = "q" if axis.startswith("filters") else axis
    return point[name] if name in point else next(iter(point.values()))


def trial_spec(point: dict[str, Any]) -> dict[str, Any]:
    """The spec of a trial at a point: a CNN by gradient descent, on bits or on sequences of digits."""
    if "images" in point:
        task = {"name": "sequence", "images": "digits"}
        network = {"name": "deep-cnn", "channels": [16], "kernel": [8, 8], "stride": [8, 8]}
        learner = {"name": "gradient", "epochs": 2, "batch": 128, "tolerance": 0.0}
        return {"task": task, "network": network, "learner": learner, "m": point["images"], "seed": 0}
    from k_pattern_sizes import FULL

    at = {**BASE, **point}
    sizes = FULL.__class__(**{**FULL.__dict__, **{name: at[name] for name in "nkqm"}, "steps": at["steps"]})
    return sizes.trial(at["start"])


class NoCheckpoint:
    def load(self) -> None:
        return None

    def save(self, arrays: list[Any]) -> None:
        del arrays


def repeated(work: Callable[[int], Any], times: int = REPEATS) -> dict[str, Any]:
    """Wall and processor seconds of each of a few runs (children counted), and the memory they added."""
    idle, wall, processor = memory(), [], []
    for number in range(times):
        began, spent = time.perf_counter(), processor_seconds()
        work(number)
        wall.append(time.perf_counter() - began)
        processor.append(processor_seconds() - spent)
    return {"seconds": wall, "processor": processor, "bytes": memory() - idle}


def trained(point: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A trial in this process, after one that compiles; the memory is that of both."""
    del folder
    from whyconv.execution import execute
    from whyconv.trial import Trial

    trial, idle = Trial.model_validate(trial_spec(point)), memory()
    execute(trial, lambda share: None, NoCheckpoint())
    found = repeated(lambda _: execute(trial, lambda share: None, NoCheckpoint()))
    return {**found, "bytes": memory() - idle}


def ran(point: dict[str, Any], folder: Path) -> dict[str, Any]:
    """``whyconv.run`` with more and more seeds, in new folders, by a warm pool."""
    import whyconv
    from whyconv.runner import places

    settings = {"m": [20], "arms.ConvPool.network.channels": 4}
    call = {"preset": "quick", "set": settings, "load": Path(__file__).with_name("two_arms.py")}
    whyconv.run("bench.fig3a", seeds=2, out=folder / "first", **call)

    def runs(number: int) -> None:
        whyconv.run("bench.fig3a", seeds=point["trials"] // 2, out=folder / str(number), **call)
        places.close()  # so that the workers' seconds count

    return repeated(runs)


def filled(folder: Path, count: int) -> None:
    """A store of Figure 3a's quick study with so many rows, all made up."""
    from whyconv.runner import database, journal
    from whyconv.runner.seal import seal, sealed
    from whyconv.runner.store import Store
    from whyconv.settings import configure
    from whyconv.trial import Row

    each = len(configure("brutzkus.fig3a", "quick", {}, 1).plan({}))
    study = configure("brutzkus.fig3a", "quick", {}, max(1, count // each))
    with Store.open(folder) as store:
        store.record_run(study, "quick", [], "made up")
    rows, durations, listed = [], [], []
    for number, point in enumerate(study.plan({})):
        trial, share = point.trial, (number * 0.6180339887) % 1
        result = {"train_error": 0.0, "test_error": 0.2 * share, "epochs": 3, "stopped": "tolerance"}
        row = Row(trial.key, trial.stem, trial.canonical(), trial.versions, "ok", result)
        columns = seal(row)
        rows.append(columns)
        durations.append(sealed("durations", row.key, 1, 0.1, "2026-01-01T00:00:00+00:00"))
        listed.append(journal.line(row.key, (columns[-1], 1)))
    connection = database.connect_writer(folder / database.FILE)
    connection.execute("BEGIN")
    for name, records in (("rows", rows), ("durations", durations)):
        places = ", ".join("?" * len(records[0]))
        connection.executemany(f"INSERT INTO {name} VALUES ({places})", records)
    connection.execute("COMMIT")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    with (folder / journal.FILE).open("a") as file:
        file.writelines(listed)


def stored(point: dict[str, Any], folder: Path) -> dict[str, Any]:
    """All rows read and checked."""
    from whyconv.runner.store import Store

    def read(_: int) -> None:
        with Store.read(folder) as store:
            found = store.contents()
            assert len(found.rows()) > point["stored"] / 2 and not found.sentences(), found.sentences()[:3]

    return repeated(read)


def reported(point: dict[str, Any], folder: Path) -> dict[str, Any]:
    """``whyconv report``, as it is typed."""
    page, command = folder / "report.html", [str(Path(sys.executable).with_name("whyconv")), "report"]

    def report(_: int) -> None:
        page.unlink(missing_ok=True)
        ended = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
        if not page.exists():
            raise SystemExit(ended.stdout + ended.stderr)

    found = repeated(report, 2)
    peak = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {**found, "bytes": peak, "page": page.stat().st_size}


WAYS = {"trials": ran, "stored": stored, "reported": reported}


def memory() -> int:
    """The largest resident memory of this process so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def processor_seconds() -> float:
    """Those of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def measured(point: dict[str, Any]) -> dict[str, Any]:
    """A point, in a process of its own with an empty compilation cache."""
    from whyconv.runner.worker import surroundings

    with tempfile.TemporaryDirectory() as name:
        if count := point.get("stored", point.get("reported")):
            subprocess.run([sys.executable, __file__, "--fill", str(count), name], check=True)
        environment = surroundings({**os.environ, "WHYCONV_CACHE": str(Path(name) / "cache")})
        command = [sys.executable, __file__, "--point", json.dumps(point), name]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"{point}: {(ended.stderr or ended.stdout)[-2000:]}")
    return json.loads(ended.stdout.splitlines()[-1])


def slope(sizes: list[float], values: list[float]) -> tuple[float, float, float]:
    """The least-squares slope of log values on log sizes, and its 95 % t interval."""
    import numpy as np
    from scipy import stats

    fit = stats.linregress(np.log(sizes), np.log(np.maximum(values, 1e-9)))
    reach = float(stats.t.ppf(0.975, len(sizes) - 2) * fit.stderr) if len(sizes) > 2 else math.inf
    return float(fit.slope), float(fit.slope) - reach, float(fit.slope) + reach


def judged(axis: str, points: list[dict[str, Any]], found: list[dict[str, Any]]) -> list[Outcome]:
    """Seconds and memory of an axis against what they should do; a report also by its limits."""
    sizes, (time_goal, memory_goal) = [size(point, axis) for point in points], EXPECTED[axis]
    pairs = [(at, value) for at, each in zip(sizes, found, strict=True) for value in each["processor"]]
    value, low, high = slope([at for at, _ in pairs], [value for _, value in pairs])
    met = low <= time_goal + SLACK
    rows = [Outcome(f"{axis}: seconds", f"<= {time_goal}", f"{value:.2f}", met, f"[{low:.2f}, {high:.2f}]")]
    value, _, _ = slope(sizes, [each["bytes"] for each in found])
    met = value <= memory_goal + SLACK
    rows.append(Outcome(f"{axis}: memory", f"<= {memory_goal}", f"{value:.2f}", met))
    for point, each in zip(points, found, strict=True):
        if point.get("reported") == REPORT_ROWS:
            limits = (("seconds", REPORT_SECONDS, 1, "s"), ("page", REPORT_BYTES, 1e6, "MB"))
            for key, limit, unit, word in limits:
                least = min(each[key]) if key == "seconds" else each[key]
                goal, told = f"< {limit / unit:g} {word}", f"{least / unit:.1f} {word}"
                rows.append(Outcome(f"report of 10^5 rows, {key}", goal, told, least < limit))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--slow", action="store_true", help="10^6 rows in a store, too")
    parser.add_argument("--tiny", action="store_true", help="two points of three axes: does it run")
    parser.add_argument("--axis", nargs="+", choices=EXPECTED)
    parser.add_argument("--point", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--fill", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.fill:
        filled(Path(chosen.fill[1]), int(chosen.fill[0]))
        return 0
    if chosen.point:
        import whyconv  # noqa: F401

        point = json.loads(chosen.point[0])
        way = next((WAYS[name] for name in WAYS if name in point), trained)
        print(json.dumps(way(point, Path(chosen.point[1]))))
        return 0
    axes = dict(TINY if chosen.tiny else AXES)
    if chosen.slow:
        axes["rows in a store"] = [*axes["rows in a store"], {"stored": 10**6}]
    rows, told = [], {}
    for axis in chosen.axis or axes:
        print(f"growth, {axis} ...", file=sys.stderr, flush=True)
        try:
            found = [measured(point) for point in axes[axis]]
        except SystemExit as error:
            rows.append(skipped(axis, str(error).strip().splitlines()[-1]))
            told[axis] = str(error)
            continue
        told[axis] = [{**point, **each} for point, each in zip(axes[axis], found, strict=True)]
        rows += judged(axis, axes[axis], found)
        write("growth", rows, told)
    write("growth", rows, told)
    print(table(rows))
    return 1 if any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
