"""How records are written, and how damage to them is noticed.

Every record ends in a digest of its columns or is named by one. A row's key and stem are digests of its
specification, and a run's id is a digest of its settings. So a record that was damaged, or replaced by
another, is noticed whenever it is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

from whyconv.spec import digest, to_json
from whyconv.trial import Row

COLUMNS = ("key", "stem", "spec", "versions", "status", "result", "trace", "error", "environment")
"""The columns of a row that its digest covers: all but the digest itself."""
UNSEALED = ""
"""In place of a digest in records of an older whyconv, which wrote none."""

Record = tuple[Any, ...]


def seal(row: Row) -> list[str]:
    """The texts of a row's columns, followed by their digest."""
    values = [getattr(row, name) for name in COLUMNS]
    texts = [value if isinstance(value, str) else to_json(value) for value in values]
    return [*texts, digest(texts)]


def unseal(columns: Sequence[str]) -> Row:
    """The row of intact columns (see :func:`complaint`)."""
    fields = dict(zip(COLUMNS, columns, strict=False))
    for name in ("spec", "versions", "result", "trace"):
        fields[name] = json.loads(fields[name], parse_constant=_refused)
    return Row(**fields)  # pyright: ignore[reportArgumentType]


def _refused(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _plain_row(row: Row) -> bool:
    """Whether a row holds what a worker may send: named numbers and texts, and series of them."""
    parts = (row.spec, row.versions, row.result, row.trace)
    pieces = (
        [row.spec.get(name) for name in ("task", "network", "learner")] if isinstance(row.spec, dict) else []
    )
    return (
        all(isinstance(part, dict) for part in parts)
        and all(isinstance(piece, dict | None) for piece in pieces)
        and all(map(_scalar, row.result.values()))
        and all(isinstance(series, list) and all(map(_scalar, series)) for series in row.trace.values())
    )


def _scalar(value: Any) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 2**63
    return isinstance(value, str | bool) or (isinstance(value, float) and isfinite(value))


def sealed(table: str, *values: str | int | float) -> Record:
    """A record of a table other than ``rows`` with its digest, which also covers the table's name."""
    return (*values, digest([table, *values]))


def environment_id(text: str) -> str:
    """The id of an environment: a digest of its description, which is canonical JSON."""
    return digest(json.loads(text))[:16]


def run_id(study: str, preset: str, settings: str) -> str:
    """The id of a run, from its settings as canonical JSON: the same command is the same run."""
    return digest([study, preset, settings])[:16]


def complaint(table: str, record: Sequence[Any]) -> str:
    """What is wrong with a stored record; empty if it is intact."""
    try:
        return _COMPLAINTS[table](record)
    except (ValueError, TypeError, RecursionError, OverflowError):
        return "it holds text that is not JSON"


def _of_row(record: Sequence[Any]) -> str:
    *texts, stored = record
    if len(texts) != len(COLUMNS) or not all(isinstance(text, str) for text in texts):
        return "it does not have the columns of a row"
    if digest(texts) != stored:
        return "its digest does not match its content"
    row = unseal(texts)
    if row.status not in ("ok", "failed") or not _plain_row(row):
        return "it holds values that no trial produces"
    if row.key != digest({"spec": row.spec, "versions": row.versions})[:32]:
        return "its key does not match its specification"
    if row.stem != digest(row.spec)[:32]:
        return "its stem does not match its specification"
    return ""


def _of_environment(record: Sequence[Any]) -> str:
    name, text = record
    if environment_id(text) != name:
        return "its description was changed"
    return "" if isinstance(json.loads(text), dict) else "it is not a description"


def _of_run(record: Sequence[Any]) -> str:
    name, study, preset, settings, seeds, loads, *_, stored = record
    if run_id(study, preset, settings) != name or not isinstance(json.loads(settings), dict):
        return "its settings were changed"
    if stored != UNSEALED and sealed("runs", *record[:-1])[-1] != stored:
        return "its command, times or list of files was changed"
    files = json.loads(loads)
    if not isinstance(files, list) or not isinstance(seeds, int) or not all(map(_file, files)):
        return "its list of files was changed"
    if not all(isinstance(value, str) for value in record[6:]):
        return "it does not hold text"
    return ""


def _file(each: Any) -> bool:
    """Whether this is a file as listed now, or a path as in the first version."""
    named = isinstance(each, dict) and all(isinstance(each.get(name), str) for name in ("file", "digest"))
    return named or isinstance(each, str)


def _of_duration(record: Sequence[Any]) -> str:
    key, attempt, seconds, finished, stored = record
    types = (str, int, float, str)
    if not all(map(isinstance, (key, attempt, seconds, finished), types)):
        return "it does not hold a time"
    good = stored == UNSEALED or sealed("durations", *record[:-1])[-1] == stored
    return "" if good else "its digest does not match its content"


def _of_traceback(record: Sequence[Any]) -> str:
    *values, stored = record
    if not all(isinstance(value, str) for value in values):
        return "it does not hold text"
    good = stored == UNSEALED or sealed("tracebacks", *values)[-1] == stored
    return "" if good else "its digest does not match its content"


_COMPLAINTS: dict[str, Callable[[Sequence[Any]], str]] = {
    "rows": _of_row,
    "environments": _of_environment,
    "runs": _of_run,
    "durations": _of_duration,
    "tracebacks": _of_traceback,
}
