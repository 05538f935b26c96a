"""What cannot be asked of data that are fine: a target that nothing reaches, or too little time."""

from __future__ import annotations

from math import isfinite
from numbers import Real

from whyconv import system
from whyconv.auditing.bad_data import BadData
from whyconv.auditing.budget import FEWEST_SIZES
from whyconv.auditing.dataset import Dataset
from whyconv.auditing.outlook import guessed
from whyconv.auditing.study import Audit
from whyconv.lazy import np
from whyconv.runner.forecast import STOCK_BYTES, WORKER_BYTES, seconds
from whyconv.text import rough_duration

MOST = 100_000
ROUNDS = 15
"""A budget of so many rounds leaves some after the order test and tuning."""


def guessing(dataset: Dataset, metric: str) -> float:
    """The error of the best constant answer: the most frequent class, the shares of classes, or the mean."""
    if metric == "mse":
        return float(np.var(dataset.y))
    shares = np.bincount(np.asarray(dataset.y, np.int64)) / len(dataset.y)
    shares = shares[shares > 0]
    if metric == "logloss":
        return float(-(shares * np.log(shares)).sum())
    return 1 - 1 / len(shares) if metric == "balanced" else 1 - float(shares.max())


def require_target(target: float | None, dataset: Dataset, metric: str) -> None:
    """Refuse a target that no model reaches, or that guessing reaches."""
    if target is None:
        return
    guess = guessing(dataset, metric)
    if not (isinstance(target, Real) and isfinite(target) and 0 < target < guess):
        raise BadData(
            f"the target {target!s:.40} was given; give one above 0 and below {guess:.3g}, which a constant "
            "answer has."
        )


def require_positive(**values: float | None) -> None:
    """Refuse what is no number above 0 and below 100,000; None is fine."""
    for name, value in values.items():
        number = value is None or (isinstance(value, Real) and not isinstance(value, bool))
        if not number or (value is not None and not 0 < value < MOST):
            raise BadData(f"{name} = {value!s:.40} was given; give a number above 0 and below {MOST:,}.")


def allowed_workers(workers: int | None, memory: float | None) -> int | None:
    """As many workers as were asked for and these gigabytes hold; None: by cores and free memory."""
    cores = system.cores()
    if workers is not None and not (isinstance(workers, int) and 1 <= workers <= cores):
        raise BadData(
            f"{workers!r:.40} workers were given; give 1 to {cores}, one for each core, or leave it out."
        )
    if memory is None:
        return workers
    return max(1, min(workers or cores, int(memory * 1e9 / (WORKER_BYTES + STOCK_BYTES))))


def round_seconds(study: Audit, workers: int | None) -> float:
    """How long a round takes, by the forecast of its trials, once their programs are compiled."""
    points = study.round(0, guessed(study, 1.0), study.sizes[-FEWEST_SIZES:])
    return sum(seconds(point.trial) for point in points) / (workers or system.cores())


def require_time(study: Audit, minutes: float, workers: int | None) -> None:
    """Refuse a budget in which not even one round of trials ends."""
    least = round_seconds(study, workers)
    if 60 * minutes < least:
        raise BadData(
            f"--minutes {minutes:g} was given, and a round takes about {rough_duration(least)} here; give "
            f"--minutes {max(1, round(ROUNDS * least / 60))} or more, or fewer examples."
        )
