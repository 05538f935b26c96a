"""The progress of a run on stderr: what is reused, why the rest is new, how long it will take."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from whyconv.runner.contents import shown
from whyconv.runner.events import Event, Finished, Planned, PutBack, Repaired, Tick
from whyconv.runner.forecast import Costs, forecast
from whyconv.runner.standing import Standing
from whyconv.text import count, labelled, rough_duration
from whyconv.waiting import Waiting

if TYPE_CHECKING:
    from whyconv.studies import Study
    from whyconv.trial import Trial

PLAIN_EVERY = 10.0
"""Seconds between lines without a terminal, where there is no bar."""
LONGEST = 3000
"""The most characters per line; a folder's content may come from anywhere."""
REPAIRS_SHOWN = 10
"""Damage shown in a terminal; ``whyconv verify`` lists all."""
DIFFERENCES_SHOWN = 6


class Progress:
    """Reports a run, from the plan to the last row: a bar in a terminal, plain lines elsewhere."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._console = Console(stderr=True)
        self._waiting = Waiting(self._console)
        self._bar: Bar | None = None
        self._task: Any = None
        self._plans = 0
        self._workers = 1
        self._total = 0
        self._costs = Costs(())
        self._expected = 0.0
        self._done_expected = 0.0
        self._ratios: deque[float] = deque(maxlen=20)
        self._last_line = time.monotonic()
        self._ends: deque[float] = deque(maxlen=1000)
        """When the latest trials ended."""
        self._told: set[str] = set()
        self._elsewhere = False

    def __enter__(self) -> Progress:
        self._waiting.start()
        return self

    def __exit__(self, error: object, *_: object) -> None:
        self._close()
        if error is None and self._plans > 1:
            self._say("No more trials follow.")

    def watch(self, event: Event) -> None:
        if isinstance(event, Repaired):
            self._repaired(event)
        elif isinstance(event, Planned):
            self._planned(event)
        elif isinstance(event, Finished):
            self._finished(event)
        elif isinstance(event, PutBack):
            self._say(f"put back, to be tried again: {labelled(event.labels)}: {event.error}")
        elif isinstance(event, Tick):
            self._place(event.standing)
        if isinstance(event, Tick) and self._bar is not None:
            self._bar.update(self._task, description=self._left())

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
        self._plans += 1
        self._workers, where = event.workers, event.standing.where
        self._total = max(event.total, len(event.outlook))
        later = self._total - event.total
        todo = [*event.new, *_following(event, later)] if later else event.new
        if self._plans == 1:
            self._announce(event, todo)
            if where and event.new:
                self._say(f"{count(event.workers, 'slot')} on {where}.")
        if event.new:
            self._costs = Costs(todo)
            self._expected = self._done_expected + self._costs.total
            if self._console.is_terminal:
                self._start_bar(event.total - len(event.new))

    def _announce(self, event: Planned, todo: Sequence[Trial]) -> None:
        """The first plan in words: the data, what is reused and why the rest is new, time and memory."""
        if data := self._study.data():
            self._say(data)
        parts = [f"{count(event.total, 'trial')}: {event.reused:,} reused"]
        parts += [f"{number:,} new ({reason})" for reason, number in event.new_by_reason.items()]
        if event.kept_failed:
            them = "it" if event.kept_failed == 1 else "them"
            parts.append(
                f"{event.kept_failed:,} of the reused failed before (--retry-failed runs {them} again)"
            )
        if event.other_environment:
            parts.append(_from_elsewhere(event))
        if event.new and self._study.adaptive:
            parts.append(f"adaptive: about {self._total:,} expected in all")
        self._say("; ".join(parts) + ".")
        if event.new:
            guess = forecast(todo, self._workers)
            self._say(
                f"About {rough_duration(guess.seconds)} on {count(guess.workers, 'worker')} ("
                f"{rough_duration(guess.seconds_limit)} if nothing stops early), "
                f"{guess.memory / 1e9:.1f} GB of memory."
            )

    def _finished(self, event: Finished) -> None:
        expected = self._costs[event.key]
        self._done_expected += expected
        self._ratios.append(event.seconds / expected)
        self._ends.append(time.monotonic())
        if event.status == "failed":
            self._say(f"failed: {labelled(event.labels)}: {event.error}")
        planned_all_done = event.done == event.total
        if self._bar is not None:
            self._bar.update(self._task, completed=event.done, description=self._left())
        elif planned_all_done or time.monotonic() - self._last_line > PLAIN_EVERY:
            self._last_line = time.monotonic()
            about = "about " if self._study.adaptive else ""
            left = "done" if planned_all_done and not self._study.adaptive else self._left()
            self._say(f"{event.done:,} of {about}{count(self._total, 'trial')}, {left}.")
        if planned_all_done:
            self._close()

    def _left(self) -> str:
        """The remaining forecast, times the median ratio of actual to forecast time.

        The median is over the latest trials, because the first ones also wait for compilation.
        """
        rest = max(0.0, self._expected - self._done_expected) / max(1, self._workers)
        ratio = median(self._ratios if len(self._ratios) > 3 else [1.0])
        return f"about {rough_duration(rest * ratio)} left{self._speed()}"

    def _speed(self) -> str:
        """Trials per minute and on how many slots of a cluster; empty on this machine."""
        if not self._elsewhere or len(self._ends) < 2 or (took := self._ends[-1] - self._ends[0]) <= 0:
            return ""
        rate = 60 * (len(self._ends) - 1) / took
        return f", {rate:,.0f} trials a minute on {count(self._workers, 'slot')}"

    def _place(self, standing: Standing) -> None:
        """The slots of a cluster come and go."""
        if not standing.where:
            return
        self._elsewhere, self._workers = True, standing.slots
        for note in standing.notes:
            if note not in self._told:
                self._told.add(note)
                self._say(f"{note}.")

    def _start_bar(self, done: int) -> None:
        self._close()
        columns = [BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("{task.description}")]
        self._bar = Bar(*columns, console=self._console, transient=True)
        self._bar.start()
        self._task = self._bar.add_task("starting", total=self._total, completed=done)

    def _close(self) -> None:
        self._waiting.stop()
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _say(self, text: str) -> None:
        whole = not self._console.is_terminal
        self._console.print(shown(text, LONGEST), highlight=False, markup=False, soft_wrap=whole)


def _following(event: Planned, number: int) -> list[Trial]:
    """``number`` trials, evenly from the outlook, that an adaptive study may plan later."""
    planned = event.kept.union(trial.key for trial in event.new)
    later = [trial for trial in event.outlook if trial.key not in planned]
    return [later[place * len(later) // number] for place in range(number)]


def _from_elsewhere(event: Planned) -> str:
    """How many rows come from another environment, and what is different there."""
    comes, them = ("comes", "it") if event.other_environment == 1 else ("come", "them")
    named = event.differences[:DIFFERENCES_SHOWN]
    more = [f"{len(event.differences) - len(named)} more"] if len(named) < len(event.differences) else []
    what = f" ({'; '.join([*named, *more])})" if named else ""
    every = 1 < event.other_environment == event.reused
    who = "all reused rows" if every else f"{event.other_environment:,} of the {event.reused:,} reused"
    return f"{who} {comes} from another environment{what}, and --strict-environment computes {them} again"
