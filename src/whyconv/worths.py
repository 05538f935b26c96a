"""The answers of several studies side by side: what each prior is worth, on which data, by which command."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
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


def shown(runs: Iterable[Run]) -> list[list[dict[str, str]]]:
    """The same for readers, in short: the lines of each run."""
    fit = [run for run in runs if not run.unfit]
    return [
        [
            {
                "prior": answer.prior,
                "worth": answer.amount,
                "in": words(answer.unit),
                "where": answer.range,
                "data": answer.data,
                "study": f"{run.study.name} ({remarks})" if remarks else run.study.name,
            }
            for answer in run.answers
            if answer.known
        ]
        for run, remark in zip(fit, apart(fit), strict=True)
        for remarks in [", ".join(filter(None, (run.progress, remark)))]
    ]


def apart(runs: Sequence[Run]) -> list[str]:
    """What tells each run from others of its study: its preset if there are several, and *other settings* if
    it has settings of its own. Empty if there is nothing to tell."""
    presets: defaultdict[str, set[str]] = defaultdict(set)
    for run in runs:
        presets[run.study.name].add(run.preset)
    several = {name for name, found in presets.items() if len(found) > 1}
    remarks = (
        (run.preset if run.study.name in several else "", "other settings" if run.changes else "")
        for run in runs
    )
    return [", ".join(filter(None, each)) for each in remarks]
