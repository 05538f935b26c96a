"""Intervals with an open end, for readers who have never met one: a limit in words in place of ∞."""

from __future__ import annotations

import re

_NUMBER = r"[−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"
_INTERVAL = re.compile(rf"({_NUMBER}) \[({_NUMBER}|[−-](?:∞|inf)), ({_NUMBER}|∞|inf)\]( x\b|×)?")


def in_words(text: str) -> str:
    """
    >>> in_words("saves a factor of 8.6 [4.3, ∞] in examples"), in_words("8.6 [4.3, ∞] x")
    ('saves a factor of about 8.6, at least 4.3 in examples', 'about 8.6×, at least 4.3×')
    >>> in_words("20 [12, 32] x"), in_words("1.2 [-∞, 3]"), in_words("1.2 [-∞, ∞]")
    ('20 [12, 32]×', 'about 1.2, at most 3', 'about 1.2, no limit known')
    >>> in_words("1 [0, ∞] x"), in_words("1 [0, 4] x")
    ('about 1×, no limit known', '1 [0, 4]×')
    """
    return _INTERVAL.sub(_said, text)


def _said(found: re.Match[str]) -> str:
    value, low, high, times = found.groups()
    times = "×" if times else ""
    below, above = low[-1] not in "∞f", high[-1] not in "∞f"
    below = below and (above or low != "0")  # that a factor is at least 0 is no news
    if below and above:
        return f"{value} [{low}, {high}]{times}"
    limit = f"at least {low}{times}" if below else f"at most {high}{times}" if above else "no limit known"
    return f"about {value}{times}, {limit}"
