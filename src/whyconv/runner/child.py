"""One worker process: the pipes to it, its current job, and how it ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from whyconv import system
from whyconv.runner.backlog import Job

_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.readline() or sys.exit()); "
    "from whyconv.runner.worker import serve; serve()"
)


class Child:
    """A process that was sent ``greeting`` and runs one job at a time; ``now`` is the pool's clock."""

    def __init__(self, greeting: bytes, environ: Mapping[str, str], log: int, now: float) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environ,
            bufsize=0,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._input, self.output = self.process.stdin, self.process.stdout
        os.set_blocking(self.output.fileno(), False)
        self._rest = b""
        self.silenced = False
        self.killed_from_outside = False
        self.ready = False
        self.environment: Mapping[str, Any] = {}
        self.job: Job | None = None
        self.begun = False
        """Whether it has reported progress on its current or last job."""
        self.fraction = 0.0
        self.since = self.heard = now
        self._write(greeting)

    def take(self, job: Job, now: float) -> bool:
        """Hand over a job; False if the process has died."""
        if not self._write((json.dumps(job) + "\n").encode()):
            return False
        self.job, self.fraction, self.begun = job, 0.0, False
        self.since = self.heard = now
        return True

    @property
    def key(self) -> str | None:
        return None if self.job is None else self.job["key"]

    def messages(self) -> list[dict[str, Any]]:
        while chunk := self.output.read(1 << 16):
            self._rest += chunk
        self.silenced = chunk == b""  # the end of the pipe; None means nothing more for now
        *lines, self._rest = self._rest.split(b"\n")
        return [json.loads(line) for line in lines]

    def death(self) -> str:
        """How the process ended; empty while it lives. One that closed its pipe counts as dead."""
        if self.silenced:
            try:
                self.process.wait(1.0)
            except subprocess.TimeoutExpired:
                return "it closed its pipe"
        code = self.process.poll()
        if code is None:
            return ""
        name = system.signal_name(code)
        self.killed_from_outside = name in system.OUTSIDE
        return f"killed by {name}" if name else f"exit code {code}"

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._input.close()
        self.output.close()

    def _write(self, data: bytes) -> bool:
        try:
            while data:
                data = data[self._input.write(data) or 0 :]
        except BrokenPipeError:
            return False
        return True
