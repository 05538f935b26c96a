"""What a prior is worth: the examples needed without it over those needed with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

    from whyconv.measure.complexity import Ratio, SampleComplexity


class Step(NamedTuple):
    """A prior, and two arms, one without it and one that has it."""

    prior: str
    without: str
    given: str


def needed(table: pd.DataFrame, arm: str, target: float, seeds: Iterable[int]) -> SampleComplexity | None:
    """m*, the least m whose mean test error over seeds is at most the target; None before a size is done.

    Read off a grid of sizes, not searched for: linear in log m between neighbours, with the interval of
    :func:`whyconv.measure.complexity.sample_complexity`; never beyond the largest size.
    """
    from whyconv.measure.complexity import sample_complexity
    from whyconv.measure.curves import Curve

    part = table[table["arm"] == arm] if len(table) else table
    curve = Curve.from_table(part, value="test_error").complete(seeds)
    return sample_complexity(curve, target, curve.sizes[-1]) if curve.sizes else None


def worth(table: pd.DataFrame, without: str, given: str, target: float, seeds: Iterable[int]) -> Ratio | None:
    """m*(without) / m*(given), paired by seed: above 1 if the prior saves examples."""
    from whyconv.measure.complexity import ratio

    seeds = list(seeds)
    more, less = (needed(table, arm, target, seeds) for arm in (without, given))
    return ratio(more, less) if more is not None and less is not None else None


def worths(table: pd.DataFrame, steps: Iterable[Step], target: float, seeds: Iterable[int]) -> pd.DataFrame:
    """One line for every step of the ladder: the ratio with its interval, and m* of both arms."""
    import pandas as pd

    seeds, lines = list(seeds), []
    for step in steps:
        more, less = (needed(table, arm, target, seeds) for arm in (step.without, step.given))
        found = worth(table, step.without, step.given, target, seeds)
        if more is not None and less is not None and found is not None:
            lines.append(
                {
                    "prior": step.prior, "worth": found,
                    "without it": f"{step.without}: {more.cell}", "with it": f"{step.given}: {less.cell}",
                    "runs": found.count,
                }
            )  # fmt: skip
    return pd.DataFrame(lines)


def needs(table: pd.DataFrame, arms: Iterable[str], target: float, seeds: Iterable[int]) -> pd.DataFrame:
    """One line for every arm: m*, from how many sizes, the mean error at the largest, rate, parameters."""
    import pandas as pd

    seeds, lines = list(seeds), []
    for arm in arms:
        found = needed(table, arm, target, seeds)
        if found is not None:
            own = table[table["arm"] == arm]
            at = own[own["m"] == found.cap]
            lines.append(
                {
                    "arm": arm, "m*": found, "sizes": own["m"].nunique(), "largest m": found.cap,
                    "error there": at["test_error"].mean(),
                    "rate": at["rate"].iloc[0], "parameters": at["parameters"].iloc[0], "runs": found.count,
                }
            )  # fmt: skip
    return pd.DataFrame(lines)
