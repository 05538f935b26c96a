"""The list of acknowledged rows, kept outside of the database, so that the loss of a row is noticed.

One line per acknowledged row: its key, the start of its digest, the number of the attempt, and a checksum. A
line is written after the row is safe on disk and before the row is reported. A killed writer may omit the
last lines, those of one transaction, or half of one; the next writer adds what is missing. Lines are not
synced one by one: a loss of power may take the latest, and the loss of their rows would then go unnoticed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from whyconv.runner.folder import as_user_error, open_plain, write_whole

FILE = "acknowledged"
LONGEST = 100
"""No line has more bytes; a longer unfinished one is damage, not a line that a kill cut short."""

Form = tuple[str, int]
"""The digest of a row and the attempt it came from, which is higher for the later of two forms."""


def line(key: str, form: Form) -> str:
    """
    >>> line("ab", ("0123456789abcdef0123", 2))
    'ab 0123456789abcdef 2 1183afe4\\n'
    """
    content = f"{key} {form[0][:16]} {form[1]}"
    return f"{content} {hashlib.sha256(content.encode()).hexdigest()[:8]}\n"


class Acknowledged:
    """A folder's list: the form in which each row was last acknowledged, by key."""

    def __init__(self, folder: Path) -> None:
        self.latest: dict[str, Form] = {}
        self.damaged = 0
        """Unreadable lines, without an unfinished last line, which a kill may leave."""
        self.torn = False
        self.there = os.path.lexists(folder / FILE)
        if not self.there:
            return
        with as_user_error(folder), open(open_plain(folder / FILE, os.O_RDONLY), "rb") as file:
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
        """The keys of acknowledged rows that are missing here, or present in an earlier form only.

        A row of a later attempt than acknowledged is good: its writer was killed before the acknowledgement.
        """
        return {
            key
            for key, (start, attempt) in self.latest.items()
            if key not in forms or (forms[key][0][:16] != start and forms[key][1] < attempt)
        }


def rewrite(folder: Path, forms: Mapping[str, Form]) -> None:
    write_whole(folder / FILE, "".join(line(key, form) for key, form in forms.items()).encode())


class Writer:
    """Appends to a folder's list."""

    def __init__(self, folder: Path) -> None:
        with as_user_error(folder):
            self._fd = open_plain(folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def add(self, forms: Mapping[str, Form] | Iterable[tuple[str, Form]]) -> None:
        data = "".join(line(key, form) for key, form in dict(forms).items()).encode()
        while data:
            data = data[os.write(self._fd, data) :]

    def close(self) -> None:
        os.fsync(self._fd)
        os.close(self._fd)
