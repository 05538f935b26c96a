"""What commands print: verdicts, means and tables; plain lines where the output is not a terminal."""

from __future__ import annotations

import math
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from whyconv.claims.errata import LABELS
from whyconv.errors import one_sentence
from whyconv.measure.estimate import Estimate
from whyconv.measure.intervals import intervals_shown
from whyconv.runner.contents import shown
from whyconv.runs import Run
from whyconv.text import control_said, count, means_of

LONGEST = 1000
"""Characters printed of a sentence about a folder, which may come from anywhere."""
NAMED = 10
"""Damages that ``report`` and ``export`` name; ``verify`` names all."""
PLAIN_WIDTH = 10_000
PLAIN_EVERY = 10.0
"""Seconds between two lines of progress where stderr is no terminal."""
GAP = 2
"""Spaces between two columns of a table."""
READABLE = 16
"""Characters of a column of words that still reads well."""
COLOURS = {
    "holds": "green",
    "consistent": "green",
    "holds as corrected": "yellow",
    "vacuous": "magenta",
    "undecided": "magenta",
    "fails": "red",
    "error": "red",
    "shown": "default",
    "incomplete": "yellow",
}
"""Of verdicts; any other word is red."""
MEANS = 60
"""Lines of a table of means, at most: a search for m* measures at many sizes."""
UNRELIABLE = "Do not rely on the verdict at these settings."
"""What a control that did not flip means."""


def announcer(quiet: bool = False) -> Callable[[str], None]:
    """Says on stderr which claim is being checked: in place in a terminal, else a line now and then."""
    if quiet:
        return lambda name: None
    if sys.stderr.isatty():
        return lambda name: print(
            f"\r\033[K{name and f'checking {name} ...'}", end="", file=sys.stderr, flush=True
        )
    last = -math.inf

    def say(name: str) -> None:
        nonlocal last
        if name and time.monotonic() - last >= PLAIN_EVERY:
            last = time.monotonic()
            print(f"checking {name} ...", file=sys.stderr, flush=True)

    return say


def note(problems: Iterable[str], remarks: Iterable[str]) -> None:
    """Print a folder's damages and remarks on stderr."""
    named = list(problems)
    for sentence in named[:NAMED]:
        print(f"damaged: {shown(sentence, LONGEST)}", file=sys.stderr)
    if len(named) > NAMED:
        print(f"damaged: {len(named) - NAMED} more; whyconv verify names them all.", file=sys.stderr)
    for sentence in remarks:
        print(f"note: {shown(sentence, LONGEST)}", file=sys.stderr)


def print_answers(run: Run) -> None:
    """The answer first: in a sentence, and further ones below it."""
    console = Console()
    whole = not console.is_terminal
    console.print(f"[bold]{safe(run.answer)}[/]", highlight=False, soft_wrap=whole)
    for answer in run.answers[1:]:
        console.print(f"  {safe(answer.sentence)}", highlight=False, soft_wrap=whole)
    data = ", ".join(dict.fromkeys(answer.data for answer in run.answers if answer.data))
    if data:
        console.print(f"[dim]Data: {safe(data)}.[/]", highlight=False, soft_wrap=whole)
    console.print()


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
        kept = ", kept rows, a few computed again" if claim.get("rows") == "kept" else ""
        table.add_row("", f"[dim]{safe(claim['source'])}, {claim['seconds']:.1f} s{kept}[/]")
        for name, text in (claim.get("erratum") or {}).items():
            table.add_row("", f"  [yellow]{LABELS[name]}:[/] {safe(text)}")
        for name, value in claim["numbers"].items():
            table.add_row("", f"  {safe(name)}: {safe(number(value))}")
        if claim["traceback"]:
            table.add_row("", "[dim]traceback: with --json, and in the report[/]")
        for each in claim["controls"]:
            said, well = control_said(claim["verdict"], each["verdict"])
            colour = "green" if well else "red"
            table.add_row("", f"control: [{colour}]{said}[/]: [dim]{safe(each['control'])}[/]")
        table.add_row("", "")
    Console().print(table)


def print_verdicts(claims: Iterable[Mapping[str, Any]], runs: Iterable[Run]) -> None:
    """For every claim and study: verdict and name, then what was found and the control, wrapped."""
    lines = [(c["verdict"], c["claim"], c["statement"], _claim_control(c)) for c in claims]
    judged = list(runs)
    for run in judged:
        found = f"{run.answer} {run.conclusion}"
        lines.append(
            (
                run.verdict,
                run.study.name,
                f"{run.variant}: {found}" if run.variant else found,
                run.control_said,
            )
        )
    widths = [max((len(line[column]) for line in lines), default=0) for column in range(2)]
    console = Console()
    wide = max(console.width, sum(widths) + 44) if console.is_terminal else PLAIN_WIDTH
    indent = " " * (widths[0] + 2)
    for verdict, name, said, control in lines:
        head = f"[{COLOURS.get(verdict, 'red')}]{verdict.ljust(widths[0])}[/]  [bold]{name}[/]"
        console.print(head, highlight=False, soft_wrap=True)
        for part in (said, control and f"control: {control}"):
            for line in textwrap.wrap(part, wide - len(indent), break_on_hyphens=False) if part else ():
                console.print(f"{indent}{safe(line)}", highlight=False, soft_wrap=True)
    for run in judged:
        if run.judgement:
            said = f"[dim]{run.study.name}: {safe(run.said_of_criterion)}[/]"
            console.print(said, highlight=False, soft_wrap=not console.is_terminal)


def _claim_control(claim: Mapping[str, Any]) -> str:
    return control_said(claim["verdict"], claim["control_verdict"])[0]


def print_judgement(run: Run) -> None:
    """A study's verdict with the numbers that decide it, and its control's."""
    console, judgement = Console(), run.judgement
    console.print(
        f"{_coloured(run.verdict)}  [bold]{run.study.name}[/]  {safe(run.conclusion)}", highlight=False
    )
    if judgement is None:
        if run.failed:
            print(f"{count(len(run.failed), 'trial')} failed, so there is no verdict.")
        else:
            _print_remarks(run)
        return
    console.print(f"[dim]criterion:[/] {safe(run.study.criterion)}", highlight=False)
    console.print(f"[dim]{safe(run.said_of_criterion)}[/]", highlight=False)
    for name, value in judgement.evidence.numbers.items():
        console.print(f"  {safe(name)}: {safe(number(value))}", highlight=False)
    said, good = control_said(run.verdict, judgement.control.verdict, run.study.lost)
    colour = "green" if good else "red"
    console.print(f"control: [{colour}]{said}[/]. [dim]{safe(run.study.broken)}[/]", highlight=False)
    if not good:
        console.print(f"[red]{UNRELIABLE}[/]")
    _print_remarks(run)


def _print_remarks(run: Run) -> None:
    if run.uncarried:
        Console().print(f"[yellow]note:[/] {safe(run.uncarried)}", highlight=False)
    if remarks := run.study.remarks():
        Console().print(f"[dim]note:[/] {safe(remarks)}", highlight=False)


def _coloured(verdict: str) -> str:
    return f"[{COLOURS.get(verdict, 'red')}]{verdict}[/]"


def print_means(run: Run) -> None:
    """The means of a study's outcome, with intervals where there are any."""
    title = means_of(run.study.outcome, run.summary["count"])
    if len(run.summary) > MEANS:
        print(f"{title}: {len(run.summary)} lines, in the report and with --json.")
        return
    print(title)
    print_table(intervals_shown(run.shown_summary).drop(columns="std"))


def print_tables(tables: Mapping[str, Any]) -> None:
    """A study's own tables under their titles."""
    for title, frame in tables.items():
        console = Console()
        console.print()
        console.print(f"[bold]{safe(title)}[/]", highlight=False, soft_wrap=not console.is_terminal)
        print_table(frame)


def print_table(frame: Any) -> None:
    """A data frame, with a dash for missing values.

    In a narrow terminal headers wrap, then words do; columns that do not fit even so follow below, next to
    the first column again. Elsewhere every line stays whole.
    """
    console = Console()
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    room = console.width
    sides: list[Any] = ["right" if each.kind in "if" else "left" for each in frame.dtypes]
    shown = frame.astype(object).where(frame.notna(), "–")
    lines = [[cell(value) for value in line] for line in shown.itertuples(index=False)]
    columns = [[str(name), *(line[place] for line in lines)] for place, name in enumerate(frame.columns)]
    widths = [max(len(cell) for cell in cells) for cells in columns]
    if sum(widths) + GAP * (len(widths) - 1) > room:
        widths = [
            max(len(part) for part in (*head.split(), *(cell[: room // 2] for cell in cells), "–"))
            for head, *cells in columns
        ]
    if sum(widths) + GAP * (len(widths) - 1) > room:
        widths = _narrowed(columns, widths, room - GAP * (len(widths) - 1)) or widths
    for block in _blocks(widths, room):
        table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
        for place in block:
            table.add_column(safe(columns[place][0]), justify=sides[place], width=widths[place])
        for line in lines:
            table.add_row(*(safe(line[place]) for place in block))
        console.print(table)


def _narrowed(columns: Sequence[Sequence[str]], widths: Sequence[int], room: int) -> list[int]:
    """Widths that fit, the widest column made narrower first; empty if columns would be too narrow to read.

    >>> _narrowed([["what", "a mean"], ["first", "0.25 [0.20, 0.30] of " * 4]], [6, 80], 46)
    [6, 40]
    """
    least = [
        min(width, max(READABLE, *(len(word) for cell in cells for word in cell.split())))
        for cells, width in zip(columns, widths, strict=True)
    ]
    if sum(least) > room:
        return []
    found = list(widths)
    while (over := sum(found) - room) > 0:
        place = max((p for p in range(len(found)) if found[p] > least[p]), key=lambda p: found[p])
        second = max((width for p, width in enumerate(found) if p != place), default=0)
        found[place] = max(least[place], min(found[place] - 1, max(second, found[place] - over)))
    return found


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
