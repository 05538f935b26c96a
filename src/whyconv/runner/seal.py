"""How a row is written down, and how it is known to be the row that was written.

A row is stored as the texts of its columns and a digest over all of them. Its key and stem are
digests too, of its specification. So a row that was damaged, or put under another key, is noticed
whenever it is read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from whyconv.spec import digest, to_json
from whyconv.trial import Row

COLUMNS = ("key", "stem", "spec", "versions", "status", "result", "trace", "error", "environment")
"""The columns of a row that its digest covers: all but the digest itself."""


def seal(row: Row) -> list[str]:
    """The texts of the columns, and last their digest."""
    values = [getattr(row, name) for name in COLUMNS]
    texts = [value if isinstance(value, str) else to_json(value) for value in values]
    return [*texts, digest(texts)]


def unseal(columns: Sequence[str]) -> Row:
    """The row of intact columns (see :func:`complaint`)."""
    fields = dict(zip(COLUMNS, columns, strict=False))
    for name in ("spec", "versions", "result", "trace"):
        fields[name] = json.loads(fields[name])
    return Row(**fields)  # pyright: ignore[reportArgumentType]


def complaint(columns: Sequence[object]) -> str:
    """What is wrong with stored columns; empty if they are intact."""
    *texts, stored = columns
    if not all(isinstance(text, str) for text in texts) or digest(texts) != stored:
        return "its digest does not match what it holds"
    try:
        row = unseal([str(text) for text in texts])
    except ValueError:
        return "it holds text that is not JSON"
    if row.key != digest({"spec": row.spec, "versions": row.versions})[:32]:
        return "its key is not that of its specification"
    if row.stem != digest(row.spec)[:32]:
        return "its stem is not that of its specification"
    return ""
