"""All that a store holds: what is intact, and a sentence for each thing that is not."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any

from whyconv.runner import database
from whyconv.runner.database import SEALED_LATER
from whyconv.runner.environment import differences
from whyconv.runner.journal import Acknowledged, Form
from whyconv.runner.seal import UNSEALED, Record, complaint, unseal
from whyconv.trial import Row

Records = dict[str, list[Record]]
"""Intact records by table, as they are stored."""


@dataclass(frozen=True)
class Run:
    """A study that was run into a store: enough to make its plan again."""

    id: str
    study: str
    preset: str
    settings: Mapping[str, Any]
    """The study's canonical form; ``build("study", settings)`` gives the study back."""
    seeds: int
    loads: tuple[Mapping[str, str], ...]
    """The user's own files of pieces: ``file`` and ``digest`` of each, as in the pieces' fingerprints."""
    command: str
    first: str
    last: str
    sealed: bool
    """Whether all of this is as it was written; for a run of an older whyconv, only the settings are sure."""


@dataclass(frozen=True)
class Duration:
    """What one attempt at a trial took. Kept apart from rows, which are the same on every run."""

    key: str
    attempt: int
    seconds: float
    finished_at: str


@dataclass(frozen=True)
class Contents:
    """What is intact in a store, ``problems`` in sentences, and ``lost``: keys of rows that are gone."""

    records: Records
    problems: tuple[str, ...] = ()
    lost: frozenset[str] = field(default=frozenset())
    listing: str = ""
    """What is wrong with the list of acknowledged rows itself, which is made anew without a repair."""
    version: int = database.SCHEMA

    def sentences(self) -> tuple[str, ...]:
        """All that is damaged, the list of acknowledged rows included."""
        return (*self.problems, self.listing) if self.listing else self.problems

    def compared(self, before: Acknowledged, after: Acknowledged) -> Contents:
        """The same, and what is missing by the list of acknowledged rows.

        The list as it was before the rows were read knows of no row that a writer added meanwhile; as it was
        afterwards it knows of all but the one that is being added.
        """
        forms = self.forms()
        gone = before.missed(forms)
        said = (*self.problems, *(_missing(key) for key in sorted(gone - self.lost)))
        lost = (self.lost | gone) - forms.keys()
        listing = "" if self.version == 1 and not after.there else _list_problem(after, forms)
        return replace(self, problems=tuple(dict.fromkeys(said)), lost=lost, listing=listing)

    def forms(self) -> dict[str, Form]:
        """Digest and attempt of the rows by key; attempt 0 where that is not known."""
        attempts: dict[str, int] = {}
        for key, attempt, *_ in self.records["durations"]:
            attempts[key] = max(attempts.get(key, 0), attempt)
        return {record[0]: (record[-1], attempts.get(record[0], 0)) for record in self.records["rows"]}

    def rows(self) -> dict[str, Row]:
        """The rows by key, sorted, with what the latest attempt at each took."""
        took = {each.key: each.seconds for each in self.durations()}
        rows = sorted((unseal(record) for record in self.records["rows"]), key=lambda row: row.key)
        return {row.key: replace(row, seconds=took.get(row.key, nan)) for row in rows}

    def durations(self) -> list[Duration]:
        """What every attempt took, sorted by key and attempt."""
        return [Duration(*record[:4]) for record in sorted(self.records["durations"])]

    def environments(self) -> dict[str, dict[str, Any]]:
        """The environments that rows were computed in, by id."""
        return {name: json.loads(text) for name, text in sorted(self.records["environments"])}

    def tracebacks(self) -> dict[str, str]:
        """Where failed trials failed, by key."""
        return {key: text for key, text, _ in self.records["tracebacks"]}

    def runs(self) -> list[Run]:
        """The runs, in the order in which they were first made."""
        return [_run(record) for record in self.records["runs"]]

    def remarks(self) -> list[str]:
        """What a reader should know and is no damage."""
        said = []
        old = {table: sum(record[-1] == UNSEALED for record in self.records[table]) for table in SEALED_LATER}
        if any(old.values()):
            told = ", ".join(f"{table}: {number}" for table, number in old.items() if number)
            said.append(
                f"Sealed in part: an older whyconv wrote {told} without a digest over commands and times."
            )
        used = Counter(record[8] for record in self.records["rows"])
        known = self.environments()
        if nameless := sorted(used.keys() - known):
            said.append(
                f"What rows were computed with is no longer described: {', '.join(map(shown, nameless))}."
            )
        return said + _mixed(used, known)


def _mixed(used: Counter[str], known: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A sentence if rows come from more than one environment: how many from which, and what differs."""
    if len(used) < 2:
        return []
    told = ", ".join(f"{number} from {shown(name)}" for name, number in used.most_common())
    described = [known[name] for name in used if name in known]
    what = {each.partition(":")[0] for other in described for each in differences(described[0], other)}
    why = f" ({shown(', '.join(sorted(what)), 300)} differ)" if what else ""
    return [
        f"Rows were computed in {len(used)} environments{why}, and may differ in their last digits: {told}."
    ]


def _run(record: Record) -> Run:
    name, study, preset, settings, seeds, loads, command, first, last, digest = record
    files = [{"file": each, "digest": ""} if isinstance(each, str) else each for each in json.loads(loads)]
    sealed = digest != UNSEALED
    return Run(name, study, preset, json.loads(settings), seeds, tuple(files), command, first, last, sealed)


def read(connection: sqlite3.Connection) -> Contents:
    """Everything in one consistent view, records against their digests, the file by SQLite's own check."""
    problems: list[str] = []
    found: dict[str, list[Record]] = {}
    with _one_view(connection):
        with _noting(problems):
            problems += _of_file(connection)
        plain = not problems or not _strange(connection)
        for table in database.TABLES if plain else ():
            found[table] = []
            with _noting(problems):
                for record in connection.execute(f"SELECT * FROM {table} ORDER BY rowid"):
                    found[table].append(record)
    with suppress(*database.DAMAGE):
        return replace(judged(found, problems), version=database.versions(connection)[0])
    return judged(found, problems)


def judged(found: Mapping[str, Iterable[Record]], problems: Sequence[str]) -> Contents:
    """What is intact of these records, beside the problems that are known."""
    said = list(problems)
    intact: Records = {table: [] for table in database.TABLES}
    lost = set()
    for table, records in found.items():
        for record in records:
            whole = _padded(table, record)
            if what := complaint(table, whole):
                said.append(f"{_name(table, whole)}: {what}.")
                if table == "rows":
                    lost.add(str(whole[0]))
                elif table == "runs" and not complaint(table, stripped := _stripped(whole)):
                    intact[table].append(stripped)
            else:
                intact[table].append(whole)
    return Contents(intact, tuple(dict.fromkeys(said)), frozenset(lost))


def _list_problem(known: Acknowledged, forms: Mapping[str, Form]) -> str:
    """What is wrong with the list of acknowledged rows, in a sentence."""
    if not known.there and forms:
        return "the list of acknowledged rows: it is not here, so that rows that vanished are not missed."
    if known.damaged:
        return f"the list of acknowledged rows: {known.damaged} of its lines cannot be read."
    unlisted = len(forms.keys() - known.latest)
    if unlisted > 1:  # one may have been left out by a kill
        return f"the list of acknowledged rows: {unlisted} rows that are here are not on it."
    return ""


def _missing(key: str) -> str:
    """The sentence for a row that vanished."""
    return f"row {shown(key)}: it was acknowledged, and is not here as it was."


@contextmanager
def _one_view(connection: sqlite3.Connection) -> Iterator[None]:
    """One read transaction: what a writer does meanwhile is not seen."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def _noting(problems: list[str]) -> Iterator[None]:
    """Note that the file is damaged, and go on."""
    try:
        yield
    except database.DAMAGE as error:
        if not database.is_damage(error):
            raise
        problems.append(f"the file: {shown(error)}.")


def _strange(connection: sqlite3.Connection) -> list[str]:
    """Names of what whyconv does not make: a view in place of a table may compute for ever."""
    known = {"meta", *database.TABLES}
    return [
        shown(name)
        for kind, name in connection.execute("SELECT type, name FROM sqlite_schema")
        if not (
            (kind == "table" and name in known)
            or (kind == "index" and str(name).startswith("sqlite_autoindex_"))
        )
    ]


def _of_file(connection: sqlite3.Connection) -> Iterator[str]:
    if strange := _strange(connection):
        yield f"the file: it holds what whyconv does not make ({', '.join(strange[:3])})."
        return
    table, header = database.versions(connection)
    if (table, header) not in ((1, 0), (database.SCHEMA, database.SCHEMA)):
        yield "the file: its version is damaged."
    for (line,) in connection.execute("PRAGMA integrity_check").fetchall():
        if line != "ok":
            yield f"the file: {' '.join(str(line).split())}."


def _padded(table: str, record: Record) -> Record:
    """A record of the first version gets a place for the digest that it does not have."""
    old = table in database.SEALED_LATER and len(record) == database.width(table) - 1
    return (*record, UNSEALED) if old else record


def _stripped(run: Record) -> Record:
    """A run without what only its digest could vouch for; its settings are vouched for by its id."""
    return (*run[:4], run[4] if isinstance(run[4], int) else 0, "[]", "", "", "", UNSEALED)


def _name(table: str, record: Record) -> str:
    """What to call a record that may be damaged, in a word that a terminal can show."""
    name, study = (shown(value) for value in record[:2])
    if table == "rows":
        return f"row {name}"
    if table == "runs":
        return f"run {name} of {study}"
    return f"{table.removesuffix('s')} {name}"


def shown(value: object, most: int = 80) -> str:
    """Text from a file, fit for a terminal: one line, nothing but letters that can be seen."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(value)[:most])
