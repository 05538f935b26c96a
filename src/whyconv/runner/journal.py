"""The list of acknowledged rows, kept outside of the database, so that a row that vanishes is missed.

One line for each row that was acknowledged: its key, the start of its digest, the number of the attempt it
came from, and a check of the line. A line is written after the row is safe on disk and before anyone is told
of it. A killed writer may leave out the last line, or half of one, and the next writer adds what is missing.
Lines do not wait for the disk one by one: a loss of power may take the latest, and their rows are not missed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from whyconv.runner.folder import open_plain, telling, write_whole

FILE = "acknowledged"
LONGEST = 100
"""Bytes of a line; more without an end is no line that a kill cut short."""

Form = tuple[str, int]
"""The digest of a row, and the attempt it came from: of two forms of a row the later one has the higher."""


def line(key: str, form: Form) -> str:
    """The line of a row.

    >>> line("ab", ("0123456789abcdef0123", 2))
    'ab 0123456789abcdef 2 1183afe4\\n'
    """
    told = f"{key} {form[0][:16]} {form[1]}"
    return f"{told} {hashlib.sha256(told.encode()).hexdigest()[:8]}\n"


class Acknowledged:
    """What a folder's list says: by key the form in which a row was last acknowledged."""

    def __init__(self, folder: Path) -> None:
        self.latest: dict[str, Form] = {}
        self.damaged = 0
        """Lines that cannot be read; a last line without an end is none, since a kill may leave it."""
        self.torn = False
        self.there = os.path.lexists(folder / FILE)
        if not self.there:
            return
        with telling(folder), open(open_plain(folder / FILE, os.O_RDONLY), "rb") as file:
            content = file.read()
        *lines, rest = content.split(b"\n")
        self.torn = bool(rest)
        self.damaged += len(rest) > LONGEST
        for each in lines:
            key, start, attempt, *_ = [*each.decode("ascii", "replace").split(" "), "", "", ""]
            form = (start, int(attempt) if attempt.isascii() and attempt.isdecimal() else 0)
            if line(key, form).encode() == each + b"\n":
                self.latest[key] = form
            else:
                self.damaged += 1

    def missed(self, forms: Mapping[str, Form]) -> set[str]:
        """The keys of acknowledged rows that are not among these, or only in an earlier form.

        A row of a later attempt than was acknowledged is good: its writer was killed just then.
        """
        return {
            key
            for key, (start, attempt) in self.latest.items()
            if key not in forms or (forms[key][0][:16] != start and forms[key][1] < attempt)
        }


def rewrite(folder: Path, forms: Mapping[str, Form]) -> None:
    """Make the list anew, whole."""
    write_whole(folder / FILE, "".join(line(key, form) for key, form in forms.items()).encode())


class Writer:
    """Appends to a folder's list."""

    def __init__(self, folder: Path) -> None:
        with telling(folder):
            self._fd = open_plain(folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def add(self, forms: Mapping[str, Form] | Iterable[tuple[str, Form]]) -> None:
        """Note rows by key."""
        data = "".join(line(key, form) for key, form in dict(forms).items()).encode()
        while data:
            data = data[os.write(self._fd, data) :]

    def close(self) -> None:
        """Have it on disk."""
        os.fsync(self._fd)
        os.close(self._fd)
