"""The rows of a folder in memory, so that a click on what is known needs no disk."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whyconv.errors import UserError
from whyconv.runner.database import FILE
from whyconv.runner.store import Store
from whyconv.trial import Row


class Known:
    """Rows by key; read again when another process has written to the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: dict[str, Row] = {}
        self.asked: list[Mapping[str, Any]] = []
        """The settings of the runs in the folder, the latest last."""
        self._stamp: tuple[tuple[int, int], ...] = ()
        self._since: dict[str, Row] = {}
        """Rows of our own since the folder was last looked at."""
        self._reading, self._changing = threading.Lock(), threading.Lock()

    def add(self, *rows: Row) -> None:
        """Rows of our own, which are on disk."""
        with self._changing:
            for row in rows:
                self.rows[row.key] = self._since[row.key] = row

    def settle(self, settings: Mapping[str, Any]) -> None:
        """What is on disk now is known here, after a run of our own."""
        self.asked.append(settings)
        self._stamp = self.stamp()

    def stamp(self) -> tuple[tuple[int, int], ...]:
        """What changes when the store does."""
        files = (self.folder / FILE, self.folder / f"{FILE}-wal")
        known = [path.stat() for path in files if path.exists()]
        return tuple((each.st_mtime_ns, each.st_size) for each in known)

    def refresh(self) -> None:
        """Read the folder if it has changed since; one that cannot be read leaves what is known.

        What is written while it is read is read the next time; what a run of ours adds meanwhile stays.
        """
        with self._reading:
            self._since = {}
            if (now := self.stamp()) == self._stamp:
                return
            try:
                rows, asked = self._read() if now else ({}, [])  # somebody has deleted the rows
            except UserError:
                return
            with self._changing:
                self.rows, self.asked, self._stamp = rows | self._since, asked, now

    def _read(self) -> tuple[dict[str, Row], list[Mapping[str, Any]]]:
        with Store.read(self.folder) as store:
            contents = store.contents()
        return dict(contents.rows()), [run.settings for run in contents.runs()]
