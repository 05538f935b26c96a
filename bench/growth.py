"""How seconds and memory grow: exponents on log-log axes with 95 % intervals, beside those they should have.

    python bench/growth.py [--slow] [--tiny]

Every point is a process of its own. Trials run by ``execution.execute``, twice: the second finds everything
compiled and is timed. Stores are filled with made rows in one transaction and read by ``Store.contents``;
reports are those of a grid study with made rows. ``EXPECTED`` was written before anything was measured. An
exponent whose interval lies above the expected one is a defect. ``--slow`` reads 10^6 rows, too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
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
"""What an interval may lie above its exponent: few points, and a floor that is not all of the overhead."""
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


def trained(point: dict[str, Any], folder: Path) -> dict[str, float]:
    """The second run of a trial in this process."""
    del folder
    from whyconv.execution import execute
    from whyconv.trial import Trial

    trial, idle = Trial.model_validate(trial_spec(point)), memory()
    execute(trial, lambda share: None, NoCheckpoint())
    began = time.perf_counter()
    execute(trial, lambda share: None, NoCheckpoint())
    return {"seconds": time.perf_counter() - began, "bytes": memory() - idle}


def ran(point: dict[str, Any], folder: Path) -> dict[str, float]:
    """``whyconv run`` with more and more seeds."""
    import whyconv

    settings = {"m": [20], "arms.ConvPool.network.channels": 4}
    call = {"preset": "quick", "set": settings, "out": folder / "run"}
    whyconv.run("bench.fig3a", seeds=1, load=Path(__file__).with_name("two_arms.py"), **call)
    idle, began = memory(), time.perf_counter()
    whyconv.run("bench.fig3a", seeds=point["trials"], **call)
    return {"seconds": time.perf_counter() - began, "bytes": memory() - idle}


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
        row = Row(trial.key, trial.stem, trial.canonical(), trial.versions(), "ok", result)
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


def stored(point: dict[str, Any], folder: Path) -> dict[str, float]:
    """All rows read and checked."""
    from whyconv.runner.store import Store

    idle, began = memory(), time.perf_counter()
    with Store.read(folder) as store:
        found = store.contents()
        rows = found.rows()
    took = time.perf_counter() - began
    assert not found.sentences(), found.sentences()[:3]
    return {"seconds": took, "bytes": memory() - idle, "rows": len(rows)}


def reported(point: dict[str, Any], folder: Path) -> dict[str, float]:
    """``whyconv report``, as it is typed."""
    page = folder / "report.html"
    began = time.perf_counter()
    command = [sys.executable, "-m", "whyconv", "report", str(folder), "--no-check"]
    if not Path(sys.modules["whyconv"].__path__[0], "__main__.py").exists():
        command[1:3] = ["-c", "from whyconv.cli.main import main; main()"]
    ended = subprocess.run(command[:-1], capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    if not page.exists():
        raise SystemExit(ended.stdout + ended.stderr)
    import resource

    peak = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {"seconds": took, "bytes": peak, "page": page.stat().st_size}


WAYS = {"trials": ran, "stored": stored, "reported": reported}


def memory() -> int:
    """The largest resident memory of this process so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def measured(point: dict[str, Any], repeats: int) -> dict[str, float]:
    """A point: the least seconds of a few processes."""
    from whyconv.runner.worker import surroundings

    found = []
    with tempfile.TemporaryDirectory() as name:
        folder, text = Path(name), json.dumps(point)
        if count := point.get("stored", point.get("reported")):
            subprocess.run([sys.executable, __file__, "--fill", str(count), name], check=True)
        for _ in range(repeats):
            environment = surroundings({**os.environ, "WHYCONV_CACHE": str(folder / "cache")})
            command = [sys.executable, __file__, "--point", text, name]
            ended = subprocess.run(
                command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
            )
            if ended.returncode:
                raise SystemExit(f"{point}: {(ended.stderr or ended.stdout)[-2000:]}")
            found.append(json.loads(ended.stdout.splitlines()[-1]))
    return min(found, key=lambda each: each["seconds"])


def slope(sizes: list[float], values: list[float]) -> tuple[float, float, float]:
    """The least-squares slope of log values on log sizes, and its 95 % t interval."""
    import numpy as np
    from scipy import stats

    x, y = np.log(sizes), np.log(np.maximum(values, 1e-9))
    if len(x) == 2:
        found = float((y[1] - y[0]) / (x[1] - x[0]))
        return found, -math.inf, math.inf
    fit = stats.linregress(x, y)
    reach = float(stats.t.ppf(0.975, len(x) - 2) * fit.stderr)
    return float(fit.slope), float(fit.slope) - reach, float(fit.slope) + reach


def judged(axis: str, points: list[dict[str, Any]], found: list[dict[str, float]]) -> list[Outcome]:
    """Seconds and memory of an axis against what they should do; a report also by its limits."""
    rows, sizes = [], [size(point, axis) for point in points]
    for quantity, expected in zip(("seconds", "bytes"), EXPECTED[axis], strict=True):
        value, low, high = slope(sizes, [each[quantity] for each in found])
        name = f"{axis}: {'memory' if quantity == 'bytes' else quantity}"
        shown = f"[{low:.2f}, {high:.2f}]"
        rows.append(Outcome(name, f"<= {expected}", f"{value:.2f}", low <= expected + SLACK, shown))
    for point, each in zip(points, found, strict=True):
        if point.get("reported") == REPORT_ROWS:
            limits = (("seconds", REPORT_SECONDS, 1, "s"), ("page", REPORT_BYTES, 1e6, "MB"))
            for key, limit, unit, word in limits:
                goal, told = f"< {limit / unit:g} {word}", f"{each[key] / unit:.1f} {word}"
                rows.append(Outcome(f"report of 10^5 rows, {key}", goal, told, each[key] < limit))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--slow", action="store_true", help="10^6 rows in a store, too")
    parser.add_argument("--tiny", action="store_true", help="two points of three axes: does it run")
    parser.add_argument("--axis", nargs="+", choices=EXPECTED)
    parser.add_argument("--repeats", type=int, default=1)
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
            found = [measured(point, chosen.repeats) for point in axes[axis]]
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
