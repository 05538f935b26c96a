"""What a prior is worth: the examples needed without it over those needed with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from whyconv.lazy import pd
from whyconv.measure.complexity import Ratio, SampleComplexity, ratio


class Step(NamedTuple):
    """A prior, and two arms, one without it and one that has it."""

    prior: str
    without: str
    given: str


def worth(needed: Mapping[str, SampleComplexity], without: str, given: str) -> Ratio | None:
    """m*(without) / m*(given), paired by seed: above 1 if the prior saves examples; None without both."""
    more, less = needed.get(without), needed.get(given)
    return ratio(more, less) if more is not None and less is not None else None


def ladder_table(needed: Mapping[str, SampleComplexity], steps: Iterable[Step]) -> pd.DataFrame:
    """One line for every step of the ladder: the ratio with its interval, and m* of both arms."""
    return pd.DataFrame(
        [
            {
                "prior": step.prior, "worth": found,
                "without it": f"{step.without}: {needed[step.without].cell}",
                "with it": f"{step.given}: {needed[step.given].cell}", "runs": found.count,
            }
            for step in steps
            if (found := worth(needed, step.without, step.given)) is not None
        ]
    )  # fmt: skip


def examples_table(needed: Mapping[str, SampleComplexity], table: pd.DataFrame) -> pd.DataFrame:
    """One line for every arm: m*, from how many sizes, the mean error at the largest, rate, parameters."""
    lines = []
    for arm, found in needed.items():
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
