"""Brings the rows of several folders together: shards of a study that were run by several coordinators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from whyconv.errors import UserError
from whyconv.runner.contents import Contents
from whyconv.runner.store import Store
from whyconv.text import count
from whyconv.trial import Row

BATCH = 1000
"""Rows per transaction."""


@dataclass(frozen=True)
class Merged:
    """What came of a merge: rows added, rows that both had, and rows of other processors that were kept."""

    added: int
    same: int
    elsewhere: int
    total: int


def merge(target: str | Path, sources: Iterable[str | Path]) -> Merged:
    """Add the rows of ``sources`` to the folder ``target``; nothing is changed unless all of it fits.

    Every record is checked against its digest when it is read, and every row's key against its specification.
    Two rows of one key and one environment must be equal; of two environments the row of ``target`` is kept.
    A row that failed gives way to a good one.
    """
    folders = [Path(each) for each in sources]
    _require_different([Path(target), *folders])
    others = [_intact(folder) for folder in folders]
    with Store.open(target) as store:
        if store.repair is not None:
            raise UserError(
                f"{target} was damaged and has been repaired ({count(len(store.repair.lost), 'row')} lost); "
                "run its command again, then merge."
            )
        found = store.contents()
        rows, same, elsewhere = found.rows(), 0, 0
        new: dict[str, tuple[Row, str]] = {}
        origin: dict[str, Path] = {}
        for folder, contents in zip(folders, others, strict=True):
            traces = contents.tracebacks()
            for key, row in contents.rows().items():
                known = rows.get(key)
                if known is None or (known.status == "failed" and row.status == "ok"):
                    rows[key], new[key], origin[key] = row, (row, traces.get(key, "")), folder
                elif known == row or row.status == "failed":
                    same += 1
                elif known.environment != row.environment:
                    elsewhere += 1
                else:
                    raise UserError(
                        f"the row {key} of {folder} differs from the one in "
                        f"{origin.get(key, target)}, though key and environment are the same; run "
                        "whyconv verify --deep on both to find the wrong one."
                    )
        for contents in others:
            store.adopt(contents)
        pending = ((row, row.seconds, trace) for row, trace in new.values())
        for batch in _batches(pending):
            store.put_all(batch)
        return Merged(len(new), same, elsewhere, len(rows))


def _intact(folder: Path) -> Contents:
    """What a folder holds; damage is refused."""
    with Store.read(folder) as store:
        contents = store.contents()
    if problems := contents.sentences():
        raise UserError(
            f"{folder} is damaged ({count(len(problems), 'problem')}, the first: {problems[0][:200]}) and "
            "was not merged; run the command that made it again, which repairs it."
        )
    return contents


def _require_different(folders: list[Path]) -> None:
    seen: dict[Path, Path] = {}
    for folder in folders:
        if (place := folder.resolve()) in seen:
            raise UserError(f"{folder} and {seen[place]} are the same folder; name each once.")
        seen[place] = folder


def _batches(rows: Iterable[tuple[Row, float, str]]) -> Iterator[list[tuple[Row, float, str]]]:
    all_rows = iter(rows)
    while batch := list(islice(all_rows, BATCH)):
        yield batch
