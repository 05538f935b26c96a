"""Refuses to open files that are not stores, or stores of a newer whyconv."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from whyconv.errors import UserError
from whyconv.runner import database, journal
from whyconv.runner.carve import carved
from whyconv.runner.folder import as_user_error


def refuse_others(folder: Path) -> None:
    """Refuse a newer store and a file that whyconv did not write; accept a damaged store."""
    file = folder / database.FILE
    with as_user_error(folder):
        database.refuse_links(file)
        if not file.exists():
            return
        try:
            connection = database.connect_reader(file)
        except database.DAMAGE as error:
            if not database.is_damage(error):
                raise
            names: set[str] = set()
        else:
            try:
                names = _tables(connection)
                _refuse_newer(connection, folder)
            finally:
                connection.close()
        if not names & database.TABLES.keys() and not _traces(folder):
            raise UserError(
                f"the store in {folder} is damaged or was not written by whyconv, and nothing in it can be "
                f"salvaged; move {file.name} away, or choose another folder."
            )


def _tables(connection: sqlite3.Connection) -> set[str]:
    try:
        found = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    except database.DAMAGE:
        return set()
    return {str(name) for (name,) in found}


def _traces(folder: Path) -> bool:
    """Whether whyconv left anything in the folder or in the bytes of the file."""
    if (folder / journal.FILE).exists():
        return True
    with (folder / database.FILE).open("rb") as file:
        page = file.read(database.PAGE)
    return b"CREATE TABLE rows (" in page or any(carved(folder / database.FILE).values())


def _refuse_newer(connection: sqlite3.Connection, folder: Path) -> None:
    try:
        table, header = database.versions(connection)
    except database.DAMAGE:
        return
    if table == header and table > database.SCHEMA:
        raise UserError(
            f"the store in {folder} was written by a newer whyconv (store version {table}, this one reads "
            f"{database.SCHEMA}); update whyconv or choose another folder."
        )
