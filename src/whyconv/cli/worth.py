"""``whyconv worth``: what the priors are worth, by the rows in a folder. Runs nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from whyconv.auditing.result import Result, plain
from whyconv.cli import terminal
from whyconv.cli.audit import audits_of, is_audit
from whyconv.lazy import pd
from whyconv.paths import given_path
from whyconv.report import audit_words as words
from whyconv.runner.opened import open_folder
from whyconv.runs import runs_of
from whyconv.waiting import planning
from whyconv.worths import NOTHING, shown, worths


def worth(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", parser=given_path, help="Folder of rows; default whyconv-runs.")
    ] = Path("whyconv-runs"),
    load: Annotated[
        list[str] | None, typer.Option(help="A Python file of your own pieces; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What each prior is worth by the rows in DIR: factor or difference, interval, data, command."""
    with planning():
        found = open_folder(folder, load or ())
    terminal.note(found.problems, found.remarks)
    if is_audit(found):
        _show_audits(audits_of(found), as_json)
        raise typer.Exit(1 if found.problems else 0)
    runs = runs_of(found)
    terminal.note((), [run.unfit for run in runs if run.unfit])
    records = worths(runs)
    if as_json:
        print(json.dumps(records, indent=2, allow_nan=False))
    elif records:
        terminal.print_table(pd.DataFrame([_line(each) for each in shown(runs)]))
        print("Above 1 x, or above 0 points, a prior helps. Sentences and commands: --json, or the report.")
    else:
        print(NOTHING)
    if found.problems:
        raise typer.Exit(1)


def _show_audits(told: Sequence[Result], as_json: bool) -> None:
    """What audits found that each prior saves."""
    savings = [(each, saving) for each in told for saving in each.savings]
    if as_json:
        names = ("prior", "factor", "low", "high", "verdict")
        records = [
            {**plain(saving, names), "data": each.data.name, "study": "audit"} for each, saving in savings
        ]
        print(json.dumps(records, indent=2, allow_nan=False))
        return
    lines = [
        {
            "prior": saving.prior,
            "worth": words.saved(saving),
            "verdict": saving.verdict,
            "data": each.data.name,
        }
        for each, saving in savings
    ]
    terminal.print_table(pd.DataFrame(lines))
    print("Above 1 x, a prior saves examples. Everything else: whyconv report.")


def _line(found: dict[str, str]) -> dict[str, str]:
    """Four columns, which fit into 80 characters."""
    unit = "" if found["worth"].endswith("points") else f" in {found['in']}"
    return {
        "prior": found["prior"],
        "worth": f"{found['worth']}{unit}",
        "where": f"{found['where']}; {found['data']}",
        "study": found["study"],
    }
