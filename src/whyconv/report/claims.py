"""The table of claims: statement, verdict, the numbers that decide, and the control with its own verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from whyconv.report.notation import prose
from whyconv.report.wording import MEANINGS, SOURCES, badge, numbers, traceback
from whyconv.text import count, duration
from whyconv.verdict import control_fault

Entry = Mapping[str, Any]
"""A claim as :class:`whyconv.report.html.Page` takes it."""


def claims_table(claims: Sequence[Entry]) -> str:
    """The section of the page that lists ``claims``, with search, verdict filters and what the words mean."""
    if not claims:
        return ""
    heads = [f'<th scope="col">{name}</th>' for name in ("Claim", "Verdict", "What decides", "Control")]
    chips = [
        f'<button type="button" data-verdict="{escape(word)}" aria-pressed="false">{badge(word)} {n}</button>'
        for word, n in _counts(claims)
    ]
    meanings = [f"<div><dt>{badge(word)}</dt><dd>{prose(text)}</dd></div>" for word, text in MEANINGS.items()]
    return (
        '<section id="claims"><h2>Claims</h2>'
        '<p class="prose">Each statement of a paper is decided by a procedure that has a control: '
        "on something broken on purpose, the same procedure must give another verdict.</p>"
        '<div class="filter"><label>Search <input type="search" placeholder="lemma, VC dimension, …"></label>'
        f'<div class="chips">{"".join(chips)}</div><output aria-live="polite"></output></div>'
        f'<table class="claims"><thead><tr>{"".join(heads)}</tr></thead>'
        f"<tbody>{''.join(map(_line, claims))}</tbody></table>"
        '<details class="meanings" open><summary>What the verdicts mean</summary>'
        f"<dl>{''.join(meanings)}</dl></details></section>"
    )


def tally(claims: Sequence[Entry]) -> str:
    """``12 claims: 8 holds, 3 consistent, 1 fails.``"""
    words = ", ".join(f"{n} {escape(word)}" for word, n in _counts(claims))
    return f"{count(len(claims), 'claim')}: {words}."


def fault(claim: Entry) -> str:
    """What is wrong with the claim's control, if there is one."""
    found = claim.get("control_verdict")
    verdict, expected = str(claim.get("verdict", "")), str(claim.get("expected") or "")
    return control_fault(verdict, found, expected) if found else ""


def _counts(claims: Sequence[Entry]) -> list[tuple[str, int]]:
    """How often each verdict came out, in the order of :data:`MEANINGS`, then words we do not know."""
    found = Counter(str(claim.get("verdict", "")) for claim in claims)
    return [(word, found[word]) for word in [*MEANINGS, *sorted(found.keys() - MEANINGS)] if found[word]]


def _line(claim: Entry) -> str:
    verdict, expected = str(claim.get("verdict", "")), str(claim.get("expected") or "")
    differs = f'<p class="alarm">recorded: {escape(expected)}</p>' if expected not in ("", verdict) else ""
    seconds = duration(claim.get("seconds"))
    took = f'<p class="quiet">in {seconds}</p>' if seconds else ""
    return (
        f'<tr data-verdict="{escape(verdict)}" data-raw="{escape(str(claim.get("statement", "")))}">'
        f'<td class="statement"><p>{prose(claim.get("statement", ""))}</p>{_origin(claim)}</td>'
        f'<td data-label="Verdict">{badge(verdict)}{differs}</td>'
        f'<td data-label="What decides">{numbers(claim.get("numbers") or {}, at_most=4)}'
        f"{traceback(claim.get('traceback', ''))}{took}</td>"
        f'<td data-label="Control">{_control(claim)}</td></tr>'
    )


def _origin(claim: Entry) -> str:
    """Where the statement stands, whose wording it is unless the paper's, and the name to check it by."""
    where = claim.get("reference") or claim.get("paper")
    origin = " · ".join(str(part) for part in (where, SOURCES.get(str(claim.get("provenance")))) if part)
    name = f"<code>{escape(str(claim.get('claim', '')))}</code>"
    return f'<p class="quiet">{escape(origin)}</p><p class="quiet">{name}</p>'


def _control(claim: Entry) -> str:
    found = badge(claim["control_verdict"]) if claim.get("control_verdict") else ""
    note = f"<p>{prose(claim['control'])}</p>" if claim.get("control") else ""
    alarm = f'<p class="alarm">{fault(claim)}</p>' if fault(claim) else ""
    return found + note + alarm
