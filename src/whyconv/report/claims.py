"""Summaries of claims, and what is wrong with their controls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from whyconv.report.wording import MEANINGS
from whyconv.text import count
from whyconv.verdict import control_fault

Entry = Mapping[str, Any]
"""A claim, as in :class:`whyconv.report.html.Page`."""


def tally(claims: Sequence[Entry]) -> str:
    """``12 claims: 8 holds, 3 consistent, 1 fails.``"""
    words = ", ".join(f"{number} {word}" for word, number in verdict_counts(claims))
    return f"{count(len(claims), 'claim')}: {words}."


def verdict_counts(claims: Sequence[Entry]) -> list[tuple[str, int]]:
    """The count of each verdict, in the order of :data:`MEANINGS`, then unknown words."""
    found = Counter(str(claim.get("verdict", "")) for claim in claims)
    return [(word, found[word]) for word in [*MEANINGS, *sorted(found.keys() - MEANINGS)] if found[word]]


def fault(claim: Entry) -> str:
    """What is wrong with the claim's control; empty if nothing is, or if there is none."""
    found = claim.get("control_verdict")
    verdict, expected = str(claim.get("verdict", "")), str(claim.get("expected") or "")
    return control_fault(verdict, found, expected) if found else ""
