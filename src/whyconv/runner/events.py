"""The events of a run, its options, and how it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, Literal

from whyconv.errors import UserError
from whyconv.runner.standing import Standing

if TYPE_CHECKING:
    from whyconv.runner.salvage import Repair
    from whyconv.studies import Point
    from whyconv.trial import Row, Trial

Labels = Mapping[str, Any]
MOST_WORKERS = 1000
"""More than any machine has cores, and more than one process can watch."""


@dataclass(frozen=True)
class Options:
    """How to run trials. Nothing here changes a row."""

    workers: int | None = None
    """None: one per core, or fewer if memory is short."""
    limit: float = 300.0
    """Kill a trial that reports no progress for this many seconds; trials report three times per second."""
    seconds: float = inf
    """End the run after this many seconds, running trials too; rows so far are kept."""
    retry_failed: bool = False
    fail_fast: bool = False
    strict_environment: bool = False
    """Recompute rows that come from another environment."""
    force: bool = False
    """Start even if the work does not seem to fit into cores, memory or disk."""
    loads: tuple[str, ...] = ()
    """The user's own files of pieces, which every worker loads."""
    preset: str = ""
    command: str = ""
    execute: str = "whyconv.execution:execute"
    """The function that runs a trial, as ``module:name``."""

    def __post_init__(self) -> None:
        workers, limit = self.workers, self.limit
        if workers is not None and (type(workers) is not int or not 1 <= workers <= MOST_WORKERS):
            raise UserError(f"workers = {workers} was given; give a whole number from 1 to {MOST_WORKERS:,}.")
        if type(limit) not in (int, float) or not 1 <= limit < inf:
            raise UserError(f"a limit of {limit} seconds was given; give a number from 1 up, such as 300.")


@dataclass(frozen=True)
class Planned:
    """A plan was made: once, or once per round of an adaptive study."""

    total: int
    reused: int
    """Trials that had a row before this run, including failed ones."""
    kept_failed: int
    """How many of the reused rows have failed; ``retry_failed`` would run them again."""
    new_by_reason: Mapping[str, int]
    """How many trials are about to run, by the reason why they have no row."""
    other_environment: int
    """How many of the reused rows were computed in another environment."""
    new: Sequence[Trial] = field(default=(), compare=False, repr=False)
    """The trials that are about to run."""
    kept: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """The keys of the plan's trials that have a row."""
    outlook: tuple[Trial, ...] = field(default=(), compare=False, repr=False)
    """The trials that an adaptive study is likely to plan in all."""
    differences: tuple[str, ...] = field(default=(), compare=False)
    """How those other environments differ, in words."""
    workers: int = field(default=1, compare=False)
    """How many trials run at a time."""
    standing: Standing = field(default=Standing(1), compare=False)
    """The place where they run."""


@dataclass(frozen=True)
class Finished:
    """A trial has ended and its row is safe on disk."""

    labels: Labels
    key: str
    status: Literal["ok", "failed"]
    seconds: float
    error: str
    done: int
    total: int
    row: Row | None = field(default=None, compare=False, repr=False)
    """The row itself, for those who show it at once."""


@dataclass(frozen=True)
class PutBack:
    """The worker of a trial was killed from outside; the trial will be tried again."""

    labels: Labels
    key: str
    error: str


@dataclass(frozen=True)
class Tick:
    """The running trials and how far each of them is (0 to 1); about twice per second."""

    running: list[tuple[Labels, float]]
    standing: Standing = field(default=Standing(1))


@dataclass(frozen=True)
class Repaired:
    """The store was damaged and has been repaired."""

    repair: Repair


Event = Repaired | Planned | Finished | PutBack | Tick


@dataclass(frozen=True)
class Summary:
    """A study that is complete, or whose time was up: its points in plan order, and the rows there are."""

    points: Sequence[Point]
    rows: Mapping[str, Row]


class Interrupted(KeyboardInterrupt):
    """The user stopped the run. Every acknowledged row is kept; the same command continues from there."""

    def __init__(self, done: int, total: int) -> None:
        trials = (
            f"{done:,} of {total:,} trial{'' if total == 1 else 's'} {'is' if 1 in (done, total) else 'are'}"
        )
        super().__init__(f"interrupted: {trials} done and kept; run the same command again to continue.")
        self.done, self.total = done, total


class TrialFailed(UserError):
    """A trial failed and ``fail_fast`` was asked for."""
