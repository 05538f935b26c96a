"""A study's part of the page: figures with their provenance at the left, the judgement at the right."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from whyconv.measure.intervals import intervals_shown
from whyconv.report.figures import figure, picture
from whyconv.report.notation import prose
from whyconv.report.wording import badge, command, numbers, table, traceback
from whyconv.text import count, means_of, seeds, undecided
from whyconv.verdict import control_fault

if TYPE_CHECKING:
    import pandas as pd

    from whyconv.report.html import Section


def study_section(section: Section, anchor: str) -> str:
    """The whole section, under the identifier ``anchor``."""
    below = _provenance(section)
    drawn = _pictures(section.pictures, f"{anchor}-picture")
    drawn += [
        figure(title, chart, f"{anchor}-{place}", below, section.title)
        for place, (title, chart) in enumerate(section.figures.items(), 1)
    ]
    if not section.figures:
        drawn.append(below)
    drawn += _pictures(section.learned, f"{anchor}-learned")
    origin = [escape(section.reference)] if section.reference else []
    origin.append(f"<code>{escape(section.study)}</code>")
    judged = _judgement(section)
    tables = "".join(_derived(title, frame) for title, frame in section.tables.items())
    tables += _summary(section.summary, section.outcome) + _settings(section.settings)
    return (
        f'<section id="{anchor}" class="study"><header><p class="kicker">{" · ".join(origin)}</p>'
        f"<h2>{escape(section.title)}</h2></header>"
        f'<div class="split">{f"<aside>{judged}</aside>" if judged else ""}'
        f'<div class="evidence">{"".join(drawn)}{tables}</div></div></section>'
    )


def _pictures(pictures: Mapping[str, str], anchor: str) -> list[str]:
    each = [
        picture(title, svg, f"{anchor}-{place}") for place, (title, svg) in enumerate(pictures.items(), 1)
    ]
    return [f'<div class="pictures">{"".join(each)}</div>'] if each else []


def _judgement(section: Section) -> str:
    parts = []
    judgement = section.judgement
    if judgement is not None:
        evidence = judgement.evidence
        parts.append(f'<p class="verdict">{badge(evidence.verdict)}</p>{numbers(evidence.numbers)}')
    elif section.unjudged:
        parts.append(f'<p class="quiet">Shown, not judged: {prose(section.unjudged)}</p>')
    elif section.criterion:
        parts.append('<p class="quiet">Not judged yet: finished trials are missing.</p>')
    if section.criterion:
        parts.append(f"<h3>Criterion</h3><p>{prose(section.criterion)}</p>")
    if section.control_note or judgement is not None:
        parts.append(f"<h3>Control</h3><p>{prose(section.control_note)}</p>")
    if judgement is not None:
        control = judgement.control
        fault = control_fault(judgement.evidence.verdict, control.verdict)
        summary = section.summary
        wanting = undecided(judgement, 0 if summary is None else int(summary["count"].max()))
        alarm = f' <span class="alarm">{fault}</span>' if fault and not wanting else ""
        parts.append(f"<p>{badge(control.verdict)}{alarm}</p>{numbers(control.numbers)}")
        parts += [f'<p class="quiet">{wanting}</p>'] if wanting else []
    if section.rule:
        parts.append(f"<h3>Note</h3><p>{prose(section.rule)}</p>")
    return "".join(parts)


def _provenance(section: Section) -> str:
    """What stands under each figure: how to make it again, from which seeds, and what is missing in it."""
    facts = [seeds(section.seeds)] if section.seeds else []
    if section.figures:
        facts.append(count(section.rows, "row"))
    failed = ""
    if section.failed:
        items = "".join(
            f"<li>{escape(line)}{traceback(section.tracebacks.get(line, ''))}</li>" for line in section.failed
        )
        failed = (
            f'<details class="failed"><summary>{count(len(section.failed), "failed trial")}</summary>'
            f"<ul>{items}</ul></details>"
        )
    elif section.rows:
        facts.append("no failed trials")
    said = f"<p>{' · '.join(facts)}</p>" if facts else ""
    return f'<div class="provenance">{command(section.command)}{said}{failed}</div>'


def _derived(title: str, frame: pd.DataFrame) -> str:
    """A table of the study's own, open to the eye."""
    shown = frame.astype(object).where(frame.notna(), None)
    lines = table([str(name) for name in shown.columns], shown.itertuples(index=False, name=None))
    return f"<figure><figcaption><h3>{prose(title)}</h3></figcaption>{lines}</figure>"


def _summary(summary: pd.DataFrame | None, outcome: str) -> str:
    if summary is None:
        return ""
    if summary.empty:
        return '<p class="quiet">There are no means yet: no trial has finished.</p>'
    shown = intervals_shown(summary).astype(object)
    shown = shown.where(shown.notna(), None)
    lines = table([str(name) for name in shown.columns], shown.itertuples(index=False, name=None))
    head = f"{escape(means_of(outcome, summary['count']))} ({count(len(summary), 'line')})"
    return f"<details><summary>{head}</summary>{lines}</details>"


def _settings(settings: Mapping[str, Any]) -> str:
    if not settings:
        return ""
    lines = [
        f"<div><dt>{escape(str(name))}</dt><dd>{_setting(value)}</dd></div>"
        for name, value in settings.items()
    ]
    return f'<details><summary>Settings</summary><dl class="environment">{"".join(lines)}</dl></details>'


def _setting(value: Any) -> str:
    return f"<code>{escape(value if isinstance(value, str) else json.dumps(value, default=str))}</code>"
