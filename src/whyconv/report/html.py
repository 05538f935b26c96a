"""The report: one HTML file with every verdict and figure, which needs no network and no server.

Beside each figure is what a sceptical reader needs: criterion, control, command, seeds, failed trials, data.
The page is built from finished values only; it runs no trial.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from whyconv.lazy import pd
from whyconv.measure.intervals import intervals_shown
from whyconv.report import theme
from whyconv.report.claims import fault, tally, verdict_counts
from whyconv.report.embedding import bundle
from whyconv.report.figures import address, drawn
from whyconv.report.notation import prose
from whyconv.report.wording import MEANINGS, SOURCES, as_json, cells, listed, number, verdict_class
from whyconv.runner.folder import as_user_error, write_whole
from whyconv.text import control_said, count, duration, means_of, seeds
from whyconv.verdict import control_fault

if TYPE_CHECKING:
    from whyconv.studies import Judgement

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:"
)
"""The browser may run what the page contains (Vega compiles expressions), and load nothing."""
OPEN = ("undecided", "undecided")
"""The verdicts of a study and its control when there are too few seeds."""

TEMPLATES = Environment(
    loader=PackageLoader("whyconv.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
"""Everything but Markup is escaped; only this package makes Markup."""
TEMPLATES.filters.update(
    {each.__name__: each for each in (address, as_json, cells, control_said, duration, fault)}
    | {each.__name__: each for each in (intervals_shown, listed)}
    | {each.__name__: each for each in (means_of, number, prose, seeds, verdict_class, verdict_counts)}
    | {"counted": count}
)
TEMPLATES.globals.update(DARK=theme.DARK, MEANINGS=MEANINGS, SOURCES=SOURCES)
TEMPLATES.policies["json.dumps_kwargs"] = {}  # keeps the order of keys


@dataclass(frozen=True)
class Section:
    """One study: criterion, judgement, figures, and what it takes to reproduce them.

    By title: ``figures`` are Altair charts, ``pictures`` SVG texts that explain the setting, ``learned`` SVG
    texts of what was learned, ``tables`` the study's own. ``frozen`` says whether the criterion was there
    before the rows. ``summary`` has the means of ``outcome``; ``rule`` holds notes such as the stopping rule;
    ``unjudged`` says why there is no verdict; ``failed`` has one line per failed trial, and ``tracebacks``
    its traceback by that line.
    """

    study: str
    title: str
    apart: str = ""
    """What tells this run from others of its study."""
    changes: Sequence[str] = ()
    """Settings that differ from the preset's."""
    worths: Sequence[Mapping[str, str]] = ()
    """The answers in short, for a table at the top of several sections."""
    answers: Sequence[str] = ()
    """What the rows say, the most important sentence first."""
    conclusion: str = ""
    """What the verdict means for the question in the title."""
    progress: str = ""
    """``35 of 51 trials`` while some are missing."""
    lost: str = "fails, as it must"
    reference: str = ""
    criterion: str = ""
    frozen: str = ""
    control_note: str = ""
    judgement: Judgement | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)
    glossary: Mapping[str, str] = field(default_factory=dict)
    """What the data are and what each network is, in a line each."""
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
    control, control_verdict, numbers, seconds, reference, provenance and traceback; any may be absent.
    """

    title: str
    claims: Sequence[Mapping[str, Any]] = ()
    sections: Sequence[Section] = ()
    environments: Sequence[Mapping[str, Any]] = ()
    """In which rows were computed."""
    command: str = ""
    notes: Sequence[str] = ()
    """Sentences on damage in the folder and other remarks."""


def write(page: Page, path: str | Path) -> Path:
    """Write the report to ``path``, whole or not at all, and return the path."""
    path = Path(path)
    content = render(page).encode("utf-8", "replace")
    with as_user_error(path):
        write_whole(path, content)
    return path


def render(page: Page) -> str:
    """The report as HTML. Takes about 3 s, and 0.1 s more for each figure."""
    anchors = _anchors(page.sections)
    worths = [(a, line) for a, each in zip(anchors, page.sections, strict=True) for line in each.worths]
    return TEMPLATES.get_template("page.html").render(
        page=page,
        lead=_lead(page),
        worths=worths if len(page.sections) > 1 else [],
        studies=[_study(section, anchor) for section, anchor in zip(page.sections, anchors, strict=True)],
        policy=POLICY,
        dark={"config": theme.config(dark=True), "colours": theme.DARK},
        style=Markup(_resource("page.css")),
        script=_script(_resource("page.js")),
        vega=_script(bundle()) if any(section.figures for section in page.sections) else "",
    )


def _study(section: Section, anchor: str) -> dict[str, Any]:
    """What ``study.html`` shows: the section, its charts as drawn, and how its control did."""
    judgement, said, good = section.judgement, "", True
    if judgement is not None:
        said, good = control_said(judgement.evidence.verdict, judgement.control.verdict, section.lost)
    return {
        "section": section,
        "anchor": anchor,
        "figures": [
            drawn(title, chart, f"{anchor}-{place}", section.title)
            for place, (title, chart) in enumerate(section.figures.items(), 1)
        ],
        "control": said,
        "flipped": good,
    }


def _lead(page: Page) -> list[tuple[str, str]]:
    """The opening sentences of the report, each with its colour if it needs one: *amber* or *alarm*."""
    lead = [(tally(page.claims), "")] if page.claims else []
    if page.sections:
        studies = count(len({section.study for section in page.sections}), "study", "studies")
        if len({section.study for section in page.sections}) < len(page.sections):
            studies = f"{count(len(page.sections), 'run')} of {studies}"
        rows = count(sum(section.rows for section in page.sections), "finished trial")
        lead.append((f"{studies} with {rows}.", ""))
    waiting = [section for section in page.sections if section.progress]
    if waiting:
        words = ", ".join(f"{section.progress} of {section.study}" for section in waiting[:3])
        words += f" and {len(waiting) - 3} more" if len(waiting) > 3 else ""
        lead.insert(0, (f"Not finished: {words}.", "amber"))
    judged = [section.judgement for section in page.sections if section.judgement is not None]
    verdicts = [(each.evidence.verdict, each.control.verdict) for each in judged]
    faults = Counter(map(fault, page.claims))
    faults.update(control_fault(*pair) for pair in verdicts if pair != OPEN)
    del faults[""]
    lead += [(f"{count(number, 'control')} {words}.", "alarm") for words, number in faults.items()]
    if OPEN in verdicts:
        who = count(verdicts.count(OPEN), "study is", "studies are")
        lead.append((f"{who} undecided, as is the control.", ""))
    elif not faults and (judged or any(claim.get("control_verdict") for claim in page.claims)):
        lead.append(("Every control, broken on purpose, gave another verdict.", ""))
    return lead or [("There is nothing to report yet.", "")]


def _anchors(sections: Sequence[Section]) -> list[str]:
    """A unique identifier for each section, safe in HTML and URLs."""
    seen: Counter[str] = Counter()
    names = []
    for section in sections:
        plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in section.study)
        seen[plain] += 1
        names.append(f"study-{plain}" + (f"-{seen[plain]}" if seen[plain] > 1 else ""))
    return names


def _resource(name: str) -> str:
    return files("whyconv.report").joinpath(name).read_text("utf-8")


def _script(text: str) -> Markup:
    """Our own script, escaped so that it cannot end its element: inside strings ``<\\/`` is ``</``."""
    return Markup(text.replace("</script", "<\\/script").replace("<!--", "<\\!--"))
