"""Values as readers meet them: numbers, seeds, durations, verdict words, all as escaped HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, get_args

from whyconv.measure.estimate import Estimate
from whyconv.report.notation import prose
from whyconv.verdict import Verdict

if TYPE_CHECKING:
    pass

MEANINGS: Mapping[str, str] = {
    "holds": "Exact: the statement was computed and is true at the sizes named.",
    "consistent": "Statistical: what was measured agrees with the statement, on the range measured.",
    "holds as corrected": "The paper’s wording fails, a corrected one holds; the numbers show both.",
    "vacuous": "True, but it says nothing at these sizes, as when a probability is bounded by more than 1.",
    "undecided": "The interval straddles the threshold; more repetitions could decide.",
    "fails": "The statement is false at the sizes named, or the measurement contradicts it.",
    "error": "A check or a solver could not decide and says why; nothing is said of the statement.",
}
"""What each verdict word promises, in the order in which the page lists them."""

SOURCES: Mapping[str, str] = {
    "paper": "",
    "derived": "our derivation",
    "reconstructed": "reconstructed from second-hand text",
}
"""Whose wording a claim is, said where it is not the paper's own."""


def number(value: Any) -> str:
    """A number at four significant digits, large and small ones as a power of ten; other things as text.

    >>> number(0.0213), number(64000), number(True), number(2.5e-24)
    ('0.0213', '64,000', 'yes', '2.5 × 10<sup>−24</sup>')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return prose(value)
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


def badge(verdict: Any) -> str:
    """A verdict as a coloured label that also says its word; an unknown word stays grey."""
    word = str(verdict)
    kind = word.replace(" ", "-") if word in get_args(Verdict) else "unknown"
    return f'<span class="badge {kind}">{escape(word)}</span>'


def numbers(values: Mapping[str, Any], at_most: int = 5) -> str:
    """Named numbers as a definition list; those beyond ``at_most`` wait behind a click."""
    items = [_item(name, value) for name, value in values.items()]
    if not items:
        return ""
    first, rest = items[:at_most], items[at_most:]
    more = f"<details><summary>{len(rest)} more</summary><dl>{''.join(rest)}</dl></details>" if rest else ""
    return f'<div class="numbers"><dl>{"".join(first)}</dl>{more}</div>'


def _item(name: str, value: Any) -> str:
    """A name and its value side by side, or one above the other where both would not fit."""
    long = isinstance(value, str | Estimate) and len(str(value)) + len(name) > 32
    return f"<div{' class=long' if long else ''}><dt>{prose(name)}</dt><dd>{number(value)}</dd></div>"


def traceback(text: str) -> str:
    """A traceback behind a click; nothing for an empty one."""
    return f"<details><summary>Traceback</summary><pre>{escape(text)}</pre></details>" if text else ""


def command(text: str) -> str:
    """A command line to copy; nothing for an empty one."""
    return f'<pre class="command"><code>{escape(text)}</code></pre>' if text else ""


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A plain table of values; numbers are set at the right by the style sheet, and None is a dash."""
    head = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in columns)
    body = "".join("<tr>" + "".join(_cell(value) for value in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: Any) -> str:
    if value is None:
        return '<td class="number">–</td>'
    if isinstance(value, Estimate):
        value = value.cell
    plain = value.item() if hasattr(value, "item") else value
    kind = ' class="number"' if isinstance(plain, int | float) and not isinstance(plain, bool) else ""
    return f"<td{kind}>{number(plain)}</td>"
