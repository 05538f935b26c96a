"""Made-up worlds in which the truth is known: rows as a study would get them, for its own ``judge``.

A world belongs to a study, ``papers/<paper>/worlds/<the study's module>.py``, as its ``WORLD``. One condition
of the criterion, chosen by hand, is moved by an *effect* from far below its threshold to far above it; all
others are met, so that *consistent* at the threshold is a false alarm. Other conditions are not simulated.

Noise is of the size of measured rows where there were some: standard deviations among seeds of 0.007 to 0.037
for errors in ``brutzkus.fig3a``, of 0.005 to 0.027 for accuracies in ``malach.fig1``, of 10 to 40 % for risks
near the target in ``lahoti.vary-k`` (three seeds). Elsewhere it is assumed, so a study that is noisier than
its world has less power than the table says. Errors and accuracies vary around their expectation with a
standard deviation of 0.02 between seeds, half of the variance shared by all arms with that seed. Risks and
errors in a search for m* follow target * (m* / m)^slope times a log-normal factor: 20 % that a seed has
at every m, half of its variance for all arms, and half as much that is new at every m. Other noise is
said in a world itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whyconv.lazy import np, pd
from whyconv.measure.intervals import is_share

if TYPE_CHECKING:
    from whyconv.studies import Cell, Study

SPREAD = 0.02
"""Standard deviation of an error or an accuracy among seeds."""
BY_SEED = 0.2
"""Relative noise of a risk that a seed has at every m; half as much is new at every m."""

Value = Callable[[Mapping[str, Any]], float]
"""What is expected at a place, from its labels."""


@dataclass(frozen=True)
class World:
    """What is moved, in words with its unit; the effects far below, at, near and far above; and the rows."""

    effect: str
    below: float
    at: float
    near: float
    far: float
    rows: Callable[[Setting, float, np.random.Generator], pd.DataFrame]

    def effects(self) -> dict[str, float]:
        return {"far below": self.below, "at": self.at, "near": self.near, "far above": self.far}


class Setting:
    """A study with its cells, made once for many simulations."""

    def __init__(self, study: Study) -> None:
        self.study: Any = study

    @cached_property
    def cells(self) -> list[Cell]:
        return list(self.study.cells())

    @cached_property
    def goals(self) -> list[float]:
        """What the searches look for."""
        return [self.study.goal(cell) for cell in self.cells]

    @cached_property
    def _places(self) -> pd.DataFrame:
        lines = [{**cell.labels, "seed": seed} for cell in self.cells for seed in cell.seeds]
        return pd.DataFrame(lines)

    def per_row(self, value: Value) -> np.ndarray:
        """The value of every cell, once for each of its seeds."""
        return np.concatenate([np.full(len(cell.seeds), value(cell.labels), float) for cell in self.cells])

    def grid(
        self,
        rng: np.random.Generator,
        expected: Value,
        column: str,
        spread: float | Value = SPREAD,
        **constant: Any,
    ):
        """One row per cell and seed: the column varies around what is expected, half of it by seed alone.

        ``spread`` is a number or depends on the labels. A share stays within 0 and 1. ``constant`` are
        further columns.
        """
        places = self._places
        seeds, which = np.unique(places["seed"], return_inverse=True)
        noise = (rng.standard_normal(len(seeds))[which] + rng.standard_normal(len(places))) / np.sqrt(2)
        scale = spread if isinstance(spread, float | int) else self.per_row(spread)
        values = self.per_row(expected) + scale * noise
        if is_share(column):
            values = np.clip(values, 0.0, 1.0)
        return places.assign(**{column: values}, **constant)

    def flags(self, rng: np.random.Generator, probability: Value) -> np.ndarray:
        """Whether each row succeeds, with this probability."""
        return rng.random(len(self._places)) < self.per_row(probability)

    def searched(
        self,
        rng: np.random.Generator,
        needed: Value,
        slope: float = 1.0,
        noise: Value | None = None,
        goal: float | None = None,
        **constant: Any,
    ) -> pd.DataFrame:
        """The rows of every cell's search for m*, where the truth is ``needed``.

        ``noise`` replaces BY_SEED, and ``goal`` that of the study.
        """
        every = sorted({seed for cell in self.cells for seed in cell.seeds})
        shared = dict(zip(every, rng.standard_normal(len(every)), strict=True))
        places, risks_found = [], []
        goals = self.goals if goal is None else [goal] * len(self.cells)
        for cell, aim in zip(self.cells, goals, strict=True):
            scale = noise(cell.labels) if noise else BY_SEED
            both = np.array([shared[seed] for seed in cell.seeds]) + rng.standard_normal(len(cell.seeds))
            own, new, need = scale * both / np.sqrt(2), scale / 2, needed(cell.labels)
            means: dict[int, float] = {}
            assert cell.search is not None
            while wanted := cell.search.wanted(means, aim):
                for m in wanted:
                    factor = own + new * rng.standard_normal(len(own)) - (scale**2 + new**2) / 2
                    risks = aim * (need / m) ** slope * np.exp(factor)
                    if is_share(self.study.outcome):
                        risks = np.minimum(risks, 1.0)
                    means[m] = float(risks.mean())
                    places += [{**cell.labels, "m": m, "seed": seed} for seed in cell.seeds]
                    risks_found.append(risks)
        return pd.DataFrame(places).assign(**{self.study.outcome: np.concatenate(risks_found)}, **constant)


def coupled(table: pd.DataFrame, twin: str, arm: str, column: str, *labels: str) -> pd.DataFrame:
    """The table where a twin has its arm's own numbers, as a coupled network on permuted pixels has."""
    keys = [*labels, "seed"]
    own = table[table["arm"] == arm].set_index(keys)[column]
    which = table["arm"] == twin
    values = table[column].copy()
    values[which] = own.loc[pd.MultiIndex.from_frame(table.loc[which, keys])].to_numpy()
    return table.assign(**{column: values})
