"""Looking for damage in everything a store holds, and naming what is damaged."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator

from whyconv.runner.seal import COLUMNS, complaint
from whyconv.spec import digest


def problems(connection: sqlite3.Connection) -> list[str]:
    """One sentence for each row or part that is damaged; empty if all is well. Reads everything."""
    found = []
    for part in (_file, _rows, _environments, _runs):
        try:
            found.extend(part(connection))
        except sqlite3.DatabaseError as error:
            found.append(f"the file: {error}.")
    return list(dict.fromkeys(found))


def run_id(study: str, preset: str, settings: str) -> str:
    """The identity of a run, from its settings as canonical JSON: the same command is the same run."""
    return digest([study, preset, settings])[:16]


def _file(connection: sqlite3.Connection) -> Iterator[str]:
    for (line,) in connection.execute("PRAGMA integrity_check").fetchall():
        if line != "ok":
            yield f"the file: {' '.join(line.split())}."


def _rows(connection: sqlite3.Connection) -> Iterator[str]:
    """Keys come from the index and rows one by one, so that one bad page does not hide the others."""
    query = f"SELECT {', '.join(COLUMNS)}, digest FROM rows WHERE rowid = ?"
    for rowid, key in connection.execute("SELECT rowid, key FROM rows ORDER BY key").fetchall():
        try:
            columns = connection.execute(query, (rowid,)).fetchone()
        except sqlite3.DatabaseError as error:
            yield f"row {key}: it cannot be read ({error})."
            continue
        if columns is None or columns[0] != key:
            yield f"row {key}: it is not where the index says."
        elif what := complaint(columns):
            yield f"row {key}: {what}."


def _environments(connection: sqlite3.Connection) -> Iterator[str]:
    for name, text in connection.execute("SELECT id, json FROM environments ORDER BY id").fetchall():
        if hashlib.sha256(text.encode()).hexdigest()[:16] != name:
            yield f"environment {name}: its description was changed."


def _runs(connection: sqlite3.Connection) -> Iterator[str]:
    query = "SELECT id, study, preset, settings FROM runs ORDER BY id"
    for name, study, preset, settings in connection.execute(query).fetchall():
        if run_id(study, preset, settings) != name:
            yield f"run {name} of {study}: its settings were changed."
