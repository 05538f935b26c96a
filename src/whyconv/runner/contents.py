"""Everything a store holds: what is intact, and a sentence for each thing that is not."""

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
    """A study that was run into a store: enough to rebuild its plan."""

    id: str
    study: str
    preset: str
    settings: Mapping[str, Any]
    """The study's canonical form; ``build("study", settings)`` returns the study."""
    seeds: int
    loads: tuple[Mapping[str, str], ...]
    """``file`` and ``digest`` of each of the user's own files, as in the fingerprints of their pieces."""
    command: str
    first: str
    last: str
    sealed: bool
    """Whether a digest covers all fields; for a run of an older whyconv it covers only the settings."""


@dataclass(frozen=True)
class Duration:
    """How long one attempt at a trial took. Kept apart from rows, which are the same on every run."""

    key: str
    attempt: int
    seconds: float
    finished_at: str


@dataclass(frozen=True)
class Contents:
    """The intact records of a store, its ``problems`` in sentences, and the keys of ``lost`` rows."""

    records: Records
    problems: tuple[str, ...] = ()
    lost: frozenset[str] = field(default=frozenset())
    listing: str = ""
    """What is wrong with the list of acknowledged rows, which is rewritten without a repair."""
    version: int = database.SCHEMA

    def sentences(self) -> tuple[str, ...]:
        """All damage, including that of the list of acknowledged rows."""
        return (*self.problems, self.listing) if self.listing else self.problems

    def compared(self, before: Acknowledged, after: Acknowledged) -> Contents:
        """The same, with the rows that are missing according to the list of acknowledged rows.

        The list read ``before`` the rows has no row that a writer added meanwhile; the list read ``after``
        them has all but those being added.
        """
        forms = self.forms()
        gone = before.missed(forms)
        missing = (
            f"row {shown(key)}: it was acknowledged, but is missing or outdated."
            for key in sorted(gone - self.lost)
        )
        problems = tuple(dict.fromkeys((*self.problems, *missing)))
        lost = (self.lost | gone) - forms.keys()
        listing = "" if self.version == 1 and not after.there else self._list_problem(after, forms)
        return replace(self, problems=problems, lost=lost, listing=listing)

    def _list_problem(self, known: Acknowledged, forms: Mapping[str, Form]) -> str:
        """What is wrong with the list of acknowledged rows, in a sentence."""
        if not known.there and forms:
            return "the list of acknowledged rows: it is missing, so lost rows would go unnoticed."
        if known.damaged:
            return f"the list of acknowledged rows: {known.damaged} of its lines cannot be read."
        unlisted = forms.keys() - known.latest
        if len(unlisted) > 1:  # a kill may leave out those of one transaction
            ends = {each.finished_at for each in self.durations() if each.key in unlisted}
            if len(ends) != 1:
                return f"the list of acknowledged rows: it lacks {len(unlisted)} stored rows."
        return ""

    def forms(self) -> dict[str, Form]:
        """Digest and attempt of each row by key; attempt 0 where it is not known."""
        attempts: dict[str, int] = {}
        for key, attempt, *_ in self.records["durations"]:
            attempts[key] = max(attempts.get(key, 0), attempt)
        return {record[0]: (record[-1], attempts.get(record[0], 0)) for record in self.records["rows"]}

    def rows(self) -> dict[str, Row]:
        """The rows by key, sorted, with the seconds of the latest attempt and the end of the first."""
        took, first = {}, {}
        for each in self.durations():
            took[each.key] = each.seconds
            first.setdefault(each.key, each.finished_at)
        rows = sorted((unseal(record) for record in self.records["rows"]), key=lambda row: row.key)
        return {
            row.key: replace(row, seconds=took.get(row.key, nan), first_at=first.get(row.key, ""))
            for row in rows
        }

    def durations(self) -> list[Duration]:
        """How long every attempt took, sorted by key and attempt."""
        return [Duration(*record[:4]) for record in sorted(self.records["durations"])]

    def environments(self) -> dict[str, dict[str, Any]]:
        """The environments that rows were computed in, by id."""
        return {name: json.loads(text) for name, text in sorted(self.records["environments"])}

    def tracebacks(self) -> dict[str, str]:
        """The tracebacks of failed trials, by key."""
        return {key: text for key, text, _ in self.records["tracebacks"]}

    def runs(self) -> list[Run]:
        """The runs, in the order of their first start."""
        return [_run(record) for record in self.records["runs"]]

    def remarks(self) -> list[str]:
        """What a reader should know beside damage."""
        remarks = []
        old = {table: sum(record[-1] == UNSEALED for record in self.records[table]) for table in SEALED_LATER}
        if any(old.values()):
            counts = ", ".join(f"{table}: {number}" for table, number in old.items() if number)
            remarks.append(
                f"Sealed in part: an older whyconv wrote {counts} without a digest over commands and times."
            )
        used = Counter(record[8] for record in self.records["rows"])
        known = self.environments()
        if nameless := sorted(used.keys() - known):
            names = ", ".join(map(shown, nameless))
            remarks.append(f"The descriptions of these environments of rows are lost: {names}.")
        return remarks + _mixed(used, known)


def _mixed(used: Counter[str], known: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """If rows come from several environments, a sentence: how many from which, and what differs."""
    if len(used) < 2:
        return []
    counts = ", ".join(f"{number} from {shown(name)}" for name, number in used.most_common())
    described = [known[name] for name in used if name in known]
    what = {name for other in described for name in differences(described[0], other)}
    why = f" ({shown(', '.join(sorted(what)), 300)} differ)" if what else ""
    return [
        f"Rows were computed in {len(used)} environments{why} and may differ in their last digits: {counts}."
    ]


def _run(record: Record) -> Run:
    name, study, preset, settings, seeds, loads, command, first, last, digest = record
    files = [{"file": each, "digest": ""} if isinstance(each, str) else each for each in json.loads(loads)]
    sealed = digest != UNSEALED
    return Run(name, study, preset, json.loads(settings), seeds, tuple(files), command, first, last, sealed)


def read(connection: sqlite3.Connection) -> Contents:
    """Read and check everything in one transaction: records by their digests, the file by SQLite's check."""
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
    """Divide records into intact ones and further ``problems``."""
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


@contextmanager
def _one_view(connection: sqlite3.Connection) -> Iterator[None]:
    """One read transaction, which does not see what a writer does meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def _noting(problems: list[str]) -> Iterator[None]:
    """Add damage of the file to ``problems``, and continue."""
    try:
        yield
    except database.DAMAGE as error:
        if not database.is_damage(error):
            raise
        problems.append(f"the file: {shown(error)}.")


def _strange(connection: sqlite3.Connection) -> list[str]:
    """Names that whyconv does not create: a view in place of a table may compute forever."""
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
        yield f"the file: it contains what whyconv does not create ({', '.join(strange[:3])})."
        return
    table, header = database.versions(connection)
    if (table, header) not in ((1, 0), (database.SCHEMA, database.SCHEMA)):
        yield "the file: its version is damaged."
    for (line,) in connection.execute("PRAGMA integrity_check").fetchall():
        if line != "ok":
            yield f"the file: {' '.join(str(line).split())}."


def _padded(table: str, record: Record) -> Record:
    """Add an empty digest to a record of the first version, which has none."""
    old = table in database.SEALED_LATER and len(record) == database.width(table) - 1
    return (*record, UNSEALED) if old else record


def _stripped(run: Record) -> Record:
    """A run without the fields that only its digest covers; the id covers its settings."""
    return (*run[:4], run[4] if isinstance(run[4], int) else 0, "[]", "", "", "", UNSEALED)


def _name(table: str, record: Record) -> str:
    """A printable name for a record that may be damaged."""
    name, study = (shown(value) for value in record[:2])
    if table == "rows":
        return f"row {name}"
    if table == "runs":
        return f"run {name} of {study}"
    return f"{table.removesuffix('s')} {name}"


def shown(value: object, most: int = 80) -> str:
    """Text from a file, made safe for a terminal: one line of printable characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(value)[:most])
