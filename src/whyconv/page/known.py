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
        self._lock = threading.Lock()

    def add(self, row: Row) -> None:
        self.rows[row.key] = row

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
        """Read the folder if it has changed since; one that cannot be read leaves what is known."""
        with self._lock:
            if (now := self.stamp()) == self._stamp:
                return
            if not now:  # somebody has deleted the rows
                self.rows, self.asked, self._stamp = {}, [], now
                return
            try:
                with Store.read(self.folder) as store:
                    contents = store.contents()
                self.rows, self.asked = dict(contents.rows()), [run.settings for run in contents.runs()]
            except UserError:
                return
            self._stamp = self.stamp()
