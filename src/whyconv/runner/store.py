"""The store: one SQLite file of rows, which notices when a row was damaged or lost.

There is one writer, the coordinator, and any number of readers at any time. A row is on disk when
``put`` returns. While a writer is active the file is in write-ahead mode; a writer that ends
normally leaves a single plain file, which can be copied, and read from a read-only folder.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from whyconv.errors import UserError
from whyconv.runner import contents, database, journal, salvage
from whyconv.runner.contents import Contents
from whyconv.runner.folder import Lock, as_user_error, prepare, sweep
from whyconv.runner.journal import Acknowledged
from whyconv.runner.ownership import refuse_others
from whyconv.runner.salvage import Repair
from whyconv.runner.seal import environment_id, run_id, seal, sealed
from whyconv.spec import encodable, to_json

if TYPE_CHECKING:
    from whyconv.studies import Study
    from whyconv.trial import Row


class Store:
    """Rows by key. Use :meth:`open` to write and :meth:`read` to read, both as context managers."""

    def __init__(self, folder: Path, connection: sqlite3.Connection | None, lock: Lock | None = None) -> None:
        self.folder = folder
        self.found: Contents | None = None
        """The contents when it was opened for writing."""
        self.repair: Repair | None = None
        """The repair that was made then."""
        self._connection = connection
        self._lock = lock
        self._journal: journal.Writer | None = None
        self._place = _place(folder)

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open the store in ``folder`` as its only writer; folder and store are created if missing.

        A damaged store is repaired first, so that the same command always continues.
        """
        folder = Path(folder)
        prepare(folder)
        refuse_others(folder)  # before anything is changed
        lock = Lock(folder)
        try:
            with as_user_error(folder):
                found, repair = _made_whole(folder)
                store = cls(folder, database.connect_writer(folder / database.FILE), lock)
                store.found, store.repair = found, repair
                store._catch_up(found)
                return store
        except BaseException:
            lock.release()
            raise

    @classmethod
    def read(cls, folder: str | Path) -> Self:
        """Open the store in ``folder`` for reading, also while another process writes to it."""
        folder = Path(folder)
        if not (folder / database.FILE).is_file() and not (folder / journal.FILE).is_file():
            raise UserError(f"there is no store in {folder}; run a study into it, or name another folder.")
        refuse_others(folder)
        if not (folder / database.FILE).exists():
            return cls(folder, None)  # deleted: the list of acknowledged rows shows what was there
        with as_user_error(folder):
            try:
                return cls(folder, database.connect_reader(folder / database.FILE))
            except database.DAMAGE as error:
                if not database.is_damage(error):
                    raise
                return cls(folder, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave one plain file, unless somebody else is reading, and release the lock."""
        if self._journal is not None:
            with suppress(OSError):
                self._journal.close()
        if self._connection is not None:
            if self._lock is not None:
                with suppress(sqlite3.Error):  # a reader or a full disk: the rows are safe where they are
                    self._connection.execute("PRAGMA busy_timeout = 0")
                    self._connection.execute("PRAGMA journal_mode = DELETE")
            self._connection.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def check_in_place(self) -> None:
        """Raise if the folder was deleted, moved or replaced meanwhile."""
        if _place(self.folder) != self._place:
            raise UserError(
                f"{self.folder} was deleted or moved while it was being written; rows that are in it now are "
                "kept, later ones are not: run the same command again."
            )

    def contents(self) -> Contents:
        """All that is intact now, and what is not. Reads everything; changes nothing."""
        with as_user_error(self.folder):
            acknowledged = Acknowledged(self.folder)
            if self._connection is not None:
                found = contents.read(self._connection).compared(acknowledged, Acknowledged(self.folder))
                if not found.problems:
                    return found
            return salvage.salvaged(self.folder / database.FILE, acknowledged)

    def rows(self) -> dict[str, Row]:
        """The intact rows by key, sorted."""
        return self.contents().rows()

    def verify(self) -> list[str]:
        """What is damaged or lost, a sentence each; empty if nothing is. Reads everything."""
        return list(self.contents().sentences())

    def put(self, row: Row, seconds: float, traceback: str = "") -> str:
        """Store one row as :meth:`put_all` does; returns when the first attempt at the trial ended."""
        return self.put_all([(row, seconds, traceback)])[0]

    def put_all(self, rows: Iterable[tuple[Row, float, str]]) -> list[str]:
        """Store rows, each with its seconds and traceback, replacing older ones with their keys.

        All are on disk when this returns, or none if it raises: one transaction costs about as much as
        one row does. Returns when the first attempt at each trial ended. Rows of one transaction, and no
        others, have the same time, by which a kill between commit and acknowledgement is recognised.
        """
        firsts, forms, now = [], {}, _now("microseconds")
        with self._transaction() as connection:
            for row, seconds, traceback in rows:
                columns = seal(row)
                _insert(connection, "rows", columns)
                query = "SELECT coalesce(max(attempt), 0) + 1 FROM durations WHERE key = ?"
                (attempt,) = connection.execute(query, (row.key,)).fetchone()
                _insert(connection, "durations", sealed("durations", row.key, attempt, float(seconds), now))
                query = "SELECT finished_at FROM durations WHERE key = ? ORDER BY attempt LIMIT 1"
                firsts += connection.execute(query, (row.key,)).fetchone()
                connection.execute("DELETE FROM tracebacks WHERE key = ?", (row.key,))
                if traceback:
                    _insert(connection, "tracebacks", sealed("tracebacks", row.key, traceback))
                forms[row.key] = columns[-1], attempt
        with as_user_error(self.folder):
            assert self._journal is not None
            self._journal.add(forms)
        self.check_in_place()
        return firsts

    def record_environment(self, description: Mapping[str, Any]) -> str:
        """Store the description of an environment; returns its id."""
        text = to_json(description)
        name = environment_id(text)
        with self._transaction() as connection:
            _insert(connection, "environments", (name, text))
        return name

    def record_run(self, study: Study, preset: str, loads: Iterable[Mapping[str, str]], command: str) -> None:
        """Record that a study is run into this store, now and with these settings."""
        settings = to_json(study.canonical())
        identity, now = run_id(study.name, preset, settings), _now()
        with self._transaction() as connection:
            known = connection.execute("SELECT first FROM runs WHERE id = ?", (identity,)).fetchone()
            first = known[0] if known and known[0] else now
            files, text = to_json([dict(each) for each in loads]), encodable(command)
            values = (identity, study.name, preset, settings, study.seeds, files, text, first, now)
            connection.execute(
                f"INSERT INTO runs VALUES ({', '.join('?' * 10)}) ON CONFLICT (id) DO UPDATE SET "
                "loads = excluded.loads, command = excluded.command, first = excluded.first, "
                "last = excluded.last, seeds = excluded.seeds, digest = excluded.digest",
                sealed("runs", *values),
            )

    def adopt(self, other: Contents) -> None:
        """Add the environments and the runs of another store, those that are not here yet."""
        with self._transaction() as connection:
            for table in ("environments", "runs"):
                marks = ", ".join("?" * database.width(table))
                connection.executemany(
                    f"INSERT OR IGNORE INTO {table} VALUES ({marks})", map(tuple, other.records[table])
                )

    def _catch_up(self, found: Contents) -> None:
        """List rows that were committed but not listed, because their writer was killed just then."""
        acknowledged, forms = Acknowledged(self.folder), found.forms()
        if acknowledged.damaged or acknowledged.torn:
            journal.rewrite(self.folder, forms)
            acknowledged = Acknowledged(self.folder)
        self._journal = journal.Writer(self.folder)
        self._journal.add(
            (key, (digest, attempt))
            for key, (digest, attempt) in forms.items()
            if acknowledged.latest.get(key) != (digest[:16], attempt)
        )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        assert self._connection is not None
        with as_user_error(self.folder):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise


def _made_whole(folder: Path) -> tuple[Contents, Repair | None]:
    """Ensure an intact store in the folder: a new one, the existing one, or what can be salvaged of it."""
    sweep(folder)
    file = folder / database.FILE
    acknowledged = Acknowledged(folder)
    if not file.exists() and not acknowledged.latest:
        database.make(file)
    found = _examined(file, acknowledged)
    if found is not None and not found.problems:
        salvage.forget_earlier(folder)
        problems, rows = found.sentences(), len(found.records["rows"])
        return found, Repair(problems, rows, found.lost, None) if problems else None
    repair = salvage.repair(folder)
    found = _examined(file, Acknowledged(folder))
    if found is None or found.problems:
        raise UserError(f"the store in {folder} could not be repaired; choose another folder.")
    return found, repair


def _examined(file: Path, acknowledged: Acknowledged) -> Contents | None:
    """The contents of a file; None if it is missing or SQLite cannot read it at all."""
    if not file.exists():
        return None
    try:
        with closing(database.connect_reader(file)) as connection:
            return contents.read(connection).compared(acknowledged, acknowledged)
    except database.DAMAGE as error:
        if not database.is_damage(error):
            raise
        return None


def _place(folder: Path) -> tuple[int, int] | None:
    """Device and inode of the store's file, to notice that it was replaced."""
    try:
        found = (folder / database.FILE).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _insert(connection: sqlite3.Connection, table: str, values: Iterable[Any]) -> None:
    marks = ", ".join("?" * database.width(table))
    connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", tuple(values))


def _now(timespec: str = "seconds") -> str:
    return datetime.now(UTC).isoformat(timespec=timespec)
