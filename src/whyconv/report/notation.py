"""Typesets the mathematics of docstrings: subscripts, superscripts and signs of ``|w_i|^2 >= 2n``.

Only what is unambiguous is changed. A subscript belongs to a single letter or a Greek name: ``pattern_dim``
stays. A hyphen becomes a minus between spaces, before a number, and inside ``n-1``: ``max-pooling`` stays.
"""

from __future__ import annotations

import re
from html import escape

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

_OBJECT = r"\{\"(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_VERBATIM = rf"`+([^`]+)`+|({_OBJECT})"
"""What is left alone: code in backticks, and JSON objects, of three levels at most."""


def prose(text: object) -> Markup:
    """Escaped text with its mathematics typeset; code in ``backticks`` is left alone.

    >>> print(prose("VCdim >= 2^(d/2 - 1)"), prose("`a_1` of max-pooling"))
    VCdim ≥ 2<sup>d/2 − 1</sup> <code>a_1</code> of max-pooling
    """
    parts = re.split(_VERBATIM, str(text))
    return Markup(
        "".join(
            f"<code>{escape(part)}</code>" if place % 3 else _mathematics(escape(part))
            for place, part in enumerate(parts)
            if part is not None
        )
    )


def _mathematics(text: str) -> str:
    text = _GREEK_NAME.sub(lambda match: GREEK[match[1]], text)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
