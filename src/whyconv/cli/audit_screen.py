"""The first screen of an audit: the answer in at most 80 columns, and one line of it while it lasts."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from whyconv.report import audit_words as words
from whyconv.text import count, duration, rough_duration

if TYPE_CHECKING:
    from whyconv.auditing.result import Control, Described, Result
    from whyconv.auditing.run import Progress

WIDTH = 80
LONGEST_NAME = 40
CLASSES = 12
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
    name = textwrap.shorten(result.data.name, LONGEST_NAME, placeholder="...")
    about = f"{name}: {words.data(result.data)}, {metric}"
    lines = _first(about, took)
    lines += wrapped(
        f"Does the order matter?  {words.ORDER[result.order.verdict]}  {words.order(result.order)}", 2
    )
    lines += _savings(result)
    if found := words.window(result):
        lines += wrapped(f"Window: {found}", 2)
    lines += _best(result)
    if result.forecast is not None:
        lines += wrapped(f"More data: {words.more_data(result.forecast)}", 2)
    lines += _checks(result)
    for warning in dict.fromkeys(result.warnings):
        lines += wrapped(f"Warning: {warning}", 2)
    return lines


def described(
    about: Described, groups: int | None, classes: Sequence[str], warnings: Sequence[str]
) -> Iterator[str]:
    """What was read, before anything is measured."""
    metric = words.METRICS.get(about.metric, about.metric)
    yield from wrapped(f"{about.name}: {words.data(about)}, {metric}", 2)
    if classes:
        shown = ", ".join(textwrap.shorten(name, 20, placeholder="...") for name in classes[:CLASSES])
        more = f" and {len(classes) - CLASSES} more" if len(classes) > CLASSES else ""
        yield from wrapped(f"Classes: {shown}{more}", 2)
    yield f"Groups: {groups:,}" if groups else "Groups: none, every example stands for itself"
    for warning in warnings:
        yield from wrapped(f"Warning: {warning}", 2)


def _first(about: str, took: str) -> list[str]:
    """The data to the left, time and rounds to the right, if they fit on one line."""
    if len(about) + len(took) + 2 <= WIDTH:
        return [about + took.rjust(WIDTH - len(about))]
    return [*wrapped(about, 2), took.rjust(WIDTH)]


def _savings(result: Result) -> Iterator[str]:
    """One line per prior: factor, interval, verdict."""
    at = words.compared_at(result)
    yield from wrapped(f"What would save examples{at and f', {at}'}?", 2)
    if len({(each.verdict, each.why, words.saved(each)) for each in result.savings}) == 1:
        each = result.savings[0]
        if not words.saved(each):
            yield from wrapped(f"  all {words.verdict(each)}", 4)
            return
    told = [(each, words.saved(each)) for each in result.savings]
    wide = max((len(text) for _, text in told), default=0)
    for each, text in told:
        traded = words.traded(each) if each.prior == "together" else ""
        line = f"  {each.prior:<9} {text:<{wide}}{'  ' if wide else ''}{words.verdict(each)}"
        yield from wrapped(f"{line}{f' ({traded})' if traded else ''}".rstrip(), 14 + wide if wide else 12)


def _best(result: Result) -> list[str]:
    """The best arm, and the references in order of their errors."""
    arms = {each.name: each.error for each in result.arms}
    best = f"{result.best} {words.level(arms.get(result.best))}" if result.best else "–"
    parts = [f"Best network: {best}"]
    parts += [
        f"{each.name} {words.level(each.error)}"
        for each in sorted(result.references, key=lambda each: each.error)
    ]
    return wrapped("   ".join(parts), 2)


def _checks(result: Result) -> list[str]:
    """The audit's checks of itself: passed, failed, not decided, not made."""
    lines: list[str] = []
    good = [f"{_named(each)} ok" for each in result.controls if each.fine]
    if good:
        lines += wrapped(f"Checks: {', '.join(good)}", 2)
    for each in result.controls:
        if each.fine is False:
            lines += wrapped(f"Check FAILED: {_named(each)}: {each.says.rstrip('.')}", 2)
        elif each.fine is None and each.made:
            lines += wrapped(f"Check undecided: {_named(each)}: {each.says.rstrip('.')}", 2)
    unmade: dict[str, list[str]] = {}
    for each in result.controls:
        if each.fine is None and not each.made:
            unmade.setdefault(each.says.removeprefix("not made: ").rstrip("."), []).append(each.name)
    for why, names in unmade.items():
        lines += wrapped(f"Checks not made: {', '.join(names)} ({why})", 2)
    return lines


def _named(control: Control) -> str:
    if control.factor is None:
        return f"{control.name} {words.level(control.error)}" if control.error is not None else control.name
    return f"{control.name} {words.times(control.factor)}x {words.span(control.low, control.high)}"


def wrapped(text: str, indent: int) -> list[str]:
    """Lines of at most 80 characters; ``p = .05`` stays on one."""
    found = textwrap.wrap(
        text.replace("p = ", "p\xa0=\xa0"),
        WIDTH,
        subsequent_indent=" " * min(indent, 40),
        break_on_hyphens=False,
    )
    return [line.replace("\xa0", " ") for line in found]


def brief(result: Result | None) -> str:
    """The present answer on a part of a line; empty before there is one."""
    if result is None:
        return ""
    parts = []
    if result.order.verdict != "not judged":
        parts.append({"matters": "order matters", "not seen": "order not seen"}[result.order.verdict])
    for each in result.savings:
        value = f" {words.times(each.factor)}x" if each.factor is not None else ""
        if each.factor is None and each.verdict in ("saves", "costs"):
            value = f" {words.saved(each)}"
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
