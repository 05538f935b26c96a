"""The SQLite file of a store: its tables, how it is made, and how it is opened."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from whyconv.errors import UserError
from whyconv.runner.folder import sync, telling

FILE = "whyconv.sqlite"
SCHEMA = 1
"""Raised when an older whyconv could not make sense of the tables any more."""

_TABLES = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE rows (
    key TEXT PRIMARY KEY, stem TEXT NOT NULL, spec TEXT NOT NULL, versions TEXT NOT NULL,
    status TEXT NOT NULL, result TEXT NOT NULL, trace TEXT NOT NULL, error TEXT NOT NULL,
    environment TEXT NOT NULL, digest TEXT NOT NULL);
CREATE TABLE durations (
    key TEXT NOT NULL, attempt INTEGER NOT NULL, seconds REAL NOT NULL, finished_at TEXT NOT NULL,
    PRIMARY KEY (key, attempt));
CREATE TABLE tracebacks (key TEXT PRIMARY KEY, traceback TEXT NOT NULL);
CREATE TABLE environments (id TEXT PRIMARY KEY, json TEXT NOT NULL);
CREATE TABLE runs (
    id TEXT PRIMARY KEY, study TEXT NOT NULL, preset TEXT NOT NULL, settings TEXT NOT NULL,
    seeds INTEGER NOT NULL, loads TEXT NOT NULL, command TEXT NOT NULL,
    first TEXT NOT NULL, last TEXT NOT NULL);
INSERT INTO meta VALUES ('schema', '{SCHEMA}');
"""


def make(file: Path) -> None:
    """A new, empty store, put in place whole: a killed process leaves all of it or nothing."""
    part = file.with_name(f"{file.name}.new")
    try:
        part.unlink(missing_ok=True)
        connection = sqlite3.connect(part, isolation_level=None)
        try:
            connection.executescript(_TABLES)
        finally:
            connection.close()
        sync(part)
        part.replace(file)
        sync(file.parent)
    finally:
        part.unlink(missing_ok=True)


def connect_writer(file: Path) -> sqlite3.Connection:
    """A connection that readers do not disturb, and whose commits survive a loss of power."""
    connection = _connect(file, "mode=rw")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")
    return connection


def connect_reader(file: Path) -> sqlite3.Connection:
    """A connection that cannot write; a store of a newer schema is refused.

    Plain reading is enough nearly always. After a killed writer a repair may be due, which takes
    the right to write; in a folder where nobody can write, and nothing waits to be merged, the
    file cannot change and is read as it stands.
    """
    modes = ["mode=ro", "mode=rw"]
    unmerged = file.with_name(f"{FILE}-wal").exists()
    if not unmerged and not os.access(file.parent, os.W_OK):
        modes.append("mode=ro&immutable=1")
    with telling(file.parent):
        while True:
            connection = _connect(file, modes.pop(0))
            try:
                connection.execute("PRAGMA query_only = ON")
                check_schema(connection, file.parent)
                return connection
            except sqlite3.Error as error:
                connection.close()
                barred = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
                if barred and not modes and unmerged:
                    raise UserError(
                        f"{file.parent} cannot be written, and its newest rows wait to be merged; "
                        "copy the folder to where you can write and use the copy."
                    ) from error
                if not barred or not modes:
                    raise
            except UserError:
                connection.close()
                raise


def check_schema(connection: sqlite3.Connection, folder: Path) -> None:
    """Refuse a store that says it is newer than this code, or that does not say what it is."""
    found = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
    if found is None or not found[0].isdigit():
        raise UserError(f"the store in {folder} is damaged (it has no version); put back a copy of it.")
    if int(found[0]) > SCHEMA:
        raise UserError(
            f"the store in {folder} was written by a newer whyconv (store version {found[0]}, "
            f"this one reads {SCHEMA}); update whyconv or choose another folder."
        )


def _connect(file: Path, mode: str) -> sqlite3.Connection:
    uri = f"{file.resolve().as_uri()}?{mode}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30)
    # Damaged text must reach the digest, which then names the row, instead of failing to decode.
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection
