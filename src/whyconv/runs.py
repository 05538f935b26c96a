"""A study with its rows, for notebooks, the terminal and the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyconv.criteria import UNFROZEN, Standing, standing
from whyconv.errors import said
from whyconv.lazy import pd
from whyconv.measure.intervals import summarise
from whyconv.settings import changes
from whyconv.studies import Judgement, Point, Study
from whyconv.text import labelled
from whyconv.trial import Row

if TYPE_CHECKING:
    from whyconv.runner.opened import Opened


@dataclass(frozen=True)
class Run:
    """A study with its rows: ``table``, ``summary``, ``tables``, ``figure()``, ``judgement``, ``verdict``."""

    study: Study
    points: list[Point]
    rows: Mapping[str, Row]
    out: Path
    command: str
    preset: str = ""

    @cached_property
    def table(self) -> pd.DataFrame:
        """One line per finished trial: labels, seed and measurements."""
        return self.study.table(self.points, self.rows)

    @cached_property
    def judgement(self) -> Judgement | None:
        """The verdict of the study and of its control.

        None while trials are missing, and for settings that are shown but not judged.
        """
        if self.study.unjudged():
            return None
        return self.study.judge(self.table) if self.finished else None

    @property
    def verdict(self) -> str:
        """The verdict; ``incomplete`` while successful trials are missing, ``shown`` if not judged."""
        if self.judgement is not None:
            return self.judgement.evidence.verdict
        return "shown" if self.study.unjudged() and self.finished else "incomplete"

    @property
    def finished(self) -> bool:
        """Whether every trial has succeeded."""
        found = [self.rows.get(point.trial.key) for point in self.points]
        return bool(found) and all(row is not None and row.status == "ok" for row in found)

    @cached_property
    def variant(self) -> str:
        """The settings that differ from the preset's, as on the command line; empty if none do."""
        return ", ".join(changes(self.study, self.preset)) if self.preset else ""

    @cached_property
    def standing(self) -> Standing | None:
        """The frozen criterion, and how many of the rows came after it; None if it is not frozen."""
        keys = {point.trial.key for point in self.points}
        good = [row for key in keys if (row := self.rows.get(key)) is not None and row.status == "ok"]
        other = changes(self.study, self.preset, seeds=True) if self.preset else ()
        return standing(type(self.study), good, other)

    @property
    def said_of_criterion(self) -> str:
        """Whether the criterion was there before the rows, in a sentence."""
        said = str(self.standing or UNFROZEN)
        return f"{said[0].upper()}{said[1:]}."

    def figures(self) -> dict[str, Any]:
        """The study's charts by title."""
        return self.study.figures(self.table)

    def figure(self) -> Any:
        return next(iter(self.figures().values()))

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Mean, 95 % interval and count of the study's outcome, such as the test error, for every point."""
        labels = list(dict.fromkeys(name for point in self.points for name in point.labels))
        return summarise(self.study.measured(self.table), labels, self.study.outcome)

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The study's derived tables by title; none before a trial has finished."""
        return self.study.tables(self.table) if len(self.table) else {}

    @property
    def failed(self) -> list[str]:
        """One line per failed trial."""
        return list(self.failures.values())

    @property
    def failures(self) -> dict[str, str]:
        """The same lines by the key of the trial's row."""
        found = {}
        for point in self.points:
            row = self.rows.get(point.trial.key)
            if row is not None and row.status == "failed":
                found[row.key] = f"{labelled(point.labels)}, seed {point.trial.seed}: {row.error}"
        return found

    @cached_property
    def unfit(self) -> str:
        """Why these rows cannot be judged and drawn, in a sentence; empty if they can.

        Rows from elsewhere may hold a word where the study expects a number.
        """
        try:
            _ = self.judgement, self.tables, len(self.table) and self.summary
        except Exception as error:
            return f"{self.study.name} cannot be judged or drawn from these rows ({said(error)})."
        return ""


def runs_of(found: Opened) -> list[Run]:
    return [
        Run(each.study, each.points, found.rows, found.folder, each.record.command, each.record.preset)
        for each in found.runs
    ]
