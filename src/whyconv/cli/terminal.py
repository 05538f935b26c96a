"""What a person sees in a terminal: progress with time left, and tables. Plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from whyconv.cli.waiting import Waiting
from whyconv.errors import one_sentence
from whyconv.measure.estimate import Estimate
from whyconv.report.wording import count, intervals_shown, means_of, undecided
from whyconv.runner.contents import shown
from whyconv.runner.events import Event, Finished, Planned, PutBack, Repaired
from whyconv.runner.forecast import duration, forecast, seconds
from whyconv.verdict import control_fault

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from whyconv.api import Run
    from whyconv.studies import Study
    from whyconv.trial import Trial

PLAIN_EVERY = 10.0
PLAIN_WIDTH = 10_000
LONGEST = 3000
"""Letters of a line; what a folder holds may have come from anywhere."""
REPAIRS_SHOWN = 10
"""Damages named in a terminal; ``whyconv verify`` names them all."""
DIFFERENCES_SHOWN = 6
GAP = 2
"""Between two columns of a table."""
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
"""Of verdicts; any other one, such as *incomplete*, is red."""


class Progress:
    """Watches a run: says what is reused and why the rest is new, then how long it will take."""

    def __init__(self, study: Study) -> None:
        self._workers = 1
        self._study = study
        self._outlook: dict[str, Trial] = {}
        self._costs: dict[str, float] = {}
        self._rounds = 0 if study.adaptive else -1
        self._total = 0
        self._console = Console(stderr=True)
        self._waiting = Waiting(self._console)
        self._bar: Bar | None = None
        self._task: Any = None
        self._expected = 0.0
        self._done_expected = 0.0
        self._ratios: deque[float] = deque(maxlen=20)
        self._told = time.monotonic()
        self._data = study.data()

    def watch(self, event: Event) -> None:
        """Take note of an event."""
        if isinstance(event, Repaired):
            self._repaired(event)
        elif isinstance(event, Planned):
            self._planned(event)
        elif isinstance(event, Finished):
            self._finished(event)
        elif isinstance(event, PutBack):
            self._say(f"put back, to be tried again: {_labelled(event.labels)}: {event.error}")
        else:
            self._tick()

    def __enter__(self) -> Progress:
        self._waiting.start()
        try:
            if self._study.adaptive:
                self._outlook = {trial.key: trial for trial in self._study.outlook()}
        except BaseException:
            self._waiting.stop()
            raise
        return self

    def __exit__(self, error: object, *_: object) -> None:
        self.close()
        if error is None and self._rounds > 1:
            self._say("No more trials follow.")

    def close(self) -> None:
        """Take the bar down."""
        self._waiting.stop()
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _repaired(self, event: Repaired) -> None:
        repair = event.repair
        for sentence in repair.problems[:REPAIRS_SHOWN]:
            self._say(f"damaged: {sentence}")
        if len(repair.problems) > REPAIRS_SHOWN:
            self._say(f"damaged: {len(repair.problems) - REPAIRS_SHOWN} more.")
        where = f"; the damaged file is kept as {repair.kept}" if repair.kept else ""
        gone = f", {count(len(repair.lost), 'row')} lost" if repair.lost else ""
        self._say(f"The store was repaired: {count(repair.rows, 'row')} salvaged{gone}{where}.")

    def _planned(self, event: Planned) -> None:
        self._waiting.stop()
        self._workers = event.workers
        new = sum(event.new_by_reason.values())
        if self._data:
            self._say(self._data)
            self._data = ""
        parts = [f"{count(event.total, 'trial')}: {event.reused:,} reused"]
        parts += [f"{new_ones:,} new ({reason})" for reason, new_ones in event.new_by_reason.items()]
        if event.kept_failed:
            them = "it" if event.kept_failed == 1 else "them"
            parts.append(
                f"{event.kept_failed:,} of the reused failed before (--retry-failed runs {them} again)"
            )
        if event.other_environment:
            parts.append(_from_elsewhere(event))
        self._rounds += self._rounds >= 0
        total = max(event.total, len(self._outlook)) if self._rounds > 0 else event.total
        self._total = total
        if self._rounds == 1 and new:
            parts.append(f"others follow from what these show, about {total} in all")
        if self._rounds <= 1:
            self._say("; ".join(parts) + ".")
        if not new:
            return
        todo = [*event.new, *self._following(event, total - event.total)]
        self._costs = {trial.key: seconds(trial) for trial in todo}
        self._expected = self._done_expected + sum(self._costs.values())
        if self._rounds <= 1:
            guess = forecast(todo, self._workers)
            self._say(
                f"About {duration(guess.seconds)} on {count(guess.workers, 'worker')} (at most "
                f"{duration(guess.seconds_limit)}), {guess.memory / 1e9:.1f} GB of memory."
            )
        if self._console.is_terminal:
            self._start_bar(total, event.total - new)

    def _following(self, event: Planned, number: int) -> list[Trial]:
        """So many trials that an adaptive study may plan later: of its outlook, evenly."""
        planned = event.kept.union(trial.key for trial in event.new)
        later = [trial for key, trial in self._outlook.items() if key not in planned]
        return [later[place * len(later) // number] for place in range(number)]

    def _start_bar(self, total: int, done: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar

        self.close()
        columns = [BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("{task.description}")]
        self._bar = Bar(*columns, console=self._console, transient=True)
        self._bar.start()
        self._task = self._bar.add_task("starting", total=total, completed=done)

    def _finished(self, event: Finished) -> None:
        expected = self._expect(event.key)
        self._done_expected += expected
        self._ratios.append(event.seconds / expected)
        if event.status == "failed":
            self._say(f"failed: {_labelled(event.labels)}: {event.error}")
        text = f"{self._left()} left"
        if self._bar is not None:
            self._bar.update(self._task, completed=event.done, description=text)
        elif event.done == event.total or time.monotonic() - self._told > PLAIN_EVERY:
            self._told = time.monotonic()
            finished = event.done == event.total and self._rounds < 0
            total = count(self._total if self._rounds > 0 else event.total, "trial")
            about = "about " if self._rounds > 0 else ""
            self._say(f"{event.done:,} of {about}{total}, {'done' if finished else text}.")
        if event.done == event.total:
            self.close()

    def _tick(self) -> None:
        if self._bar is not None:
            self._bar.update(self._task, description=f"{self._left()} left")

    def _expect(self, key: str) -> float:
        return self._costs[key]

    def _left(self) -> str:
        """What is expected still, times the median of what trials took against what was expected.

        The median of the latest trials, because the first ones also wait for compilation.
        """
        rest = max(0.0, self._expected - self._done_expected) / max(1, self._workers)
        return f"about {duration(rest * median(self._ratios if len(self._ratios) > 3 else [1.0]))}"

    def _say(self, text: str) -> None:
        whole = not self._console.is_terminal
        self._console.print(shown(text, LONGEST), highlight=False, markup=False, soft_wrap=whole)


def _from_elsewhere(event: Planned) -> str:
    """How many rows come from another environment, and what is different there."""
    comes = "comes" if event.other_environment == 1 else "come"
    them = "it" if event.other_environment == 1 else "them"
    shown = event.differences[:DIFFERENCES_SHOWN]
    more = [f"{len(event.differences) - len(shown)} more"] if len(shown) < len(event.differences) else []
    what = f" ({'; '.join([*shown, *more])})" if shown else ""
    return (
        f"{event.other_environment:,} of the {event.reused:,} reused {comes} from another environment{what}, "
        f"and --strict-environment computes {them} anew"
    )


def _labelled(labels: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in labels.items())


def print_claims(claims: Sequence[Mapping[str, Any]], expected: Iterable[bool]) -> None:
    """The verdict table: a claim's statement and source, the numbers that decide it, its control."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for claim, good in zip(claims, expected, strict=True):
        mark = "" if good else " [red](unexpected)[/]"
        table.add_row(
            f"{_coloured(claim['verdict'])}{mark}", f"[bold]{claim['claim']}[/]  {_safe(claim['statement'])}"
        )
        table.add_row("", f"[dim]{_safe(claim['source'])}, {claim['seconds']:.1f} s[/]")
        for name, value in claim["numbers"].items():
            table.add_row("", f"  {_safe(name)}: {_safe(number(value))}")
        if claim["traceback"]:
            table.add_row("", "[dim]traceback: with --json, and in the report[/]")
        table.add_row(
            "", f"[dim]control:[/] {_safe(claim['control'])}: {_coloured(claim['control_verdict'])}"
        )
        table.add_row("", "")
    Console().print(table)


def print_verdicts(claims: Iterable[Mapping[str, Any]], runs: Iterable[Run]) -> None:
    """One line each: the verdict, who it is about, in what words, and the control's verdict."""
    lines = [(c["verdict"], c["claim"], c["control_verdict"], c["statement"]) for c in claims]
    for run in runs:
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
        told = f"[{style}]{cells[0]}[/]  {cells[1]}  {cells[2]}  {_safe(statement)}"
        console.print(told, highlight=False, no_wrap=True, overflow="ignore", crop=False)


def print_judgement(run: Run) -> None:
    """A study's verdict with the numbers that decide it, and its control's."""
    judgement = run.judgement
    if judgement is None and run.verdict == "shown":
        console = Console()
        console.print(f"[bold]shown[/]  {run.study.name}: {_safe(run.study.unjudged())}", highlight=False)
        _print_remarks(run)
        return
    if judgement is None:
        print(
            f"incomplete  {run.study.name}: {count(len(run.failed), 'trial')} failed, so there is no verdict."
        )
        return
    console = Console()
    console.print(f"{_coloured(run.verdict)}  [bold]{run.study.name}[/]  {_safe(run.study.criterion)}")
    for name, value in judgement.evidence.numbers.items():
        console.print(f"  {_safe(name)}: {_safe(number(value))}", highlight=False)
    console.print(f"[dim]control:[/] {_coloured(judgement.control.verdict)}: {_safe(run.study.broken)}")
    if wanting := undecided(judgement, int(run.summary["count"].max())):
        console.print(wanting, highlight=False)
    elif fault := control_fault(run.verdict, judgement.control.verdict):
        console.print(f"[red]The control {fault}: do not rely on it at these settings.[/]")
    _print_remarks(run)


def _print_remarks(run: Run) -> None:
    if remarks := run.study.remarks():
        Console().print(f"[dim]note:[/] {_safe(remarks)}", highlight=False)


def _coloured(verdict: str) -> str:
    return f"[{COLOURS.get(verdict, 'red')}]{verdict}[/]"


def print_means(run: Run) -> None:
    """The means of a study's outcome with their intervals, where there are any."""
    print(means_of(run.study.outcome, run.summary["count"]))
    print_table(intervals_shown(run.summary).drop(columns="std"))


def print_tables(tables: Mapping[str, Any]) -> None:
    """A study's own tables under their titles."""
    for title, frame in tables.items():
        console = Console()
        console.print()
        console.print(f"[bold]{_safe(title)}[/]", highlight=False, soft_wrap=not console.is_terminal)
        print_table(frame)


def print_table(frame: Any) -> None:
    """A data frame with a dash for what is missing.

    In a terminal that is too narrow headers wrap, and columns without room follow below, again behind the
    first one; elsewhere every line stays whole.
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
            table.add_column(_safe(columns[place][0]), justify=sides[place], width=widths[place])
        for line in lines:
            table.add_row(*(_safe(line[place]) for place in block))
        console.print(table)


def _blocks(widths: Sequence[int], room: int) -> list[list[int]]:
    """Columns as far as they have room side by side; every further block begins with the first again.

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
    """A value in a table, whose columns tell the repetitions of an estimate."""
    return value.cell if isinstance(value, Estimate) else number(value)


def complain(sentence: str) -> None:
    """The one sentence of an error, on stderr, if that can be written."""
    with suppress(OSError):
        print(f"whyconv: {one_sentence(sentence)}", file=sys.stderr, flush=True)


def _safe(text: object) -> str:
    from rich.markup import escape

    return escape(str(text))
