"""The report: one HTML file with every verdict and every figure, which needs no network and no server.

What a reader needs to doubt a figure stands beside it: the criterion, the control, the command, the seeds,
the trials that failed, the data. The page is built from finished values only; it computes no trial.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyconv.report import theme
from whyconv.report.claims import claims_table, fault, tally
from whyconv.report.embedding import bundle
from whyconv.report.sections import study_section
from whyconv.report.wording import command
from whyconv.runner.folder import telling, write_whole
from whyconv.text import count
from whyconv.verdict import control_fault

if TYPE_CHECKING:
    import pandas as pd

    from whyconv.studies import Judgement

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:"
)
"""What the browser allows: to run what the page carries (Vega compiles expressions), and to load nothing."""
OPEN = ("undecided", "undecided")
"""The verdict of a study and of its control where there are too few seeds."""


@dataclass(frozen=True)
class Section:
    """One study: its question, its judgement, its figures, and what it takes to make them again.

    ``figures`` are Altair charts by title, ``pictures`` SVG texts that explain the setting and ``learned``
    those of what was learned, by title; ``tables`` what the study derived by title; ``summary`` has the
    means of ``outcome``; ``rule`` holds notes such as the stopping rule, ``unjudged`` why there is no
    verdict, ``failed`` one line per failed trial and ``tracebacks`` where it failed, by that line.
    """

    study: str
    title: str
    reference: str = ""
    criterion: str = ""
    control_note: str = ""
    judgement: Judgement | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)
    pictures: Mapping[str, str] = field(default_factory=dict)
    learned: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    summary: pd.DataFrame | None = None
    outcome: str = "test_error"
    command: str = ""
    seeds: Sequence[int] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    rows: int = 0
    failed: Sequence[str] = ()
    tracebacks: Mapping[str, str] = field(default_factory=dict)
    rule: str = ""
    unjudged: str = ""


@dataclass(frozen=True)
class Page:
    """A report. A claim is a dictionary with the keys claim, paper, statement, source, verdict, expected,
    control, control_verdict, numbers, seconds, reference, provenance and traceback; absent ones are left out.
    """

    title: str
    claims: Sequence[Mapping[str, Any]] = ()
    sections: Sequence[Section] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    notes: Sequence[str] = ()
    """What is damaged in the folder or must be known of it, in sentences."""


def write(page: Page, path: str | Path) -> Path:
    """Write the report to ``path``, whole or not at all, and return it."""
    path = Path(path)
    content = render(page).encode("utf-8", "replace")
    with telling(path):
        write_whole(path, content)
    return path


def render(page: Page) -> str:
    """The whole report as the text of one HTML file. Takes about 3 s, and 0.1 s more for each figure."""
    anchors = _anchors(page.sections)
    studies = [study_section(section, name) for section, name in zip(page.sections, anchors, strict=True)]
    body = "".join([_opening(page, anchors), claims_table(page.claims), *studies, _closing(page)])
    drawn = any(section.figures for section in page.sections)
    dark = json.dumps({"config": theme.config(dark=True), "colours": theme.DARK}).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(page.title)}</title>\n<style>{_resource('page.css')}</style>\n"
        "<script>document.documentElement.classList.add('live')</script>\n</head>\n"
        f"<body>\n<main>{body}</main>\n"
        f'<script type="application/json" id="dark">{dark}</script>\n'
        f"<script>{_script(bundle()) if drawn else ''}</script>\n"
        f"<script>{_script(_resource('page.js'))}</script>\n</body>\n</html>\n"
    )


def _opening(page: Page, anchors: Sequence[str]) -> str:
    links = ['<a href="#claims">Claims</a>'] if page.claims else []
    for anchor, section in zip(anchors, page.sections, strict=True):
        links.append(f'<a href="#{anchor}">{escape(section.title)}</a>')
    links.append('<a href="#environment">Environment</a>')
    return (
        f'<header class="opening"><p class="kicker">whyconv report</p><h1>{escape(page.title)}</h1>'
        f'<p class="lead">{_lead(page)}</p>{_notes(page)}'
        f'<nav aria-label="Contents">{"".join(links)}</nav></header>'
    )


def _lead(page: Page) -> str:
    """The report in three sentences."""
    said = [tally(page.claims)] if page.claims else []
    if page.sections:
        total = sum(section.rows for section in page.sections)
        said.append(f"{count(len(page.sections), 'study', 'studies')} with {count(total, 'finished trial')}.")
    judged = [section.judgement for section in page.sections if section.judgement is not None]
    verdicts = [(each.evidence.verdict, each.control.verdict) for each in judged]
    faults = Counter(map(fault, page.claims))
    faults.update(control_fault(*pair) for pair in verdicts if pair != OPEN)
    del faults[""]
    for words, number in faults.items():
        said.append(f'<strong class="alarm">{count(number, "control")} {words}.</strong>')
    if OPEN in verdicts:
        who = count(verdicts.count(OPEN), "study is", "studies are")
        said.append(f"{who} undecided with the control; more seeds may decide.")
    elif not faults and (judged or any(claim.get("control_verdict") for claim in page.claims)):
        said.append("Every control, broken on purpose, gave another verdict.")
    return " ".join(said) or "There is nothing to report yet."


def _notes(page: Page) -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in page.notes)
    return f'<ul class="notes">{items}</ul>' if items else ""


def _closing(page: Page) -> str:
    lines = [
        f"<div><dt>{escape(str(name))}</dt><dd>{escape(str(value))}</dd></div>"
        for name, value in page.environment.items()
    ]
    again = f'<p class="quiet">This page again:</p>{command(page.command)}' if page.command else ""
    return (
        f'<footer id="environment"><h2>Environment</h2>{again}<dl class="environment">{"".join(lines)}</dl>'
        '<p class="quiet">Lines are means, bands and bars are 95 % intervals (Student t over the seeds), '
        "faint lines are single runs. This page loads nothing from the network.</p></footer>"
    )


def _anchors(sections: Sequence[Section]) -> list[str]:
    """An identifier for each section, safe in HTML and in addresses, and used once."""
    seen: Counter[str] = Counter()
    names = []
    for section in sections:
        plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in section.study)
        seen[plain] += 1
        names.append(f"study-{plain}" + (f"-{seen[plain]}" if seen[plain] > 1 else ""))
    return names


def _resource(name: str) -> str:
    return files("whyconv.report").joinpath(name).read_text("utf-8")


def _script(text: str) -> str:
    """Script text that cannot end its own element; inside strings ``<\\/`` means ``</``."""
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
