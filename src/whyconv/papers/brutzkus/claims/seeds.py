"""The seeds of the claims that draw: twenty, from 100 on."""

from __future__ import annotations

from whyconv.claims.seeds import draw_seeds


def seeds() -> range:
    return draw_seeds(20, first=100)
