"""The seeds of the claims that draw: ``COUNT`` of them, from ``FIRST`` on."""

from __future__ import annotations

FIRST = 100
COUNT = 20


def seeds() -> range:
    """The seeds, read when a claim is decided."""
    return range(FIRST, FIRST + COUNT)
