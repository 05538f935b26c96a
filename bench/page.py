"""The page's speed, in a real browser: what a reader waits for, against the bars, in one run.

Needs the package playwright and Chromium. ``python bench/page.py`` on two quiet cores; exit code 1 if a bar
is missed. Without Chromium nothing is measured, and the reason is told. Every line is the worst of a few
tries, except for drawing, which is the 95th percentile.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from machine import describe
from outcome import Outcome, skipped, table, write

OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
BARS = {
    "page open (s)": 1.0,
    "known rows after a click (s)": 0.3,
    "first new point, warm (s)": 0.7,
    "first new point, cold, disk cache (s)": 3.0,
    "drawing 500 rows, 95th percentile (ms)": 50.0,
    "stopped (s)": 0.6,
    "next point after a stop (s)": 3.0,
    "first load, compressed (KB)": 400.0,
}
ROWS = 500
"""Rows that a chart must have for its drawing to count."""
TASK = "tab=break&task=bits&k=2&m=400&seeds=3"
MANY = "tab=break&task=signal&m=40&seeds=30"
"""Five networks at four sizes with 30 seeds: 600 rows."""
LONG = "tab=break&task=signal&m=320&seeds=30"
WAIT = 300_000
TRIES = 2
SETTLE = 4.0
"""Seconds for a server to load what it needs, as it does while its reader reads."""


@contextmanager
def server(out: Path) -> Iterator[tuple[str, int]]:
    """The address and the process of a page of its own."""
    words = [sys.executable, "-c", "from whyconv.cli.main import main; main()", "page", "--no-open"]
    process = subprocess.Popen([*words, "--out", str(out)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        said = process.stdout.readline().split()
        yield next(word for word in said if word.startswith("http://")), process.pid
    finally:
        process.terminate()
        process.wait(20)


def seconds(act: Callable[[], Any]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def used(parent: int) -> dict[int, int]:
    """Processor time, in ticks, of the processes that one has started (Linux)."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            words = stat.read_text().rpartition(")")[2].split()
            if int(words[1]) == parent and words[0] != "Z":
                found[int(stat.parent.name)] = int(words[11]) + int(words[12])
    return found


def at_rest(parent: int, workers: Iterable[int]) -> None:
    """Wait until these workers are gone or compute no more; new ones may start meanwhile."""
    before: dict[int, int] = {}
    ends = time.perf_counter() + WAIT / 1000
    while time.perf_counter() < ends:
        now = {pid: ticks for pid, ticks in used(parent).items() if pid in workers}
        if all(before.get(pid) == ticks for pid, ticks in now.items()):
            return
        before = now
        time.sleep(0.1)
    sys.exit("the workers never come to rest")


class Reader:
    """A tab, and what its reader does."""

    def __init__(self, browser: Any, address: str) -> None:
        self.page = browser.new_page()
        self.address = address
        self.base = ""

    def open(self, query: str = "") -> None:
        self.page.goto(f"{self.base}?{query}" if query else self.address)
        self.page.wait_for_selector("body[data-ready=yes]", timeout=WAIT)
        self.base = self.page.url.partition("?")[0]  # the page lies below a path of its own

    def until(self, expression: str) -> None:
        """Wait for an expression to be true; the page's own policy forbids to evaluate texts in it."""
        ends = time.perf_counter() + WAIT / 1000
        while not self.page.evaluate(expression):
            if time.perf_counter() > ends:
                sys.exit(f"never: {expression}")
            time.sleep(0.005)

    def points(self, more: int) -> None:
        """Wait until there are more than so many rows."""
        self.until(f"document.querySelector('#break').dataset.done > {more}")

    @property
    def done(self) -> int:
        return int(self.page.evaluate("document.querySelector('#break').dataset.done"))

    def click(self, where: str) -> None:
        self.page.click(where)

    def finish(self) -> None:
        self.until("document.querySelector('#break').ariaBusy === 'false'")

    def known(self) -> float:
        """Switch to settings whose rows are there; until their figure is drawn."""
        drawn = self.page.evaluate("performance.getEntriesByName('draw').length")

        def switch() -> None:
            self.page.evaluate("document.querySelector('#knob-permuted').click()")
            self.until("document.querySelector('.command code').textContent.includes('permuted=true')")
            self.until(f"performance.getEntriesByName('draw').length > {drawn}")

        return seconds(switch)

    def draws(self, rows: int) -> list[float]:
        """Milliseconds of every drawing with at least so many rows."""
        many = f"performance.getEntriesByName('draw').filter((each) => each.detail >= {rows})"
        return self.page.evaluate(f"{many}.map((each) => each.duration)")


def measured(browser: Any, out: Path) -> dict[str, float]:
    found: dict[str, float] = {}
    with server(out) as (address, pid):
        time.sleep(SETTLE)
        reader = Reader(browser, address)
        opened = [seconds(reader.open)]
        sizes = "performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
        found["first load, compressed (KB)"] = reader.page.evaluate(
            f"{sizes}.reduce((sum, each) => sum + each.encodedBodySize, 0) / 1000"
        )
        opened += [seconds(reader.open) for _ in range(TRIES - 1)]
        found["page open (s)"] = max(opened)
        for query in (TASK, f"{TASK}&permuted=true"):  # fills the disk cache, too
            reader.open(query)
            reader.click("#run")
            reader.finish()
        times = []
        for _ in range(TRIES):
            reader.open(TASK)
            times.append(reader.known())
        found["known rows after a click (s)"] = max(times)
        reader.open(TASK)
        times = []
        for _ in range(TRIES):
            before = reader.done
            reader.click("#more")
            times.append(seconds(lambda before=before: reader.points(before)))
            reader.finish()
        found["first new point, warm (s)"] = max(times)
        reader.open(MANY)
        reader.click("#run")
        reader.finish()
        rows = reader.done
        draws = sorted(reader.draws(ROWS))
        if not draws:
            sys.exit(f"no chart with {ROWS} rows was drawn; there are {rows} rows.")
        found["drawing 500 rows, 95th percentile (ms)"] = draws[int(0.95 * (len(draws) - 1))]
        print(f"drawn: {rows} rows; with {ROWS} or more {len(draws)} times")
        found["stopped (s)"], found["next point after a stop (s)"] = stopping(reader, pid)
    with server(out.with_name("cold")) as (address, _):
        reader = Reader(browser, address)
        reader.open()
        reader.open(TASK)
        reader.click("#run")
        found["first new point, cold, disk cache (s)"] = seconds(lambda: reader.points(0))
    return found


def stopping(reader: Reader, pid: int) -> tuple[float, float]:
    """Seconds until a stopped run's workers rest, and from then until another run has its first point."""
    stops, nexts = [], []
    for number in range(TRIES):
        reader.open(LONG)
        reader.click("#run")
        reader.points(reader.done)
        workers = list(used(pid))

        def stop(workers: list[int] = workers) -> None:
            reader.click("#stop")
            reader.finish()
            at_rest(pid, workers)

        def another(number: int = number) -> None:
            reader.open(TASK.replace("seeds=3", f"n=10&seeds={4 + number}"))
            before = reader.done
            reader.click("#run")
            reader.points(before)

        stops.append(seconds(stop))
        nexts.append(seconds(another))
        reader.finish()
    return max(stops), max(nexts)


def main() -> int:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    rows = [skipped("the page", "Chromium is not on this machine")]
    if chromium is not None:
        with tempfile.TemporaryDirectory() as room, sync_playwright() as started:
            browser = started.chromium.launch(executable_path=chromium, args=OPTIONS)
            found = measured(browser, Path(room) / "rows")
            browser.close()
        rows = [
            Outcome(name, f"<= {bar:g}", f"{found[name]:.2f}", found[name] <= bar)
            for name, bar in BARS.items()
        ]
    write("page", rows)
    print(f"{describe()}\n{table(rows)}")
    return 1 if any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
