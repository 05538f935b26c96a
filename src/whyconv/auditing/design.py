"""How a data set is audited: split, sizes, windows and metric, all from the data alone.

The time that is given decides only how much is tried and for how long arms may train
(:mod:`whyconv.auditing.budget`): with more minutes later, whatever does not change is not computed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from whyconv.auditing.arms import ARMS, USUAL, windows
from whyconv.auditing.dataset import BadData, Dataset
from whyconv.auditing.keeping import digest
from whyconv.auditing.study import Audit
from whyconv.lazy import np
from whyconv.spec import checked
from whyconv.tasks.own_data import OwnData

UNLIKE = 30.0
"""Features whose spreads differ by more than this factor are scaled one by one."""
RARE = 0.2
"""Balanced error if the smallest class has less than this share of its even share."""
MOST_SIZES = 6
LEAST = 16
"""The smallest size has at least this many examples, and two per class."""
MOST_STATES = 2_000_000
METRICS = ("error", "balanced", "logloss", "mse")


def designed(
    dataset: Dataset,
    *,
    metric: str = "auto",
    arms: Sequence[str] | str | None = None,
    random_state: int = 0,
    target: float | None = None,
    budget: float | None = None,
) -> Audit:
    """The study of a data set; ``budget``: the seconds of a core that it may take."""
    count, labels = len(dataset.y), len(dataset.classes)
    test = count // 4
    largest = 1 if dataset.groups is None else int(np.bincount(dataset.groups).max())
    real = labels == 0
    unit = float(np.std(dataset.y)) if real else 1.0
    task = checked(
        OwnData,
        {
            "data": digest(dataset), "grid": dataset.shape, "count": count, "labels": labels, "test": test,
            "largest_group": largest, "unit": unit, "centre": float(np.mean(dataset.y)) if real else 0.0,
            "scaling": "channel" if dataset.grid == "image" else scaling(dataset.x),
        },
        "these data",
    )  # fmt: skip
    values = {
        "task": task,
        "data_name": dataset.name,
        "kind_of_grid": dataset.grid,
        "metric": chosen_metric(dataset, metric),
        "rarest": 0 if real else int(np.bincount(dataset.y, minlength=labels).min()),
        "sizes": doubling(task.most(False), max(LEAST, 2 * labels)),
        "arms": chosen_arms(arms),
        "windows": windows(dataset.shape),
        "notes": dataset.warnings,
        "first_seed": first_seed(random_state),
        "target": target,
        "budget": budget,
    }
    return checked(Audit, values, "this audit")


def first_seed(random_state: int) -> int:
    """Every state has a thousand seeds for its rounds."""
    if not (isinstance(random_state, int | np.integer) and 0 <= random_state <= MOST_STATES):
        raise BadData(
            f"random_state = {random_state} was given; give a whole number from 0 to {MOST_STATES:,}."
        )
    return 1000 * int(random_state)


def doubling(most: int, least: int) -> tuple[int, ...]:
    """All examples, half, a quarter, ...: up to six sizes, ascending, none below ``least``."""
    sizes = [most >> k for k in range(MOST_SIZES)]
    return tuple(sorted({m for m in sizes if m >= least} or {most}))


def scaling(x: np.ndarray) -> Literal["channel", "feature"]:
    """By feature if the spreads of features that vary differ by more than 30x, else by channel.

    Images are always scaled by channel: pixels at the border that are rarely set would be blown up.
    """
    spreads = x.reshape(len(x), -1).std(axis=0, dtype=np.float64)
    spreads = spreads[spreads > 0]
    unlike = len(spreads) > 0 and spreads.max() > UNLIKE * spreads.min()
    return "feature" if unlike else "channel"


def chosen_metric(dataset: Dataset, metric: str) -> str:
    """The metric asked for, or by the data: mse, balanced if a class is rare, else error."""
    real = not dataset.classes
    if metric == "auto":
        if real:
            return "mse"
        counts = np.bincount(np.asarray(dataset.y, int), minlength=len(dataset.classes))
        return "balanced" if counts.min() < RARE * len(dataset.y) / len(dataset.classes) else "error"
    if metric not in METRICS or (metric == "mse") != real:
        allowed = "mse" if real else "error, balanced or logloss"
        raise BadData(f"metric = {metric} was given; for these labels give auto, {allowed}.")
    return metric


def chosen_arms(arms: Sequence[str] | str | None) -> tuple[str, ...]:
    """The arms with these names, which may be one text with commas; None: the usual ones."""
    if arms is None:
        return USUAL
    if isinstance(arms, str):
        arms = [each.strip() for each in arms.split(",") if each.strip()]
    if unknown := [arm for arm in arms if arm not in ARMS]:
        raise BadData(f"there is no arm {unknown[0]!r}; choose among {', '.join(ARMS)}.")
    if not arms:
        raise BadData(f"no arm was given; choose among {', '.join(ARMS)}.")
    return tuple(arm for arm in ARMS if arm in arms)
