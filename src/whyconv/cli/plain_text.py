"""Docstrings for the terminal: without reStructuredText markup, and wrapped.

Not by ``rich.markdown``, which without colours drops the quotes of code ("after epochs epochs") and knows no
roles.
"""

from __future__ import annotations

import re
import textwrap

_MARKS = re.compile(
    r"``(?P<code>.+?)``"
    r"|(?::[a-z:]+:)?`(?:~(?:[^`.]+\.)*)?(?P<name>[^`]+)`"
    r"|(?<![\w*])(?P<stars>\*{1,2})(?![\s*])(?P<stressed>[^*]+?)(?<!\s)(?P=stars)(?![\w*])",
    re.DOTALL,
)
_ITEM = re.compile(r" *(?:[-*]|\d+\.) +")


def unmarked(text: str) -> str:
    """The text without backticks, roles and stars; a name that was marked as code is quoted.

    >>> print(unmarked("``m`` = ``2 * 3``, *or* :func:`~whyconv.api.run`, of m* and 2 * 3"))
    'm' = 2 * 3, or run, of m* and 2 * 3
    """
    return _MARKS.sub(_plain, text)


def _plain(found: re.Match[str]) -> str:
    code = found["code"]
    if code is not None:
        return f"'{code}'" if code.isidentifier() else code
    return found["name"] or found["stressed"]


def wrapped(text: str, width: int) -> str:
    """A docstring at this width: paragraphs and list items are filled, indented lines stay lines.

    An indented line that begins with a dash is an item only within a list; else it is a formula.
    """
    lines: list[str] = []
    block: list[str] = []
    hanging = 0

    def flush() -> None:
        if block:
            whole = unmarked(" ".join([block[0], *(line.strip() for line in block[1:])]))
            lines.extend(_fill(whole, width, " " * hanging))
            block.clear()

    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        item = _ITEM.match(line) if hanging or not indent else None
        if not line.strip():
            flush()
            lines.append("")
            hanging = 0
        elif item:
            flush()
            hanging = item.end()
            block.append(line)
        elif indent == 0:
            if hanging:
                flush()
            hanging = 0
            block.append(line)
        elif hanging and block:
            block.append(line)
        else:
            flush()
            lines += _fill(unmarked(line.rstrip()), width, " " * (indent + 2))
    flush()
    return "\n".join(lines)


def _fill(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)
