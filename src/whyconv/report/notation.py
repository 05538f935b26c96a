"""Typesets the mathematics of docstrings: subscripts, superscripts and signs of ``|w_i|^2 >= 2n``.

Only what is unambiguous is changed. A subscript belongs to a single letter or a Greek name: ``pattern_dim``
stays. A hyphen becomes a minus between spaces, before a number, and inside ``n-1``: ``max-pooling`` stays.
"""

from __future__ import annotations

import re
from html import escape
from itertools import cycle

from markupsafe import Markup

GREEK = dict(
    zip(
        [
            "alpha",
            "beta",
            "gamma",
            "delta",
            "epsilon",
            "eps",
            "eta",
            "theta",
            "lambda",
            "sigma",
            "rho",
            "phi",
            "pi",
        ],
        "αβγδεεηθλσρφπ",
        strict=True,
    )
)
_GREEK_NAME = re.compile(rf"(?<![A-Za-z])({'|'.join(GREEK)})(?![A-Za-z])")
_LETTER = r"[^\W\d_]"
_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\+-", "±"),
        (r"&gt;=", "≥"),
        (r"&lt;=", "≤"),
        (r"!=", "≠"),
        (r"(?<=[\w)\]|]) - (?=[\w(|])", " − "),
        (rf"(?<![\w)])-(?=[\d.]|{_LETTER}\b)", "−"),
        (rf"(?<=[\d)])-(?=\d|{_LETTER}\b|\()", "−"),
        (rf"\b({_LETTER})-(?=\d)", r"\1−"),
        (r"\bsqrt\(([^()]*)\)", r"√(\1)"),
        (r"\bsum_\{([^{}]*)\}", r"Σ<sub>\1</sub>"),
        (rf"\bsum_({_LETTER})\b", r"Σ<sub>\1</sub>"),
        (r"&lt;([\w./^]+, [\w./^()]+)&gt;", r"⟨\1⟩"),
        (rf"\b({_LETTER})_({_LETTER}\b|\d+|\*)", r"\1<sub>\2</sub>"),
        (rf"\b({_LETTER})_\{{([^{{}}]*)\}}", r"\1<sub>\2</sub>"),
        (r"(?<=[\[ ])-inf(?=[\],])", "−∞"),
        (r"(?<=[\[ ])inf(?=[\],])", "∞"),
        (rf"\^(\({_LETTER}(?:<sub>\w</sub>)?\))", r"<sup>\1</sup>"),
        (r"\^\(([^()]*)\)", r"<sup>\1</sup>"),
        (rf"\^([-−]?\d+(?:\.\d+)?|{_LETTER}\b|[+*])", r"<sup>\1</sup>"),
    )
)
"""Applied in this order to escaped text, after Greek names have become letters."""

_OPTION = r"(?<![\w-])(--(?:set|preset) [\w.=-]*\w|--[a-z][a-z-]*)"
_OBJECT = r"\{\"(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_VERBATIM = rf"`+([^`]+)`+|({_OBJECT})|{_OPTION}"
"""What is left alone: code in backticks, JSON objects, of three levels at most, and options of commands."""


def prose(text: object) -> Markup:
    """Escaped text with its mathematics typeset; code in ``backticks`` and options are left alone.

    >>> print(prose("VCdim >= 2^(d/2 - 1)"), prose("`a_1` of max-pooling"))
    VCdim ≥ 2<sup>d/2 − 1</sup> <code>a_1</code> of max-pooling
    >>> print(prose("with --set pool=8 -- n-1"))
    with <code class="option">--set pool=8</code> -- n−1
    """
    parts = re.split(_VERBATIM, str(text))
    marks = ("", "<code>", "<code>", '<code class="option">')
    return Markup(
        "".join(
            f"{mark}{escape(part)}</code>" if mark else _mathematics(escape(part))
            for mark, part in zip(cycle(marks), parts, strict=False)
            if part is not None
        )
    )


def _mathematics(text: str) -> str:
    text = _GREEK_NAME.sub(lambda match: GREEK[match[1]], text)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
