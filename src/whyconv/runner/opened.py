"""Opens a folder of rows for reading: its runs are planned again, but nothing is run.

No file that the folder names is ever executed. A study with pieces from the user's own files needs these
files again (``--load``); they are compared with the stored digests. Without them its rows are available, but
not their plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from whyconv import registry
from whyconv.errors import UserError
from whyconv.runner.contents import Contents, Run, shown
from whyconv.runner.store import Store
from whyconv.spec import build
from whyconv.studies import good
from whyconv.trial import Row

if TYPE_CHECKING:
    from whyconv.studies import Point, Study


@dataclass(frozen=True)
class PlannedRun:
    """A run whose study could be rebuilt, with its plan."""

    record: Run
    study: Study
    points: list[Point]


@dataclass(frozen=True)
class Opened:
    """Everything in a folder; ``problems`` (damage) and ``remarks`` are sentences."""

    folder: Path
    contents: Contents
    rows: Mapping[str, Row]
    runs: list[PlannedRun]
    unplanned: list[Run]
    """Runs whose plan cannot be rebuilt here; the reasons are among the remarks."""
    problems: tuple[str, ...]
    remarks: tuple[str, ...]

    def loose(self) -> list[Row]:
        """The rows that belong to no run with a plan."""
        planned = {point.trial.key for run in self.runs for point in run.points}
        return [row for key, row in self.rows.items() if key not in planned]


def open_folder(folder: str | Path, loads: Iterable[str | Path] = ()) -> Opened:
    """Read a folder; ``loads`` are the user's own files of pieces."""
    files = [Path(file) for file in loads]
    given = {}
    for file in files:
        registry.load(file)
        given[registry.file_digest(file)] = file.name
    with Store.read(folder) as store:
        contents = store.contents()
    rows = contents.rows()
    runs, unplanned, remarks = [], [], contents.remarks()
    for record in contents.runs():
        remarks += _changed_files(record, given)
        try:
            study = build("study", record.settings)
            runs.append(PlannedRun(record, study, study.plan(good(rows))))
        except Exception as error:  # stored settings may be anything
            unplanned.append(record)
            remarks.append(_sentence(record, error))
    notes = tuple(dict.fromkeys(remarks))
    return Opened(Path(folder), contents, rows, runs, unplanned, contents.sentences(), notes)


def _changed_files(record: Run, given: Mapping[str, str]) -> list[str]:
    """Sentences for files that changed since the study was run; ``given``: names by digest."""
    return [
        f"{shown(name)} is not the file that {_name(record)} was run with (digest {shown(digest)}); "
        "rows of the earlier file count as missing."
        for name, digest in _files(record)
        if digest and name in given.values() and digest not in given
    ]


def _files(record: Run) -> Sequence[tuple[str, str]]:
    return [(Path(str(each.get("file", ""))).name, str(each.get("digest", ""))) for each in record.loads]


def _sentence(record: Run, error: Exception) -> str:
    needed = ", ".join(name for name, _ in _files(record))
    mend = f"; give {needed} with --load if you trust it" if needed else ""
    why = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
    why = shown(why.rstrip("."), 300)
    return shown(
        f"{_name(record)} is shown as rows alone, without figure or verdict{mend}. Reason: {why}.", 700
    )


def _name(record: Run) -> str:
    return f"the run {record.id} of {shown(record.study)}"
