"""``whyconv compare``: two runs side by side. Runs nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from whyconv.cli import terminal
from whyconv.comparing import compared
from whyconv.errors import UserError
from whyconv.paths import given_path
from whyconv.runner.opened import open_folder
from whyconv.runs import Run, runs_of
from whyconv.waiting import planning


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", parser=given_path, help="A folder of rows.")],
    second: Annotated[Path, typer.Argument(metavar="B", parser=given_path, help="Another one.")],
    load: Annotated[
        list[str] | None, typer.Option(help="A Python file of your own pieces; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare the runs in two folders, study by study.

    Settings, answers, verdicts and means, side by side.
    """
    with planning():
        runs = [_by_study(folder, load or []) for folder in (first, second)]
    shared = [name for name in runs[0] if name in runs[1]]
    if not shared:
        have = "; ".join(f"{folder} has {', '.join(found) or 'none'}"
                         for folder, found in zip((first, second), runs, strict=True))  # fmt: skip
        raise UserError(f"{first} and {second} share no study ({have}); give folders that do.")
    tables = {name: compared(runs[0][name], runs[1][name]) for name in shared}
    if as_json:
        found = [{"study": name, "lines": frame.to_dict("records")} for name, frame in tables.items()]
        print(json.dumps(found, indent=2))
    else:
        names = {"first": str(first), "second": str(second)}
        terminal.print_tables({name: frame.rename(columns=names) for name, frame in tables.items()})


def _by_study(folder: Path, load: list[str]) -> dict[str, Run]:
    """The latest run of each study in a folder."""
    found = open_folder(folder, load)
    terminal.note(found.problems, found.remarks)
    return {run.study.name: run for run in runs_of(found) if not run.unfit}
