"""Checkpoints: the state of a long trial on disk, so that a killed run resumes where it was.

A checkpoint only saves time. One that is truncated, damaged, or from another trial or environment is ignored
and the trial starts over; one that cannot be written is skipped. Rows are the same either way.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import time
from collections.abc import Container, Iterable
from contextlib import suppress
from pathlib import Path

from whyconv.errors import UserError
from whyconv.lazy import np
from whyconv.runner.folder import open_plain, write_whole

FOLDER = "checkpoints"
VARIABLE = "WHYCONV_CHECKPOINT_SECONDS"


def interval() -> float:
    """Seconds between two checkpoints of one trial: 30, or ``WHYCONV_CHECKPOINT_SECONDS``."""
    given = os.environ.get(VARIABLE, "30")
    try:
        seconds = float(given)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise UserError(f"{VARIABLE}={given} was given; give a number of seconds, 0 or more, such as 30.")
    return seconds


def sweep(folder: Path, done: Container[str]) -> None:
    """Remove checkpoints that killed processes left half-written, and those of trials that are ``done``.

    Only the store's writer may call this.
    """
    room = folder / FOLDER
    if not room.is_symlink():  # the target of a link is not ours
        for path in room.glob("*"):
            if path.suffix == ".tmp" or (path.suffix == ".npz" and path.stem in done):
                _remove(path)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


class Checkpoint:
    """The checkpoint of one trial, in the file ``path`` (``<key>.npz``).

    ``save`` may be called after every segment: it writes at most every ``every`` seconds, the
    first time ``every`` seconds after the trial began, so short trials write nothing.
    """

    def __init__(self, path: str | Path, every: float | None = None, environment: str = "") -> None:
        self.path = Path(path)
        self.environment = environment
        self.every = interval() if every is None else every
        self._written = time.monotonic()

    def load(self) -> list[np.ndarray] | None:
        """The arrays last saved, or None if there are none that can be trusted."""
        try:
            with (
                open(open_plain(self.path, os.O_RDONLY), "rb") as plain,
                np.load(plain, allow_pickle=False) as file,
            ):
                arrays = [file[f"array{i}"] for i in range(len(file.files) - 1)]
                good = file["digest"].tobytes() == self._digest(arrays)
        except Exception:  # a damaged zip fails in many ways, and all of them mean: start over
            return None
        return arrays if good else None

    def save(self, arrays: Iterable[np.ndarray]) -> None:
        """Write the arrays, if ``every`` seconds have passed."""
        if time.monotonic() - self._written < self.every:
            return
        named = {f"array{i}": np.asarray(array) for i, array in enumerate(arrays)}
        buffer = io.BytesIO()
        seal = np.frombuffer(self._digest(named.values()), np.uint8)
        np.savez(buffer, allow_pickle=False, digest=seal, **named)
        with suppress(OSError):  # a full disk must not fail a trial that needs no disk
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.path, buffer.getvalue())
        self._written = time.monotonic()

    def discard(self) -> None:
        _remove(self.path)

    def _digest(self, arrays: Iterable[np.ndarray]) -> bytes:
        """SHA-256 of the trial's key, the environment, and type, shape and bytes of every array."""
        sha = hashlib.sha256(f"{self.path.stem}|{self.environment}".encode())
        for array in arrays:
            sha.update(f"|{array.dtype.str}{array.shape}|".encode())
            sha.update(array.tobytes())
        return sha.digest()
