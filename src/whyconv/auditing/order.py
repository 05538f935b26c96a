"""Does the order of features matter? The same sample as it is, and in random orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from whyconv.auditing.arms import SHARED_MAX
from whyconv.auditing.phases import ORDER
from whyconv.auditing.result import Order
from whyconv.lazy import np
from whyconv.studies import Point
from whyconv.trial import Row

if TYPE_CHECKING:
    from whyconv.auditing.study import Audit


def two_sided(here: float, others: Sequence[float] | np.ndarray) -> float:
    """The p of "the order as it is is one of the random ones": twice the smaller tail, ties against it.

    With n random orders the least possible p is 2 / (n + 1): .05 with 39.
    """
    array = np.asarray(others, float)
    below, above = 1 + int(np.sum(array <= here)), 1 + int(np.sum(array >= here))
    return min(1.0, 2 * min(below, above) / (len(array) + 1))


def order_test(study: Audit, points: Sequence[Point], rows: Mapping[str, Row]) -> Order:
    """The test on a pooled CNN: its outcome with the better window.

    Every order gets the same sample, the same start of the network, the same rate and windows, and is judged
    by the better window, so under the hypothesis that order does not matter all are exchangeable. (The log
    loss has fewer ties but says little: networks that fit their sample are too sure of themselves.)
    """
    shown: dict[int, list[float]] = {}
    for point in points:
        if point.labels["phase"] == ORDER:
            row = rows.get(point.trial.key)
            if row is None:
                return Order("not judged", why="the test is not done; give more minutes")
            if row.status != "ok":
                return Order("not judged", why=f"a trial of the test failed: {row.error}")
            shown.setdefault(int(point.labels["order"]), []).append(float(row.result[study.column]))
    if len(shown) < 2:
        return Order("not judged", why="no random orders were asked for")
    here = min(shown.pop(0))
    others = [min(each) for each in shown.values()]
    p, permuted = two_sided(here, others), float(np.mean(others))
    matters = p <= 0.05 + 1e-9
    why = "random orders do better: neighbours say the same" if matters and here > permuted else ""
    return Order("matters" if matters else "not seen", p, here, permuted, len(others), SHARED_MAX, why)
