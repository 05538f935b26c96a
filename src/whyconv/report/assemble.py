"""From a folder of rows to the page. Runs no trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from whyconv.comparing import compared
from whyconv.lazy import pd
from whyconv.report.filters_picture import filters
from whyconv.report.html import Page, Section, write
from whyconv.runner.opened import Opened
from whyconv.runs import Run
from whyconv.text import count
from whyconv.worths import apart, shown

PROBLEMS_SHOWN = 5
LOOSE_SHOWN = 1000
"""Rows without their study that a page lists; ``whyconv export`` has them all."""


def assemble(
    found: Opened, runs: Sequence[Run], path: Path, claims: Sequence[Mapping[str, Any]], command: str
) -> Path:
    """Write the report of a folder with its ``runs`` and the ``claims`` already decided."""
    fit = [run for run in runs if not run.unfit]
    seen = [run.study.name for run in fit]
    tracebacks = found.contents.tracebacks()
    sections = [
        beside(
            replace(section(run, run.study.name not in seen[:n], tracebacks), apart=remark, worths=lines),
            run,
            fit[:n],
        )
        for n, (run, remark, lines) in enumerate(zip(fit, apart(fit), shown(fit), strict=True))
    ]
    page = Page(
        title="What are locality, weight sharing and max-pooling worth?",
        claims=claims,
        sections=[*sections, *loose_rows(found)],
        environments=_environments(fit, found.contents.environments()),
        command=command,
        notes=[*_notes(found), *(run.unfit for run in runs if run.unfit)],
    )
    return write(page, path)


def beside(made: Section, run: Run, before: Sequence[Run]) -> Section:
    """The section with the run compared to the first one of the same study, if there was one."""
    first = next((each for each in before if each.study.name == run.study.name), None)
    if first is None:
        return made
    table = compared(first, run).rename(columns={"first": "first run", "second": "this run"})
    return replace(made, tables={"Two runs side by side": table, **made.tables})


def alone(run: Run, path: Path) -> Path:
    """Write the report of one run, as a notebook has it."""
    page = Page(title="What are locality, weight sharing and max-pooling worth?", sections=[section(run)])
    return write(page, path)


def _notes(found: Opened) -> list[str]:
    """The first damages, and all remarks."""
    more = len(found.problems) - PROBLEMS_SHOWN
    rest = [f"{more} more damages; whyconv verify names all."] if more > 0 else []
    return [*found.problems[:PROBLEMS_SHOWN], *rest, *found.remarks]


def loose_rows(found: Opened) -> list[Section]:
    """A section for the rows of runs whose study is not here."""
    rows = found.loose() if found.unplanned else []
    lines = [
        {
            **{part: (row.spec.get(part) or {}).get("name") for part in ("task", "network", "learner")},
            **{part: row.spec.get(part) for part in ("m", "seed")},
            "status": row.status,
            **row.result,
        }
        for row in rows[:LOOSE_SHOWN]
    ]
    if not lines:
        return []
    title = f"{count(len(rows), 'row')}, the first {len(lines)} shown" if len(lines) < len(rows) else "Rows"
    return [
        Section(
            study=", ".join(dict.fromkeys(run.study for run in found.unplanned)),
            title="Rows whose study is not here",
            rule="Its pieces were not given: the rows are shown, but neither drawn nor judged.",
            tables={title: pd.DataFrame(lines)},
            rows=len(rows),
        )
    ]


def section(
    run: Run, explained: bool = True, tracebacks: Mapping[str, str] = MappingProxyType({})
) -> Section:
    """One study's part of the page, with the pictures that explain its setting if ``explained``.

    ``tracebacks`` are those of failed trials, by key; one that several trials share is shown once.
    """
    study, remarks = run.study, run.study.remarks()
    keys = {point.trial.key for point in run.points}
    first = {tracebacks[key]: line for key, line in reversed(run.failures.items()) if key in tracebacks}
    return Section(
        study=study.name,
        title=study.title,
        changes=run.changes,
        answers=[run.answer, *(answer.sentence for answer in run.answers[1:])],
        conclusion=run.conclusion,
        progress=run.progress,
        lost=study.lost,
        reference=study.reference,
        criterion=study.criterion,
        frozen=run.said_of_criterion,
        control_note=study.broken,
        judgement=run.judgement,
        unjudged=study.unjudged(),
        figures=run.figures(),
        glossary=run.glossary if explained else {},
        pictures=study.pictures() if explained else {},
        learned=filters(run),
        tables=run.tables,
        summary=run.shown_summary if len(run.table) else None,
        outcome=study.outcome,
        command=run.command,
        seeds=sorted({point.trial.seed for point in run.points}),
        settings=study.canonical(),
        rows=sum(key in run.rows for key in keys),
        failed=run.failed,
        tracebacks={line: text for text, line in first.items()},
        rule=f"{run.uncarried} Otherwise: {remarks}" if run.uncarried else remarks,
    )


def _environments(
    runs: Sequence[Run], environments: Mapping[str, Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """The environments in which the rows shown were computed."""
    used = {run.rows[p.trial.key].environment for run in runs for p in run.points if p.trial.key in run.rows}
    return [environments[identity] for identity in sorted(used) if identity in environments]
