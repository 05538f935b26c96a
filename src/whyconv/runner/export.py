"""Tables for other programs, from the rows of a store: the same rows give the same bytes."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from whyconv import registry
from whyconv.errors import UserError
from whyconv.runner.folder import prepare, telling, write_whole
from whyconv.runner.seal import COLUMNS
from whyconv.runner.store import Run, Store
from whyconv.spec import build, to_json
from whyconv.trial import Row

Line = Mapping[str, Any]


def export(folder: str | Path, format: str = "csv", loads: Iterable[str] | None = None) -> list[Path]:
    """Write the tables of a store into ``folder/export`` and return their paths.

    For every run of a study one table, a line for each trial in the order of the plan: its labels,
    its seed, what was measured, ``status`` (*ok*, *failed*, or *missing* when it was not run), the
    error and the key. Besides, ``rows`` with every row of the store as JSON, ``durations``, and
    ``environments.json``. Only ``durations`` differs between two runs of the same study. ``loads``
    replaces the files of pieces that were loaded when the study was run.
    """
    folder = Path(folder)
    write = _writer(format)
    with Store.read(folder) as store:
        rows = store.rows()
        tables = {_name(run): _run_lines(run, rows, loads) for run in store.runs()}
        tables["rows"] = [_row_line(row) for row in rows.values()]
        tables["durations"] = [asdict(duration) for duration in store.durations()]
        environments = json.dumps(store.environments(), indent=2, sort_keys=True) + "\n"
    contents = {f"{name}.{format}": write(lines) for name, lines in tables.items()}
    contents["environments.json"] = environments.encode()
    target = folder / "export"
    prepare(target)
    with telling(target):
        for name, content in contents.items():
            write_whole(target / name, content)
    return [target / name for name in contents]


def _name(run: Run) -> str:
    return "-".join(part for part in (run.study, run.preset, run.id[:8]) if part)


def _run_lines(run: Run, rows: Mapping[str, Row], loads: Iterable[str] | None) -> list[Line]:
    """The plan of a run, made again, with what is known of its trials."""
    try:
        for file in run.loads if loads is None else loads:
            registry.load(file)
        study = build("study", run.settings)
    except (UserError, ValueError) as error:
        raise UserError(f"the run {run.id} of {run.study} cannot be planned again: {error}") from error
    return _aligned(
        [
            {**point.labels, "seed": point.trial.seed, **_told(rows.get(key := point.trial.key)), "key": key}
            for point in study.plan(rows)
        ]
    )


def _told(row: Row | None) -> Line:
    if row is None:
        return {"status": "missing", "error": ""}
    return {**row.result, "status": row.status, "error": row.error}


def _row_line(row: Row) -> Line:
    values = {name: getattr(row, name) for name in COLUMNS}
    return {name: value if isinstance(value, str) else to_json(value) for name, value in values.items()}


def _aligned(lines: list[Line]) -> list[Line]:
    """The same names in every line, in order of appearance, and status, error and key at the end."""
    last = ("status", "error", "key")
    names = dict.fromkeys(name for line in lines for name in line if name not in last)
    return [{name: line.get(name) for name in (*names, *last)} for line in lines]


def _writer(format: str) -> Callable[[Sequence[Line]], bytes]:
    if format == "csv":
        return _csv
    if format != "parquet":
        raise UserError(f"the format {format!r} was asked for; choose csv or parquet.")
    if importlib.util.find_spec("pyarrow") is None:
        raise UserError("Parquet needs pyarrow; install it with: pip install 'whyconv[parquet]'.")
    return _parquet


def _csv(lines: Sequence[Line]) -> bytes:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows(
        [lines[0], *([_cell(value) for value in line.values()] for line in lines)] if lines else []
    )
    return buffer.getvalue().encode()


def _parquet(lines: Sequence[Line]) -> bytes:
    import pyarrow
    from pyarrow import parquet

    names = lines[0] if lines else []
    columns = {name: _uniform([_cell(line[name]) for line in lines]) for name in names}
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


def _cell(value: Any) -> Any:
    """A number or a text as it is; anything else a label may hold, as JSON or as its text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    try:
        return to_json(value)
    except (TypeError, ValueError):
        return str(value)


def _uniform(values: list[Any]) -> list[Any]:
    """A column of one type: numbers stay numbers, and a mixture with texts becomes texts."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1:
        return values
    kind = float if kinds == {int, float} else str
    return [None if value is None else kind(value) for value in values]
