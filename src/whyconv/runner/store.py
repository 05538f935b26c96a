"""The store: one SQLite file that keeps rows, and notices when one of them was damaged.

There is one writer, the coordinator, and any number of readers at any time. A row is on disk when
``put`` returns. While a writer is active the file is in write-ahead mode; a writer that ends in
order leaves a single plain file behind, which can be copied, and read from a read-only folder.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from whyconv.errors import UserError
from whyconv.runner import database, environment
from whyconv.runner.folder import Lock, prepare, telling
from whyconv.runner.seal import COLUMNS, complaint, seal, unseal
from whyconv.runner.verify import problems, run_id
from whyconv.spec import to_json

if TYPE_CHECKING:
    from whyconv.studies import Study
    from whyconv.trial import Row


@dataclass(frozen=True)
class Run:
    """A study that was run into this store: enough to make its plan again."""

    id: str
    study: str
    preset: str
    settings: Mapping[str, Any]
    """The study's canonical form; ``build("study", settings)`` gives the study back."""
    seeds: int
    loads: tuple[str, ...]
    command: str
    first: str
    last: str


@dataclass(frozen=True)
class Duration:
    """What one attempt at a trial took. Kept apart from rows, which are the same on every run."""

    key: str
    attempt: int
    seconds: float
    finished_at: str


class Store:
    """Rows by key. Use :meth:`open` to write, :meth:`read` to read, and either as a context."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock: Lock | None = None) -> None:
        self.folder = folder
        self._connection = connection
        self._lock = lock

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """The store in ``folder`` for its one writer; folder and store are made if missing."""
        folder = Path(folder)
        prepare(folder)
        file = folder / database.FILE
        if file.exists():
            database.connect_reader(file).close()  # a store that is going to be refused is not touched
        lock = Lock(folder)
        try:
            with telling(folder):
                if not file.exists():
                    database.make(file)
                return cls(folder, database.connect_writer(file), lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def read(cls, folder: str | Path) -> Self:
        """The store in ``folder`` for reading, also while another process writes to it."""
        folder = Path(folder)
        file = folder / database.FILE
        if not file.is_file():
            raise UserError(f"there is no store in {folder}; run a study into it, or name another folder.")
        return cls(folder, database.connect_reader(file))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave one plain file, if nobody else is reading, and let the next writer in."""
        if self._lock is not None:
            with suppress(sqlite3.Error):  # a reader or a full disk: the rows are safe where they are
                self._connection.execute("PRAGMA busy_timeout = 0")
                self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # -- rows -----------------------------------------------------------------------------------

    def put(self, row: Row, seconds: float, traceback: str = "") -> None:
        """Keep a row, in place of an older one with its key; it is on disk when this returns."""
        columns = seal(row)
        with self._transaction() as connection:
            marks = ", ".join("?" * len(columns))
            connection.execute(f"INSERT OR REPLACE INTO rows VALUES ({marks})", columns)
            connection.execute(
                "INSERT INTO durations SELECT ?, 1 + count(*), ?, ? FROM durations WHERE key = ?",
                (row.key, seconds, _now(), row.key),
            )
            connection.execute("DELETE FROM tracebacks WHERE key = ?", (row.key,))
            if traceback:
                connection.execute("INSERT INTO tracebacks VALUES (?, ?)", (row.key, traceback))

    def load(self) -> tuple[dict[str, Row], list[str]]:
        """Every row that is intact, by key, and the keys of those that are damaged."""
        rows, damaged = {}, []
        for columns in self._select(f"SELECT {', '.join(COLUMNS)}, digest FROM rows ORDER BY key"):
            if complaint(columns):
                damaged.append(str(columns[0]))
            else:
                rows[columns[0]] = unseal(columns)
        took = self._seconds()
        return {key: replace(row, seconds=took.get(key, nan)) for key, row in rows.items()}, damaged

    def rows(self, keys: Iterable[str] | None = None) -> dict[str, Row]:
        """The rows by key, sorted: those asked for that are there, or all; a damaged one is refused."""
        found, damaged = self.load()
        wanted = {*found, *damaged} if keys is None else set(keys)
        if bad := wanted.intersection(damaged):
            raise UserError(
                f"{len(bad)} of the rows in {self.folder} are damaged, {min(bad)} among them; "
                "run their study again to replace them."
            )
        return {key: row for key, row in found.items() if key in wanted}

    def traceback(self, key: str) -> str:
        """Where the trial of this key failed, as Python told it; empty if there is nothing to tell."""
        found = self._select("SELECT traceback FROM tracebacks WHERE key = ?", key)
        return found[0][0] if found else ""

    def durations(self) -> list[Duration]:
        """What every attempt took, sorted by key and attempt."""
        query = "SELECT key, attempt, seconds, finished_at FROM durations ORDER BY key, attempt"
        return [Duration(*columns) for columns in self._select(query)]

    def _seconds(self) -> dict[str, float]:
        """What the latest attempt at each trial took, as far as it can be read: rows do not depend on it."""
        try:
            found = self._select("SELECT key, seconds FROM durations ORDER BY key, attempt")
        except UserError:
            return {}
        return {key: seconds for key, seconds in found if isinstance(seconds, float)}

    # -- what the rows came from ----------------------------------------------------------------

    def record_environment(self, description: Mapping[str, Any]) -> str:
        """Keep a description of the environment; returns the id rows refer to it by."""
        name = environment.identity(description)
        with self._transaction() as connection:
            values = (name, to_json(description))
            connection.execute("INSERT OR IGNORE INTO environments VALUES (?, ?)", values)
        return name

    def environments(self) -> dict[str, dict[str, Any]]:
        """The environments rows were computed in, by id."""
        found = self._select("SELECT id, json FROM environments ORDER BY id")
        return {name: json.loads(text) for name, text in found}

    def record_run(self, study: Study, preset: str, loads: Iterable[str], command: str) -> None:
        """Note that a study is run into this store, now and with these settings."""
        settings = to_json(study.canonical())
        identity = run_id(study.name, preset, settings)
        now = _now()
        columns = (
            identity,
            study.name,
            preset,
            settings,
            study.seeds,
            to_json(list(loads)),
            command,
            now,
            now,
        )
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
                "loads = excluded.loads, command = excluded.command, last = excluded.last",
                columns,
            )

    def runs(self) -> list[Run]:
        """The runs, in the order in which they were first made."""
        names = "id, study, preset, settings, seeds, loads, command, first, last"
        return [
            Run(name, study, preset, json.loads(settings), seeds, tuple(json.loads(loads)), *rest)
            for name, study, preset, settings, seeds, loads, *rest in self._select(
                f"SELECT {names} FROM runs ORDER BY rowid"
            )
        ]

    def verify(self) -> list[str]:
        """What is damaged, a sentence for each row or part; empty if all is well. Reads everything."""
        return problems(self._connection)

    def _select(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        with telling(self.folder):
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with telling(self.folder):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
