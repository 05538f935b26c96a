"""How a place to run trials stands at the moment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Standing:
    """How many trials run at a time, where if it is not here, and what a user should know."""

    slots: int
    where: str = ""
    notes: tuple[str, ...] = ()
