"""Tables for other programs, from the rows of a store: the same rows give the same bytes."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from whyconv.errors import UserError
from whyconv.runner.folder import as_user_error, prepare, refuse_odd, write_whole
from whyconv.runner.opened import PlannedRun, open_folder
from whyconv.runner.seal import COLUMNS
from whyconv.spec import to_json
from whyconv.trial import Row

Line = Mapping[str, Any]
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a text that a spreadsheet takes for a formula."""


@dataclass(frozen=True)
class Exported:
    """The files that were written; damage and remarks in sentences."""

    paths: list[Path]
    problems: tuple[str, ...]
    remarks: tuple[str, ...]


def export(folder: str | Path, format: str = "csv", loads: Iterable[str | Path] = ()) -> Exported:
    """Write the tables of a store into ``folder/export``.

    One table per run of a study, with one line per trial in the order of the plan: its labels, its seed, what
    was measured, ``status`` (*ok*, *failed*, or *missing* if it was not run), the error and the key; also
    ``rows`` with every row of the store as JSON, ``durations``, and ``environments.json``. Only ``durations``
    differs between two runs of the same study. ``loads`` are the user's own files of pieces; a run that needs
    one that is not given has no table.
    """
    folder = Path(folder)
    write = _writer(format)
    found = open_folder(folder, loads)
    tables = {_name(run): _run_lines(run, found.rows) for run in found.runs}
    tables["rows"] = [_row_line(row) for row in found.rows.values()]
    tables["durations"] = [asdict(duration) for duration in found.contents.durations()]
    contents = {f"{name}.{format}": write(lines) for name, lines in tables.items()}
    described = json.dumps(found.contents.environments(), indent=2, sort_keys=True) + "\n"
    contents["environments.json"] = described.encode()
    target = folder / "export"
    refuse_odd(target, folder=True)
    prepare(target)
    with as_user_error(target):
        for name, content in contents.items():
            write_whole(target / name, content)
    return Exported([target / name for name in contents], found.problems, found.remarks)


def _name(run: PlannedRun) -> str:
    """The name of a run's table: study, preset if it exists here, and the start of the run's id."""
    preset = run.record.preset if run.record.preset in run.study.presets else ""
    return "-".join(part for part in (run.study.name, preset, run.record.id[:8]) if part)


def _run_lines(run: PlannedRun, rows: Mapping[str, Row]) -> list[Line]:
    """The trials of a run's plan with their measurements."""
    return _aligned(
        [
            {**point.labels, "seed": trial.seed, **_outcome(rows.get(trial.key)), "key": trial.key}
            for point in run.points
            for trial in (point.trial,)
        ]
    )


def _outcome(row: Row | None) -> Line:
    if row is None:
        return {"status": "missing", "error": ""}
    return {**row.result, "status": row.status, "error": row.error}


def _row_line(row: Row) -> Line:
    values = {name: getattr(row, name) for name in COLUMNS}
    return {name: value if isinstance(value, str) else to_json(value) for name, value in values.items()}


def _aligned(lines: list[Line]) -> list[Line]:
    """Give every line the same names, in order of appearance, with status, error and key at the end."""
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
    heads = [lines[0]] if lines else []
    for line in (*heads, *(line.values() for line in lines)):
        writer.writerow([_harmless(_cell(value)) for value in line])
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
    """A number or a text unchanged; anything else that a label may be as JSON, or as its ``str``."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    try:
        return to_json(value)
    except (TypeError, ValueError):
        return str(value)


def _harmless(cell: Any) -> Any:
    """Prefix a text that a spreadsheet would take for a formula with a quotation mark."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def _uniform(values: list[Any]) -> list[Any]:
    """Convert a column to one type: numbers stay numbers, a mixture with texts becomes texts."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1:
        return values
    kind = float if kinds == {int, float} else str
    return [None if value is None else kind(value) for value in values]
