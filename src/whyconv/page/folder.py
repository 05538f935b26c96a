"""The second tab: all runs in the folder, what they say of priors, their figures, two side by side."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Any

from whyconv.comparing import compared
from whyconv.errors import UserError, one_sentence, said
from whyconv.page.known import Known
from whyconv.page.open_ends import in_words
from whyconv.page.question import Question
from whyconv.report.embedding import panels, svg
from whyconv.runner.contents import shown
from whyconv.runner.database import FILE
from whyconv.runner.opened import open_folder
from whyconv.runs import Run, runs_of
from whyconv.spec import to_json

MOST = 500
"""Runs of a folder that are listed, the latest ones."""


class Folder:
    """The runs of a folder, read again if it has changed."""

    def __init__(self, path: Path) -> None:
        self._path, self._known = path, Known(path)
        self._stamp: Any = None
        self._runs: dict[str, Run] = {}
        self._problems: list[str] = []
        self._lock = threading.Lock()

    def worths(self) -> dict[str, Any]:
        """Every run with its answers, the latest first."""
        with self._lock:
            self._read()
            problems = list(self._problems)
            runs = [self._told(number, run, problems) for number, run in reversed(self._runs.items())]
        return {"folder": str(self._path), "runs": runs, "problems": problems}

    def figures(self, number: str) -> dict[str, Any]:
        """The figures of a run, its sentences and its command."""
        run = self._run(number)
        charts = run.figures() if len(run.table) else {}
        return {
            "title": run.study.title,
            "sentences": [in_words(run.answer), in_words(run.conclusion)],
            "command": run.command,
            "figures": [
                {"title": title, "panels": panels(chart.to_dict())} for title, chart in charts.items()
            ],
        }

    def drawing(self, number: str, place: str) -> str:
        """One of these figures as SVG, with its title and legend."""
        charts = {str(count): chart for count, chart in enumerate(self._run(number).figures().values())}
        if place not in charts:
            raise UserError(f"figure {shown(place)} of run {number} was asked for; it has {len(charts)}.")
        return svg(charts[place].to_dict())

    def compared(self, first: str, second: str) -> dict[str, Any]:
        """Two runs side by side."""
        pair = [self._run(text) for text in (first, second)]
        frame = compared(*pair).astype(str).map(in_words).replace(r"(?<=[\]\d]) x\b", "×", regex=True)
        head = [
            "",
            *(f"{run.study.name}, run {text}" for run, text in zip(pair, (first, second), strict=True)),
        ]
        return {"head": head, "lines": frame.to_numpy().tolist()}

    def _run(self, number: str) -> Run:
        with self._lock:
            self._read()
        if number not in self._runs:
            raise UserError(
                f"run {shown(number)} was asked for, but {self._path} has no such run; reload the page."
            )
        return self._runs[number]

    def _read(self) -> None:
        stamp = self._known.stamp()
        if stamp == self._stamp:
            return
        self._runs, self._problems = {}, []
        if (self._path / FILE).exists():
            try:
                found = open_folder(self._path)
            except UserError as error:
                self._problems = [one_sentence(str(error))]
                return
            runs = [run for run in runs_of(found) if run.study.name != "audit" and not run.unfit]
            self._runs = dict(list(_latest(runs).items())[-MOST:])
            self._problems = [shown(sentence, 300) for sentence in (*found.problems[:5], *found.remarks[:5])]
        self._stamp = stamp

    def _told(self, number: str, run: Run, problems: list[str]) -> dict[str, Any]:
        try:
            answers = [
                {
                    "prior": answer.prior,
                    "worth": in_words(answer.worth).replace(" x", "×"),
                    "unit": answer.unit.replace("_", " "),
                    "range": answer.range,
                    "data": answer.data,
                }
                for answer in run.answers
                if answer.known
            ]
        except Exception as error:  # rows from elsewhere may hold anything
            problems.append(f"{run.study.name}: {said(error)}.")
            answers = []
        return {
            "number": number,
            "study": run.study.name + (f" ({run.progress})" if run.progress else ""),
            "settings": ", ".join(run.changes) or "–",
            "verdict": run.verdict,
            "answers": answers,
        }


def _latest(runs: list[Run]) -> dict[str, Run]:
    """Runs by number; of those with the same number the last alone."""
    kept: dict[str, Run] = {}
    for run in runs:
        kept.pop(number := _number(run), None)
        kept[number] = run
    return kept


def _number(run: Run) -> str:
    """A digest of what was asked, so that an address leads to the same run when others have come.

    Seeds of a question of the page are left out: every click on "Add seeds" asks it again.
    """
    if isinstance(run.study, Question):
        asked = [run.study.model_copy(update={"seeds": 0}).canonical()]
    else:
        asked = [run.study.canonical(), run.preset]
    return hashlib.sha256(to_json(asked).encode()).hexdigest()[:10]
