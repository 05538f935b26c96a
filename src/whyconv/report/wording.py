"""Values as the page shows them: numbers, verdicts, table cells. Functions that return Markup escape."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from markupsafe import Markup

from whyconv.lazy import pd
from whyconv.measure.estimate import Estimate
from whyconv.report.notation import prose
from whyconv.text import labelled
from whyconv.verdict import Verdict

_INTERVAL = re.compile(r"(?<=[\d∞f]), (?=[−-]?[\d∞i][\d.e,−-]*\])")
"""The middle of an interval: a line breaks before ``[2, 3]``, not inside it."""
MEANINGS: Mapping[str, str] = {
    "holds": "Exact: the statement was computed and is true at the sizes named.",
    "consistent": "Statistical: what was measured agrees with the statement, on the range measured.",
    "holds as corrected": "The paper’s wording fails, a corrected one holds; the numbers show both.",
    "vacuous": "True, but it says nothing at these sizes, as when a probability is bounded by more than 1.",
    "undecided": "An interval contains its threshold (more repetitions may decide), or no size fits.",
    "fails": "The statement is false at the sizes named, or the measurement contradicts it.",
    "error": "A check or a solver could not decide, and reports why; the statement remains open.",
}
"""What each verdict means, in the order in which the page lists them."""

SOURCES: Mapping[str, str] = {
    "paper": "",
    "derived": "our derivation",
    "reconstructed": "reconstructed from second-hand text",
    "misprint": "misprinted in the text at hand",
}
"""Where a claim's wording is from, if it is not the paper's own."""


def number(value: Any) -> Markup:
    """A number at four significant digits, large and small ones with a power of ten; other values as text.

    >>> print(number(0.0213), number(64000), number(True), number(2.5e-24))
    0.0213 64,000 yes 2.5 × 10<sup>−24</sup>
    """
    if isinstance(value, bool):
        return Markup("yes" if value else "no")
    return Markup(_digits(value)) if isinstance(value, int | float) else prose(value)


def _digits(value: float) -> str:
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if isinstance(value, int) and abs(value) < 10**12:
        return f"{value:,}".replace("-", "−")
    if value == 0 or 1e-4 <= abs(value) < 1e9:
        digits = max(0, 3 - math.floor(math.log10(abs(value)))) if value else 0
        text = f"{round(value, digits):,.{digits}f}"
        return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")
    mantissa, exponent = f"{value:.3e}".split("e")
    power = str(int(exponent)).replace("-", "−")
    return f"{mantissa.rstrip('0').rstrip('.').replace('-', '−')} × 10<sup>{power}</sup>"


def verdict_class(verdict: object) -> str:
    """The CSS class of a verdict's badge; any other word is grey."""
    return str(verdict).replace(" ", "-") if verdict in get_args(Verdict) else "unknown"


def cells(frame: pd.DataFrame) -> Iterator[list[Any]]:
    """The rows of a data frame as plain values; missing ones are None."""
    for row in frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None):
        yield [_plain(value) for value in row]


def _plain(value: Any) -> Any:
    if isinstance(value, Estimate):
        value = value.cell
    if isinstance(value, str):
        return _INTERVAL.sub(",\xa0", value)
    return value.item() if hasattr(value, "item") else value


def listed(value: Any) -> str:
    """A part of an environment as text; a dictionary by its names.

    >>> listed({"jax": "0.10", "numpy": "2.4"}), listed({}), listed("3.11")
    ('jax 0.10, numpy 2.4', 'none', '3.11')
    """
    return (labelled(value) or "none") if isinstance(value, Mapping) else str(value)


def as_json(value: Any) -> str:
    """A string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, default=str)
