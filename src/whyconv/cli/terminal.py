"""What commands print: verdicts, means and tables; plain lines where the output is not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from whyconv.errors import one_sentence
from whyconv.measure.estimate import Estimate
from whyconv.measure.intervals import intervals_shown
from whyconv.runs import Run
from whyconv.text import count, means_of, undecided
from whyconv.verdict import control_fault

PLAIN_WIDTH = 10_000
GAP = 2
"""Spaces between two columns of a table."""
COLOURS = {
    "holds": "green",
    "consistent": "green",
    "holds as corrected": "yellow",
    "vacuous": "magenta",
    "undecided": "magenta",
    "fails": "red",
    "error": "red",
    "shown": "default",
}
"""Of verdicts; any other word, such as *incomplete*, is red."""


def print_claims(claims: Sequence[Mapping[str, Any]], expected: Iterable[bool]) -> None:
    """A table of claims: verdict, statement, source, the numbers that decide, control."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for claim, good in zip(claims, expected, strict=True):
        mark = "" if good else " [red](unexpected)[/]"
        table.add_row(
            f"{_coloured(claim['verdict'])}{mark}", f"[bold]{claim['claim']}[/]  {safe(claim['statement'])}"
        )
        table.add_row("", f"[dim]{safe(claim['source'])}, {claim['seconds']:.1f} s[/]")
        for name, value in claim["numbers"].items():
            table.add_row("", f"  {safe(name)}: {safe(number(value))}")
        if claim["traceback"]:
            table.add_row("", "[dim]traceback: with --json, and in the report[/]")
        for each in claim["controls"]:
            table.add_row("", f"[dim]control:[/] {safe(each['control'])}: {_coloured(each['verdict'])}")
        table.add_row("", "")
    Console().print(table)


def print_verdicts(claims: Iterable[Mapping[str, Any]], runs: Iterable[Run]) -> None:
    """One line per claim and study: verdict, name, the control's verdict, statement."""
    lines = [(c["verdict"], c["claim"], c["control_verdict"], c["statement"]) for c in claims]
    judged = list(runs)
    for run in judged:
        control = run.judgement.control.verdict if run.judgement else "-"
        lines.append((run.verdict, run.study.name, control, run.variant or run.study.title))
    lines.insert(0, ("verdict", "claim or study", "control", "statement"))
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    console = Console()
    for number, line in enumerate(lines):
        cells = [text.ljust(width) for text, width in zip(line, widths, strict=False)]
        room = max(10, console.width - sum(widths) - 6)
        statement = line[3] if len(line[3]) <= room else line[3][: room - 3].rstrip() + "..."
        style = "bold" if number == 0 else COLOURS.get(line[0], "red")
        shown = f"[{style}]{cells[0]}[/]  {cells[1]}  {cells[2]}  {safe(statement)}"
        console.print(shown, highlight=False, no_wrap=True, overflow="ignore", crop=False)
    for run in judged:
        if run.judgement:
            console.print(f"[dim]{run.study.name}: {safe(run.said_of_criterion)}[/]", highlight=False)


def print_judgement(run: Run) -> None:
    """A study's verdict with the numbers that decide it, and its control's."""
    judgement = run.judgement
    if judgement is None and run.verdict == "shown":
        console = Console()
        console.print(f"[bold]shown[/]  {run.study.name}: {safe(run.study.unjudged())}", highlight=False)
        _print_remarks(run)
        return
    if judgement is None:
        print(
            f"incomplete  {run.study.name}: {count(len(run.failed), 'trial')} failed, so there is no verdict."
        )
        return
    console = Console()
    console.print(f"{_coloured(run.verdict)}  [bold]{run.study.name}[/]  {safe(run.study.criterion)}")
    console.print(f"[dim]{safe(run.said_of_criterion)}[/]", highlight=False)
    for name, value in judgement.evidence.numbers.items():
        console.print(f"  {safe(name)}: {safe(number(value))}", highlight=False)
    console.print(f"[dim]control:[/] {_coloured(judgement.control.verdict)}: {safe(run.study.broken)}")
    if wanting := undecided(judgement, int(run.summary["count"].max())):
        console.print(wanting, highlight=False)
    elif fault := control_fault(run.verdict, judgement.control.verdict):
        console.print(f"[red]The control {fault}: do not rely on the verdict at these settings.[/]")
    _print_remarks(run)


def _print_remarks(run: Run) -> None:
    if remarks := run.study.remarks():
        Console().print(f"[dim]note:[/] {safe(remarks)}", highlight=False)


def _coloured(verdict: str) -> str:
    return f"[{COLOURS.get(verdict, 'red')}]{verdict}[/]"


def print_means(run: Run) -> None:
    """The means of a study's outcome, with intervals where there are any."""
    print(means_of(run.study.outcome, run.summary["count"]))
    print_table(intervals_shown(run.summary).drop(columns="std"))


def print_tables(tables: Mapping[str, Any]) -> None:
    """A study's own tables under their titles."""
    for title, frame in tables.items():
        console = Console()
        console.print()
        console.print(f"[bold]{safe(title)}[/]", highlight=False, soft_wrap=not console.is_terminal)
        print_table(frame)


def print_table(frame: Any) -> None:
    """A data frame, with a dash for missing values.

    In a narrow terminal headers wrap, and columns that do not fit follow below, next to the first column
    again; elsewhere every line stays whole.
    """
    console = Console()
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    room = console.width
    sides: list[Any] = ["right" if frame[name].dtype.kind in "if" else "left" for name in frame.columns]
    shown = frame.astype(object).where(frame.notna(), "–")
    lines = [[cell(value) for value in line] for line in shown.itertuples(index=False)]
    columns = [[str(name), *(line[place] for line in lines)] for place, name in enumerate(frame.columns)]
    widths = [max(len(cell) for cell in cells) for cells in columns]
    if sum(widths) + GAP * (len(widths) - 1) > room:
        widths = [
            max(len(part) for part in (*head.split(), *(cell[: room // 2] for cell in cells), "–"))
            for head, *cells in columns
        ]
    for block in _blocks(widths, room):
        table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
        for place in block:
            table.add_column(safe(columns[place][0]), justify=sides[place], width=widths[place])
        for line in lines:
            table.add_row(*(safe(line[place]) for place in block))
        console.print(table)


def _blocks(widths: Sequence[int], room: int) -> list[list[int]]:
    """Blocks of columns that fit side by side; each begins with the first column.

    >>> _blocks([8, 20, 20, 20], 55)
    [[0, 1, 2], [0, 3]]
    """
    blocks = [[0]] if widths else []
    for place in range(1, len(widths)):
        if sum(widths[i] + GAP for i in blocks[-1]) + widths[place] > room and blocks[-1] != [0]:
            blocks.append([0])
        blocks[-1].append(place)
    return blocks


def number(value: Any) -> str:
    """Four significant digits for floats, anything else as it is."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def cell(value: Any) -> str:
    """A value in a table; the repetitions of an estimate have their own column."""
    return value.cell if isinstance(value, Estimate) else number(value)


def complain(sentence: str) -> None:
    """Print the one sentence of an error on stderr, if that can be written."""
    with suppress(OSError):
        print(f"whyconv: {one_sentence(sentence)}", file=sys.stderr, flush=True)


def safe(text: object) -> str:
    return escape(str(text))
