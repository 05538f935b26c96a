"""Data that cannot be audited, and the room that data may take."""

from __future__ import annotations

from difflib import get_close_matches

from whyconv import system
from whyconv.errors import UserError

SHARE = 4
"""Data may take one part in so many of the memory that is free: workers hold copies of what they train on."""
SHOWN = 8
"""Names that a sentence lists."""


class BadData(UserError, ValueError):
    """Data that cannot be audited, in one sentence: what was given, what is allowed, what to do."""


def require_room(needed: float, what: str, memory: float | None = None) -> None:
    """Refuse data that takes ``needed`` bytes if that is too much; ``memory`` is the cap in GB, if any."""
    free = system.free_memory()
    allowed = min([each for each in (free, memory and memory * 1e9) if each is not None], default=None)
    if allowed is not None and needed > allowed / SHARE:
        raise BadData(
            f"{what} would take {size(needed)} of memory, and an audit may use {size(allowed / SHARE)} of it "
            f"for the data (a quarter of what is free, or of --memory); give fewer examples or features."
        )


def size(size: float) -> str:
    """192.9 GB, 35 MB."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:.3g} MB"


def listed(names: list[str]) -> str:
    """The first names, and how many more there are.

    >>> listed(["a", "b"])
    'a, b'
    """
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def nearest(name: str, names: list[str]) -> str:
    """Names like the one that was asked for, or the first ones there are."""
    return listed(get_close_matches(name, names, n=3) or names) or "none"
