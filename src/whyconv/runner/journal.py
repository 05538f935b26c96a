"""The list of acknowledged rows, kept outside of the database, so that a row that vanishes is missed.

One line for each row that was acknowledged: its key, the start of its digest, and a check of the line.
A line is written after the row is safe on disk and before anyone is told of it. A killed writer may leave
out the last line, or half of one, and the next writer adds what is missing.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from whyconv.runner.folder import open_plain, telling, write_whole

FILE = "acknowledged"


def line(key: str, digest: str) -> str:
    """The line of a row with this key and digest.

    >>> line("ab", "0123456789abcdef0123")
    'ab 0123456789abcdef 7b7ae3be\\n'
    """
    start = digest[:16]
    return f"{key} {start} {hashlib.sha256(f'{key} {start}'.encode()).hexdigest()[:8]}\n"


class Acknowledged:
    """What a folder's list says: by key the digests that were acknowledged, the latest last."""

    def __init__(self, folder: Path) -> None:
        self.digests: dict[str, list[str]] = {}
        self.damaged = 0
        """Lines that cannot be read; a last line without an end is none, since a kill may leave it."""
        self.torn = False
        if not (folder / FILE).exists():
            return
        with telling(folder), open(open_plain(folder / FILE, os.O_RDONLY), "rb") as file:
            content = file.read()
        *lines, rest = content.split(b"\n")
        self.torn = bool(rest)
        for each in lines:
            key, _, digest = each.decode("ascii", "replace").rpartition(" ")[0].partition(" ")
            if line(key, digest).encode() == each + b"\n":
                self.digests.setdefault(key, []).append(digest)
            else:
                self.damaged += 1

    def latest(self, key: str) -> str | None:
        """The start of the digest that this row had when it was last acknowledged."""
        return self.digests[key][-1] if key in self.digests else None

    def missed(self, digests: Mapping[str, str]) -> set[str]:
        """The keys of acknowledged rows that are not among these, or only in an older form.

        A row with a digest that was never acknowledged is newer: its writer was killed just then.
        """
        return {
            key
            for key, known in self.digests.items()
            if key not in digests or (digests[key][:16] in known[:-1] and digests[key][:16] != known[-1])
        }


def rewrite(folder: Path, digests: Mapping[str, str]) -> None:
    """Make the list anew, whole."""
    write_whole(folder / FILE, "".join(line(key, each) for key, each in digests.items()).encode())


class Writer:
    """Appends to a folder's list."""

    def __init__(self, folder: Path) -> None:
        with telling(folder):
            self._fd = open_plain(folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def add(self, rows: Iterable[tuple[str, str]]) -> None:
        """Note rows, as (key, digest)."""
        data = "".join(line(*row) for row in rows).encode()
        while data:
            data = data[os.write(self._fd, data) :]

    def close(self) -> None:
        """Have it on disk."""
        os.fsync(self._fd)
        os.close(self._fd)
