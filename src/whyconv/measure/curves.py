"""Learning curves: risks by sample size and seed, their means, and paired differences of two curves.

Samples are nested in m and seeds are shared between architectures, so comparisons are made within a seed.
Two rules avoid bias while trials are still running: decisions use :meth:`Curve.complete`, which has only the
sizes with every expected seed, and a seed that one of two curves lacks is left out of their difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

from whyconv.lazy import np, pd
from whyconv.measure.intervals import Interval, mean_interval


@dataclass(frozen=True)
class Curve:
    """The risks of one architecture: sample size -> {seed: risk}, sorted by size.

    A size without any seed is left out. A risk that is not finite (training diverged) stays.
    """

    risks: Mapping[int, Mapping[int, float]]

    def __post_init__(self) -> None:
        kept = {
            int(m): {int(seed): float(risk) for seed, risk in by_seed.items()}
            for m, by_seed in sorted(self.risks.items())
            if by_seed
        }
        if kept and min(kept) < 1:
            raise ValueError(f"a learning curve starts at m = 1 or later, but m = {min(kept)} was given")
        object.__setattr__(self, "risks", kept)

    @classmethod
    def from_table(cls, table: pd.DataFrame, m: str = "m", seed: str = "seed", value: str = "value") -> Curve:
        """One curve from a table with one line per size and seed; the arguments name its columns."""
        risks: dict[int, dict[int, float]] = {}
        if not table.empty:
            for size, number, risk in table[[m, seed, value]].itertuples(index=False):
                by_seed = risks.setdefault(int(size), {})
                if int(number) in by_seed:
                    raise ValueError(
                        f"the table has m = {size} with seed {number} twice; a curve needs it once"
                    )
                by_seed[int(number)] = float(risk)
        return cls(risks)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The measured sample sizes, ascending."""
        return tuple(self.risks)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, ascending; ValueError if they differ between sizes, see :meth:`complete`."""
        everywhere = sorted({seed for by_seed in self.risks.values() for seed in by_seed})
        for m, by_seed in self.risks.items():
            if lacking := [seed for seed in everywhere if seed not in by_seed]:
                raise ValueError(
                    f"the curve lacks seed {lacking[0]} at m = {m}; take complete(seeds) of it first"
                )
        return tuple(everywhere)

    def complete(self, seeds: Iterable[int]) -> Curve:
        """The sizes that have all of ``seeds``, restricted to these seeds."""
        expected = sorted(set(seeds))
        return Curve(
            {
                m: {seed: by_seed[seed] for seed in expected}
                for m, by_seed in self.risks.items()
                if all(seed in by_seed for seed in expected)
            }
        )

    def up_to(self, cap: int) -> Curve:
        """The sizes m <= ``cap``."""
        return Curve({m: by_seed for m, by_seed in self.risks.items() if m <= cap})

    def means(self) -> dict[int, float]:
        """The mean risk by size: nan if a risk is not finite; exactly the common value of equal risks."""
        return {m: _mean(list(by_seed.values())) for m, by_seed in self.risks.items()}

    def intervals(self, level: float = 0.95) -> dict[int, Interval]:
        """The mean risk by size with its Student t interval over the seeds."""
        return {m: mean_interval(by_seed.values(), level) for m, by_seed in self.risks.items()}

    def differences(self, other: Curve, level: float = 0.95) -> dict[int, Interval]:
        """The mean of ``self - other`` over common seeds, with its interval, at each common size."""
        paired = {
            m: [risk - other.risks[m][seed] for seed, risk in by_seed.items() if seed in other.risks[m]]
            for m, by_seed in self.risks.items()
            if m in other.risks
        }
        return {m: mean_interval(values, level) for m, values in paired.items() if values}

    def array(self) -> np.ndarray:
        """The risks as seeds x sizes, ordered like :attr:`seeds` and :attr:`sizes`."""
        seeds = self.seeds
        return np.array([[by_seed[seed] for by_seed in self.risks.values()] for seed in seeds], dtype=float)


def _mean(values: list[float]) -> float:
    if not all(map(math.isfinite, values)):
        return math.nan
    return values[0] if min(values) == max(values) else fmean(values)
