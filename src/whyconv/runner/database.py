"""The SQLite file of a store: its tables, and how it is created and opened."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path

from whyconv.errors import UserError
from whyconv.runner.folder import as_user_error, refuse_odd
from whyconv.runner.seal import UNSEALED, Record
from whyconv.system import sync

FILE = "whyconv.sqlite"
BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside the file while it is being written."""
SCHEMA = 2
"""Raised when an older whyconv could no longer read the tables. Stored twice, in the table ``meta`` and in
SQLite's header, so that damage to one is not mistaken for a newer version."""
PAGE = 4096

TABLES = {
    "rows": "key TEXT PRIMARY KEY, stem TEXT NOT NULL, spec TEXT NOT NULL, versions TEXT NOT NULL, "
    "status TEXT NOT NULL, result TEXT NOT NULL, trace TEXT NOT NULL, error TEXT NOT NULL, "
    "environment TEXT NOT NULL, digest TEXT NOT NULL",
    "durations": "key TEXT NOT NULL, attempt INTEGER NOT NULL, seconds REAL NOT NULL, "
    "finished_at TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (key, attempt)",
    "tracebacks": "key TEXT PRIMARY KEY, traceback TEXT NOT NULL, digest TEXT NOT NULL",
    "environments": "id TEXT PRIMARY KEY, json TEXT NOT NULL",
    "runs": "id TEXT PRIMARY KEY, study TEXT NOT NULL, preset TEXT NOT NULL, settings TEXT NOT NULL, "
    "seeds INTEGER NOT NULL, loads TEXT NOT NULL, command TEXT NOT NULL, "
    "first TEXT NOT NULL, last TEXT NOT NULL, digest TEXT NOT NULL",
}
SEALED_LATER = ("durations", "tracebacks", "runs")
"""Tables whose records have a digest since the second version."""

_TABLES = "".join(f"CREATE TABLE {name} ({columns});\n" for name, columns in TABLES.items())
_SCHEMA = f"""
PRAGMA page_size = {PAGE};
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
{_TABLES}
INSERT INTO meta VALUES ('schema', '{SCHEMA}');
PRAGMA user_version = {SCHEMA};
"""


def width(table: str) -> int:
    return TABLES[table].split(", PRIMARY KEY (")[0].count(",") + 1


def make(file: Path, records: Mapping[str, Iterable[Record]] | None = None) -> None:
    """Create a store of these records atomically: a killed process leaves all of it or nothing."""
    part = file.with_name(f"{file.name}.new")
    try:
        part.unlink(missing_ok=True)
        connection = sqlite3.connect(part, isolation_level=None)
        try:
            connection.executescript(_SCHEMA)
            fill(connection, records or {})
        finally:
            connection.close()
        sync(part)
        part.replace(file)
        sync(file.parent)
    finally:
        part.unlink(missing_ok=True)


def fill(connection: sqlite3.Connection, records: Mapping[str, Iterable[Record]]) -> None:
    connection.execute("BEGIN")
    for table, each in records.items():
        connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * width(table))})", each)
    connection.execute("COMMIT")


def connect_writer(file: Path) -> sqlite3.Connection:
    """A connection that readers do not block, and whose commits survive a loss of power.

    A store of the first version is upgraded to the columns of the second.
    """
    connection = _connect(file, "mode=rw")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")
    connection.execute("BEGIN IMMEDIATE")
    for table in SEALED_LATER:
        if len(connection.execute(f"PRAGMA table_info({table})").fetchall()) < width(table):
            connection.execute(f"ALTER TABLE {table} ADD COLUMN digest TEXT NOT NULL DEFAULT '{UNSEALED}'")
    connection.execute("UPDATE meta SET value = ? WHERE name = 'schema'", (str(SCHEMA),))
    connection.execute(f"PRAGMA user_version = {SCHEMA}")
    connection.execute("COMMIT")
    return connection


def connect_reader(file: Path) -> sqlite3.Connection:
    """A connection that cannot write.

    Read-only mode is nearly always enough. After a killed writer SQLite must first roll the file forward,
    which needs write access; in a folder without write access and without a write-ahead log the file cannot
    change and is opened as immutable.
    """
    refuse_links(file)
    modes = ["mode=ro", "mode=rw"]
    unmerged = file.with_name(f"{FILE}-wal").exists()
    if not unmerged and not os.access(file.parent, os.W_OK):
        modes.append("mode=ro&immutable=1")
    while True:
        connection = _connect(file, modes.pop(0))
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA query_only = ON")
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            return connection
        except UnicodeError:
            connection.close()
            raise
        except sqlite3.Error as error:
            connection.close()
            barred = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
            if barred and not modes and unmerged:
                raise UserError(
                    f"{file.parent} cannot be written, and its newest rows are not merged yet; "
                    "copy the folder to where you can write and use the copy."
                ) from error
            if not barred or not modes:
                raise


def refuse_links(file: Path) -> None:
    """Refuse a database, or a file that SQLite would use beside it, that is not a plain file."""
    with as_user_error(file.parent):
        for name in (file.name, *(f"{file.name}{end}" for end in BESIDE)):
            refuse_odd(file.with_name(name))


DAMAGE = (sqlite3.DatabaseError, UnicodeError)
"""What reading a damaged file may raise, among other causes; see :func:`is_damage`."""


def is_damage(error: Exception) -> bool:
    """Whether an error is about the file's content rather than the disk, permissions or other programs."""
    return isinstance(error, UnicodeError) or getattr(error, "sqlite_errorcode", 0) & 0xFF in (
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_TOOBIG,
        sqlite3.SQLITE_SCHEMA,
    )


def versions(connection: sqlite3.Connection) -> tuple[int, int]:
    """The schema version in the table ``meta`` and in the header; -1 for what cannot be read."""
    (header,) = connection.execute("PRAGMA user_version").fetchone()
    try:
        found = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
    except DAMAGE:
        found = None
    return int(found[0]) if found and str(found[0]).isdigit() else -1, header


def _connect(file: Path, mode: str) -> sqlite3.Connection:
    uri = f"{file.resolve().as_uri()}?{mode}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30)
    # Damaged text must not fail to decode: the digest then identifies the damaged record.
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection
