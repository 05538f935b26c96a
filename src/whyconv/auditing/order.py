"""Does the order of features matter? The same sample as it is, and in random orders.

Two networks are asked, one that pools neighbouring windows and one that takes the largest of all, each with
several windows: how a pattern shows itself is not known before. Every network with a window is a *view*, x_vk
its outcome in order k, k = 0 the order as it is. Of every order the statistic is the largest

    t_k = max over v of |x_vk - mean_v| / spread_v,

mean and standard deviation over all orders, k = 0 included. Every order gets the same sample, the same starts
of the networks and the same rate; so if order does not matter all are exchangeable, t treats them alike, and
p = (number of k with t_k >= t_0) / (number of orders) is exact: ties count against it, and nothing is chosen
that is not chosen in every order. It is two-sided: smooth series can do better in random orders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from whyconv.auditing.phases import ORDER
from whyconv.auditing.result import Order
from whyconv.lazy import np
from whyconv.studies import Point
from whyconv.trial import Row

if TYPE_CHECKING:
    from whyconv.auditing.study import Audit

ALPHA = 0.05
TIE = 1e-9


def deviations(outcomes: np.ndarray) -> np.ndarray:
    """|x - mean| / spread within each row (a view; orders are columns); 0 where all orders agree."""
    apart = np.abs(outcomes - outcomes.mean(axis=1, keepdims=True))
    spread = outcomes.std(axis=1, keepdims=True)
    return np.where(spread > TIE, apart / np.maximum(spread, TIE), 0.0)


def chance(largest: np.ndarray) -> float:
    """The p of "the first order is one of the random ones" by a statistic of all orders.

    With n random orders the least possible p is 1 / (n + 1): .025 with 39.
    """
    return float(np.mean(largest >= largest[0] - TIE))


def order_test(study: Audit, points: Sequence[Point], rows: Mapping[str, Row]) -> Order:
    """The test; what is shown is the view that deviates most in the order as it is.

    (The log loss has fewer ties but says little: networks that fit their sample are too sure of themselves.)
    """
    views: dict[tuple[str, int], dict[int, float]] = {}
    for point in points:
        if point.labels["phase"] == ORDER:
            row = rows.get(point.trial.key)
            if row is None:
                return Order("not judged", why="the test is not done; give more minutes")
            if row.status != "ok":
                return Order("not judged", why=f"a trial of the test failed: {row.error}")
            view = views.setdefault((str(point.labels["arm"]), int(point.labels["window"])), {})
            view[int(point.labels["order"])] = float(row.result[study.column])
    outcomes = np.array([[view[number] for number in sorted(view)] for view in views.values()])
    if not views or outcomes.shape[1] < 2:
        return Order("not judged", why="no random orders were asked for")
    apart = deviations(outcomes)
    p, shown = chance(apart.max(axis=0)), int(apart[:, 0].argmax())
    here, permuted = float(outcomes[shown, 0]), float(outcomes[shown, 1:].mean())
    matters = p <= ALPHA + TIE
    why = "random orders do better: neighbours say the same" if matters and here > permuted else ""
    verdict, arm = ("matters" if matters else "not seen"), [*views][shown][0]
    return Order(verdict, p, here, permuted, outcomes.shape[1] - 1, arm, why)
