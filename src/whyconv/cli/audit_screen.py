"""The first screen of an audit: the answer in at most 80 columns, and one line of it while it lasts."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from whyconv.report import audit_words as words
from whyconv.text import count, duration, rough_duration

if TYPE_CHECKING:
    from whyconv.auditing.result import Control, Result
    from whyconv.auditing.run import Progress

WIDTH = 80
COLOURS = {
    "saves": "green",
    "costs": "red",
    "no difference": "cyan",
    "undecided": "magenta",
    "YES": "bold green",
    "NOT SEEN": "bold yellow",
    "NOT JUDGED": "bold magenta",
    "FAILED": "bold red",
    "Warning:": "yellow",
}
PLAIN_EVERY = 10.0
"""Seconds between lines of progress without a terminal."""


def show(result: Result) -> None:
    """Print the screen; words of verdicts are coloured in a terminal."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    for line in screen(result):
        text = Text(line)
        for word, colour in COLOURS.items():
            text.highlight_words([word], colour)
        console.print(text, highlight=False, soft_wrap=True)


def screen(result: Result) -> list[str]:
    """The lines, none longer than 80 characters."""
    took = f"{duration(result.seconds)}, {count(result.rounds, 'round')}"
    metric = words.METRICS.get(result.data.metric, result.data.metric)
    about = f"{result.data.name}: {words.data(result.data)}, {metric}"
    lines = _first(about, took)
    lines += _wrapped(
        f"Does the order matter?  {words.ORDER[result.order.verdict]}  {words.order(result.order)}", 2
    )
    lines += _savings(result)
    if found := words.window(result):
        lines += _wrapped(f"Window: {found}", 2)
    lines += _best(result)
    if result.forecast is not None:
        lines += _wrapped(f"More data: {words.more_data(result.forecast)}", 2)
    lines += _checks(result)
    for warning in result.warnings:
        lines += _wrapped(f"Warning: {warning}", 2)
    return lines


def _first(about: str, took: str) -> list[str]:
    """The data to the left, time and rounds to the right, if they fit on one line."""
    if len(about) + len(took) + 2 <= WIDTH:
        return [about + took.rjust(WIDTH - len(about))]
    return [*_wrapped(about, 2), took.rjust(WIDTH)]


def _savings(result: Result) -> Iterator[str]:
    """One line per prior: factor, interval, verdict."""
    base = next((each for each in result.savings if each.prior == "together"), None)
    at = ""
    if base is not None and base.at is not None:
        at = f", at an error of {words.level(base.at)}"
        if result.data.metric in ("mse", "logloss", "balanced"):
            at = f", at a {words.METRICS[result.data.metric]} of {words.level(base.at)}"
    yield from _wrapped(f"What would save examples{at}?", 2)
    told = [(each, words.saved(each)) for each in result.savings]
    wide = max((len(text) for _, text in told), default=0)
    for each, text in told:
        traded = words.traded(each) if each.prior == "together" else ""
        line = f"  {each.prior:<9} {text:<{wide}}{'  ' if wide else ''}{words.verdict(each)}"
        yield from _wrapped(f"{line}{f' ({traded})' if traded else ''}".rstrip(), 4 + 9 + wide)


def _best(result: Result) -> list[str]:
    """The best arm, and the references in order of their errors."""
    arms = {each.name: each.error for each in result.arms}
    parts = [f"Best: {result.best} {words.level(arms.get(result.best))}"] if result.best else ["Best: –"]
    parts += [
        f"{each.name} {words.level(each.error)}"
        for each in sorted(result.references, key=lambda each: each.error)
    ]
    return _wrapped("   ".join(parts), 2)


def _checks(result: Result) -> list[str]:
    """The audit's checks of itself, those that failed spelt out."""
    if not result.controls:
        return []
    lines: list[str] = []
    good = [_check(each) for each in result.controls if each.fine]
    if good:
        lines += _wrapped(f"Checks: {', '.join(good)}", 2)
    for each in result.controls:
        if not each.fine:
            how = "FAILED" if each.fine is False else "not made"
            lines += _wrapped(f"Check {how}: {_named(each)}: {each.says.rstrip('.')}", 2)
    return lines


def _check(control: Control) -> str:
    return f"{_named(control)} ok"


def _named(control: Control) -> str:
    if control.factor is None:
        return f"{control.name} {words.level(control.error)}" if control.error is not None else control.name
    return f"{control.name} {words.times(control.factor)}x {words.span(control.low, control.high)}"


def _wrapped(text: str, indent: int) -> list[str]:
    lead = text[: len(text) - len(text.lstrip())]
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=" " * min(indent, 40), break_on_hyphens=False, drop_whitespace=True
    ) or [lead]


def brief(result: Result | None) -> str:
    """The present answer on a part of a line; empty before there is one."""
    if result is None:
        return ""
    parts = []
    if result.order.verdict != "not judged":
        parts.append({"matters": "order matters", "not seen": "order not seen"}[result.order.verdict])
    for each in result.savings:
        value = f" {words.times(each.factor)}x" if each.factor is not None else ""
        if each.verdict != "not judged":
            parts.append(f"{each.prior}{value}{'?' if each.verdict == 'undecided' else ''}")
    if result.best:
        arms = {each.name: each.error for each in result.arms}
        parts.append(f"best {result.best} {words.level(arms.get(result.best))}")
    return ", ".join(parts)


class Shown:
    """Progress on stderr: one line that is redrawn in a terminal, lines now and then elsewhere."""

    def __init__(self) -> None:
        self._drawn = sys.stderr.isatty()
        self._width = Console(stderr=True).width
        self._last, self._phase = -PLAIN_EVERY, ""

    def __call__(self, progress: Progress) -> None:
        left = f"{rough_duration(progress.seconds_left)} left" if progress.seconds_left > 0 else "finishing"
        text = f"{progress.phase} {progress.fraction:4.0%}, {left}"
        if answer := brief(progress.result):
            text += f": {answer}"
        now = time.monotonic()
        if self._drawn:
            print(f"\r\033[K{text[: self._width - 1]}", end="", file=sys.stderr, flush=True)
        elif progress.phase != self._phase or now - self._last >= PLAIN_EVERY:
            print(text, file=sys.stderr, flush=True)
            self._last, self._phase = now, progress.phase

    def close(self) -> None:
        """Clear the line."""
        if self._drawn:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
