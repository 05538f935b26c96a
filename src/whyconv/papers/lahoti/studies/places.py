"""Studies of sample complexity at places (k, d, sigma), different ones for different networks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from whyconv.lazy import np, pd
from whyconv.papers.lahoti.studies.signal_study import RATED, SignalStudy
from whyconv.studies import Cell
from whyconv.studies.complexity import Sizes

LARGER = {"name": "projected", "rates": [0.3], "bias_rates": [0.1, 0.01], "steps": 500}
"""Steps with which the FCN reaches the target, too; the same for all."""
Place = tuple[int, int, float]
"""(k, d, sigma)."""


class PlacesStudy(SignalStudy):
    """m* of every arm at its places, which are numbered."""

    axis: ClassVar[str] = "size"
    places: dict[str, tuple[Place, ...]]
    sizes: Sizes = Field(default_factory=lambda: Sizes.model_validate({"resolution": 0.2}))

    def cells(self) -> Iterator[Cell]:
        """Every place, numbered, with the networks that are measured there."""
        wanted = {name: self.places.get(name, ()) for name in self.arms}
        for number, place in enumerate(dict.fromkeys(p for places in wanted.values() for p in places), 1):
            labels = {"size": number, **dict(zip(("k", "d", "sigma"), place, strict=True))}
            changes: dict[str, float] = dict(zip(RATED, place, strict=True))
            for name in self.arms:
                if place in wanted[name]:
                    yield self.cell(name, labels, changes)

    def numbered(self) -> dict[float, Place]:
        """The places by number."""
        return {c.labels["size"]: (c.labels["k"], c.labels["d"], c.labels["sigma"]) for c in self.cells()}

    @property
    def described(self) -> dict[float, str]:
        """The places in words, by number."""
        return {n: f"k = {k}, d = {d}, sigma = {s:g}" for n, (k, d, s) in self.numbered().items()}


def proportional(drawn: pd.DataFrame, formula: str) -> pd.DataFrame:
    """The line of slope one through the geometric mean of what was reached."""
    reached = drawn[drawn["m"].notna()]
    scale = float(np.exp(np.mean(np.log(reached["m"] / reached["x"])))) if len(reached) else 0.0
    lines = [(arm, x, scale * x, formula) for arm, x in zip(reached["arm"], reached["x"], strict=True)]
    return pd.DataFrame(sorted(lines), columns=["arm", "x", "y", "label"])
