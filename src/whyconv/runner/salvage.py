"""Repairs a damaged store: all intact records go to a new file, and the old one is kept beside it.

A repair that is killed at any line is completed by the same call: the new file is complete before the old one
is put aside, and is found under its own name if the last step is missing.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import defaultdict
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from whyconv.runner import contents, database, journal
from whyconv.runner.carve import carved
from whyconv.runner.contents import Contents, Records
from whyconv.runner.folder import refuse_odd
from whyconv.runner.journal import Acknowledged
from whyconv.runner.seal import UNSEALED, Record
from whyconv.system import sync


@dataclass(frozen=True)
class Repair:
    """What was wrong with a store, how many rows were salvaged, which are lost, and where the old file is."""

    problems: tuple[str, ...]
    rows: int
    lost: frozenset[str]
    kept: Path | None


def salvaged(file: Path, acknowledged: Acknowledged) -> Contents:
    """Everything intact in a damaged store, and what is wrong with it. Changes nothing.

    SQLite, which knows what is current, reads a copy first; then the bytes are searched for the rest. What an
    earlier repair salvaged before it was killed is included.
    """
    read = _by_sqlite(file)
    found = carved(file)
    if _complete(file).exists():
        earlier = _by_sqlite(_complete(file))
        found = {table: [*earlier.records[table], *found[table]] for table in found}
    records: Records = {
        "rows": _rows(read, found["rows"], acknowledged),
        "runs": _first(read.records["runs"], sorted(found["runs"], key=lambda run: run[8], reverse=True), 1),
        "environments": _first(read.records["environments"], found["environments"], 1),
        "durations": _first(read.records["durations"], found["durations"], 2),
    }
    failed = {record[0] for record in records["rows"] if record[4] == "failed"}
    tracebacks = _first(read.records["tracebacks"], found["tracebacks"], 1)
    records["tracebacks"] = [record for record in tracebacks if record[0] in failed]
    lost = read.lost - {record[0] for record in records["rows"]}
    problems = list(read.problems)
    if not problems and (missed := acknowledged.missed(read.forms())):
        problems.append(f"the file: its write-ahead log is damaged or gone, and {len(missed)} rows with it.")
    return Contents(records, tuple(problems), lost).compared(acknowledged, acknowledged)


def repair(folder: Path) -> Repair:
    """Replace a damaged store by a repaired one. The caller holds the folder's lock."""
    file = folder / database.FILE
    refuse_odd(_complete(file))
    found = salvaged(file, Acknowledged(folder))
    database.make(_complete(file), found.records)
    kept = _install(file)
    journal.rewrite(folder, found.forms())
    return Repair(found.sentences(), len(found.records["rows"]), found.lost, kept)


def forget_earlier(folder: Path) -> None:
    """Remove what an unfinished repair left; the store is intact."""
    _complete(folder / database.FILE).unlink(missing_ok=True)


def _install(file: Path) -> Path | None:
    kept = _put_aside(file)
    for end in database.BESIDE:  # must not be taken for the new file's
        file.with_name(f"{file.name}{end}").unlink(missing_ok=True)
    _complete(file).replace(file)
    sync(file.parent)
    return kept


def _complete(file: Path) -> Path:
    return file.with_name(f"{file.name}.salvaged")


def _put_aside(file: Path) -> Path | None:
    """Keep the old file and its log under unused names, unless that was done before."""
    if not file.exists():
        return None
    number = 1
    while os.path.lexists(aside := file.with_name(f"{file.name}.damaged-{number}")):
        with suppress(OSError):
            if aside.samefile(file):
                break
        number += 1
    for end in ("", "-wal", "-journal"):
        source, target = file.with_name(f"{file.name}{end}"), aside.with_name(f"{aside.name}{end}")
        if source.exists() and not os.path.lexists(target):
            try:
                os.link(source, target)
            except OSError:  # a file system without hard links
                shutil.copyfile(source, target)
    return aside


def _by_sqlite(file: Path) -> Contents:
    """What SQLite can read of a copy; opening a damaged file may change it."""
    with tempfile.TemporaryDirectory(prefix="whyconv-") as place:
        copy = Path(place) / file.name
        for end in ("", "-wal", "-journal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(file.with_name(f"{file.name}{end}"), copy.with_name(f"{copy.name}{end}"))
        if not copy.exists():
            return contents.judged({}, ["the file: it is missing."])
        try:
            with closing(database.connect_reader(copy)) as connection:
                return contents.read(connection)
        except database.DAMAGE as error:
            return contents.judged({}, [f"the file: {contents.shown(error)}."])


def _rows(read: Contents, found: list[Record], acknowledged: Acknowledged) -> list[Record]:
    """One form of every row: what SQLite read, if it is newer than acknowledged; else the form acknowledged
    last; else what SQLite read, or a good one.
    """
    forms, current = defaultdict(list), read.forms()
    for record in (*read.records["rows"], *sorted(found, key=lambda record: record[4] != "ok")):
        forms[record[0]].append(record)
    chosen = []
    for key, known in forms.items():
        start, attempt = acknowledged.latest.get(key, ("", 0))
        newer = key in current and current[key][1] > attempt
        listed = next((each for each in known if each[-1][:16] == start), known[0])
        chosen.append(known[0] if newer else listed)
    return chosen


def _first(read: list[Record], found: list[Record], names: int) -> list[Record]:
    """One record per name (its first columns), preferring sealed ones, then those that SQLite read."""
    ordered = sorted((*read, *found), key=lambda record: record[-1] == UNSEALED)
    chosen: dict[Record, Record] = {}
    for record in ordered:
        chosen.setdefault(record[:names], record)
    return list(chosen.values())
