"""The machine while it is measured: its sgemm peak, and time, memory and neighbours of a process."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

SAMPLE_SECONDS = 0.2
QUIET = 0.05
"""A machine is quiet while less than this share of its processor time goes to others."""
PEAK_SIZE, PEAK_REPEATS = 3072, 8


@dataclass(frozen=True)
class Timed:
    """One finished process and its children: wall and processor seconds, largest resident memory.

    ``neighbours`` is the share of the machine's processor time that went to everybody else.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    neighbours: float


def require_torch() -> None:
    """End the program with code 2 and a sentence if PyTorch is missing."""
    if find_spec("torch") is None:
        script = Path(sys.argv[0]).name
        print(f"{script}: PyTorch is not installed; run make bench, which installs it.", file=sys.stderr)
        raise SystemExit(2)


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0))


def processor() -> str:
    """Its name, and whether it has AVX-512."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "?")
    return f"{model}{' avx512' if any(' avx512f' in line for line in lines) else ''}"


def describe() -> str:
    """Cores, processor and system in a line."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "?")
    number = next((line.partition(":")[2].strip() for line in lines if line.startswith("model\t")), "?")
    wide = "AVX-512" if any(" avx512f" in line for line in lines) else "no AVX-512"
    return f"{cores()} cores, {model} (model {number}, {wide}), {platform.system()}, no GPU used"


def sgemm_peak() -> float:
    """FLOP/s of NumPy's float32 matrix product: the best of a few.

    With all cores, or with the threads that OPENBLAS_NUM_THREADS allowed when NumPy was imported.
    """
    a, b = (np.random.default_rng(i).random((PEAK_SIZE, PEAK_SIZE), np.float32) for i in range(2))
    seconds = []
    for _ in range(PEAK_REPEATS):
        began = time.perf_counter()
        a @ b
        seconds.append(time.perf_counter() - began)
    return 2 * PEAK_SIZE**3 / min(seconds)


def wait_until_quiet(minutes: float) -> None:
    """Wait until nobody else computes, but not forever."""
    deadline = time.monotonic() + 60 * minutes
    while time.monotonic() < deadline:
        busy = _busy_seconds()
        time.sleep(2.0)
        if _busy_seconds() - busy < QUIET * 2.0 * (os.cpu_count() or 1):
            return


def timed(
    command: Sequence[str], environment: Mapping[str, str], log: Path, codes: Sequence[int] = (0,)
) -> Timed:
    """Run a command, and fail unless it ends with one of these codes; what it prints goes to ``log``."""
    busy, spent = _busy_seconds(), _child_seconds()
    began = time.perf_counter()
    with log.open("wb") as file:
        process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=file, stderr=file)
    peak = _Peak(process.pid)
    code = process.wait()
    seconds = time.perf_counter() - began
    spent = _child_seconds() - spent
    others = max(0.0, _busy_seconds() - busy - spent)
    if code not in codes:
        raise SystemExit(f"{' '.join(command)} ended with code {code}:\n{log.read_text()[-4000:]}")
    return Timed(seconds, spent, peak.stop(), others / (seconds * (os.cpu_count() or 1)))


class _Peak(threading.Thread):
    """Watches the resident memory of a process and all below it, five times a second."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid, self._largest, self._over = pid, 0, threading.Event()
        self.start()

    def run(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            self._largest = max(self._largest, sum(map(_resident, _family(self._pid))))

    def stop(self) -> int:
        self._over.set()
        self.join()
        return self._largest


def _family(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for each in found:
        for file in Path(f"/proc/{each}/task").glob("*/children"):
            try:
                found += map(int, file.read_text().split())
            except OSError:
                continue
    return found


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def _child_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _busy_seconds() -> float:
    """Processor seconds spent on anything since the machine started."""
    user, nice, system, _idle, _wait, *interrupts = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")
