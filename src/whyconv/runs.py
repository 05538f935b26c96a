"""A study with its rows, for notebooks, the terminal and the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyconv import naming
from whyconv.criteria import UNFROZEN, Standing, standing
from whyconv.errors import said
from whyconv.lazy import pd
from whyconv.measure.intervals import summarise
from whyconv.settings import changes
from whyconv.studies import Judgement, Point, Study
from whyconv.studies.answers import Answer
from whyconv.text import control_said, count, labelled, undecided
from whyconv.trial import Row

if TYPE_CHECKING:
    from whyconv.runner.opened import Opened


@dataclass(frozen=True)
class Run:
    """A study with its rows: ``table``, ``summary``, ``tables``, ``figure()``, ``judgement``, ``verdict``."""

    study: Study
    points: Sequence[Point]
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
    def done(self) -> tuple[int, int]:
        """How many of the trials planned so far have succeeded, and how many there are."""
        keys = {point.trial.key for point in self.points}
        return sum((row := self.rows.get(key)) is not None and row.status == "ok" for key in keys), len(keys)

    @property
    def progress(self) -> str:
        """``35 of 51 trials`` while some are missing; empty once all have succeeded."""
        done, total = self.done
        return f"{done:,} of {count(total, 'trial')}" if done < total or not total else ""

    @cached_property
    def answers(self) -> list[Answer]:
        """What each prior is worth by these rows, the one that the study is about first."""
        return naming.answers(self.study.answers(self.table), self.arm_names) if len(self.table) else []

    @property
    def answer(self) -> str:
        """The first of the answers, in a sentence."""
        if not self.answers:
            if self.progress:
                return f"No answer yet: only {self.progress} have finished."
            return "No answer: these rows compare no two networks that differ by a prior."
        sentence = self.answers[0].sentence
        return f"So far, with {self.progress}: {sentence}" if self.progress else sentence

    @property
    def conclusion(self) -> str:
        """What the verdict means for the study's question, in a sentence."""
        if self.judgement is None:
            why = self.study.unjudged()
            return f"Shown, not judged: {why}." if why else f"Not judged yet: {self.progress} finished."
        evidence = self.judgement.evidence
        if evidence.verdict == "undecided":
            return undecided(evidence, self.repetitions)
        if evidence.verdict == "vacuous":
            facts = "; ".join(f"{name}: {value}" for name, value in evidence.numbers.items())
            return f"Vacuous: these settings put no question to the networks ({facts})."
        return self.study.met if evidence.verdict == "consistent" else self.study.unmet

    @property
    def control_said(self) -> str:
        """What the control shows, in a few words; empty without a verdict."""
        if self.judgement is None:
            return ""
        return control_said(self.verdict, self.judgement.control.verdict, self.study.lost)[0]

    @property
    def repetitions(self) -> int:
        """The most seeds that a point has."""
        return int(self.summary["count"].max()) if len(self.table) else 0

    @property
    def finished(self) -> bool:
        """Whether every trial has succeeded."""
        found = [self.rows.get(point.trial.key) for point in self.points]
        return bool(found) and all(row is not None and row.status == "ok" for row in found)

    @cached_property
    def changes(self) -> list[str]:
        """The settings that differ from the preset's, as on the command line."""
        return changes(self.study, self.preset) if self.preset and not self.study.needs_data else []

    @property
    def uncarried(self) -> str:
        """That a change of some arms is not carried over to others; empty if it is."""
        arms = list(getattr(self.study, "arms", ()))
        kept = [arm for arm in arms if arm not in self.arm_names]
        if not self.arm_names or not kept:
            return ""
        return f"Changed: {'; '.join(self.arm_names.values())}. Not carried over to: {'; '.join(kept)}."

    @cached_property
    def arm_names(self) -> dict[str, str]:
        """The arms that differ from the preset's, with names that say the change."""
        return naming.names_of(getattr(self.study, "arms", ()), self.changes)

    @property
    def variant(self) -> str:
        """The same in one text; empty if none do."""
        return ", ".join(self.changes)

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

    def __repr__(self) -> str:
        """Study, trials, verdict and answer; the rows are in ``table``."""
        done, total = self.done
        return f"<Run {self.study.name}: {done:,} of {count(total, 'trial')}, {self.verdict}. {self.answer}>"

    def compare(self, other: Run) -> pd.DataFrame:
        """The answers and means of this run and another side by side."""
        from whyconv.comparing import compared

        return compared(self, other)

    def figures(self) -> dict[str, Any]:
        """The study's charts by title."""
        drawn = self.study.figures(self.table)
        return {title: naming.chart(each, self.arm_names) for title, each in drawn.items()}

    def figure(self) -> Any:
        return next(iter(self.figures().values()))

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Mean, 95 % interval and count of the study's outcome, such as the test error, for every point."""
        labels = list(dict.fromkeys(name for point in self.points for name in point.labels))
        return summarise(self.study.measured(self.table), labels, self.study.outcome)

    @property
    def shown_summary(self) -> pd.DataFrame:
        """The same, with changed arms under the names that say the change."""
        return naming.lines(self.summary, self.arm_names)

    @cached_property
    def glossary(self) -> dict[str, str]:
        """What the data are, and what each network is, in a line each."""
        networks: dict[str, list[str]] = {}
        for point in self.points:
            piece = point.trial.network or point.trial.learner
            arms = networks.setdefault(piece.summary(), [])
            if (arm := str(point.labels.get("arm", piece.name))) not in arms:
                arms.append(arm)
        data = dict.fromkeys(point.trial.task.summary() for point in self.points)
        plain = [f"{min(arms, key=len)}: {words}" for words, arms in networks.items()]
        plain = list(networks) if len(networks) == 1 else plain
        return {"data": " ".join(data), "networks": " ".join(plain)} if self.points else {}

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
            _ = self.judgement, self.tables, self.answer, len(self.table) and self.summary
        except Exception as error:
            return f"{self.study.name} cannot be judged or drawn from these rows ({said(error)})."
        return ""


def runs_of(found: Opened) -> list[Run]:
    return [
        Run(each.study, each.points, found.rows, found.folder, each.record.command, each.record.preset)
        for each in found.runs
    ]
