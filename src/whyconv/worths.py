"""The answers of several studies side by side: what each prior is worth, on which data, by which command."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whyconv.runs import Run
from whyconv.studies.answers import words

NOTHING = "No answer yet: no two networks that differ by a prior have been compared in this folder."


def worths(runs: Iterable[Run]) -> list[dict[str, Any]]:
    """One record for every answer: prior, factor, low, high, data, study, command and more.

    A difference has ``factor`` None, and its own keys ``difference``, ``difference_low``,
    ``difference_high``. Ends that are not known are None.
    """
    return [
        {
            **answer.record(),
            "study": run.study.name,
            "preset": run.preset,
            "settings": run.variant,
            "verdict": run.verdict,
            "trials": run.progress or "all",
            "command": run.command,
        }
        for run in runs
        if not run.unfit
        for answer in run.answers
    ]


def shown(runs: Iterable[Run]) -> list[dict[str, str]]:
    """The same for readers, in short."""
    return [
        {
            "prior": answer.prior,
            "worth": answer.amount,
            "in": words(answer.unit),
            "where": answer.range,
            "data": answer.data,
            "study": " ".join([run.study.name, *(f"({remark})" for remark in _remarks(run))]),
        }
        for run in runs
        if not run.unfit
        for answer in run.answers
        if answer.known
    ]


def _remarks(run: Run) -> list[str]:
    """What a reader of a line must know of the run: that it is not finished, or has settings of its own."""
    return [*([run.progress] if run.progress else []), *(["other settings"] if run.changes else [])]
