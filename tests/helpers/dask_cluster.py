"""A Dask scheduler and workers as processes of their own on this machine, ended by their ids."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

HELPERS = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "runner")]
DASK = [sys.executable, "-m", "dask"]
MARK = "WHYCONV_TEST_CLUSTER"


class Cluster:
    """A scheduler, and workers that are started and ended one by one; all carry a mark."""

    def __init__(self, room: Path, options: tuple[str, ...] = (), **variables: str) -> None:
        self.room, self.options = room, options
        self.processes: list[subprocess.Popen[bytes]] = []
        path = os.pathsep.join([*HELPERS, os.environ.get("PYTHONPATH", "")])
        self.environ = {**os.environ, "PYTHONPATH": path, MARK: str(room), **variables}
        self.environ.pop("WHYCONV_DATA", None)  # nodes have no data but what a test gives them
        self.environ["DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT"] = "10s"
        self.file = room / "scheduler.json"
        self.scheduler = self.start_scheduler()

    def start_scheduler(self, *more: str) -> subprocess.Popen[bytes]:
        self.file.unlink(missing_ok=True)
        where = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(self.file)]
        process = self.start("scheduler", *where, *self.options, *more)
        self.address = json.loads(waited(lambda: self.file.exists() and self.file.read_text()))["address"]
        return process

    def worker(
        self, threads: int = 2, *more: str, nanny: bool = False, **variables: str
    ) -> subprocess.Popen[bytes]:
        kind = "--nanny" if nanny else "--no-nanny"
        given = ["--nthreads", str(threads), "--local-directory", str(self.room), "--no-dashboard", kind]
        return self.start(
            "worker", self.address, *given, "--host", "127.0.0.1", *self.options, *more, **variables
        )

    def ready(self) -> None:
        """Wait until the scheduler has all workers; on a busy machine one takes much longer than another."""
        logs = list(self.room.glob("worker-*.log"))
        waited(lambda: all("Registered to" in log.read_text() for log in logs))

    def start(self, *words: str, **variables: str) -> subprocess.Popen[bytes]:
        with (self.room / f"{words[0]}-{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [*DASK, *words],
                env={**self.environ, **variables},
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        self.processes.append(process)
        return process

    def pids(self) -> list[int]:
        """All processes of this cluster that live, workers of ours among them."""
        return marked(MARK, str(self.room))

    def close(self) -> None:
        for process in reversed(self.processes):
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
        for process in self.processes:
            process.wait()
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def marked(name: str, value: str) -> list[int]:
    """The processes with this variable in their environment."""
    mark, found = f"{name}={value}".encode(), []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def waited(what, seconds: float = 60.0):
    """The first value of ``what()`` that is true."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return found
