"""The least-norm separator as the end of the path of soft margins, or the proof that there is none."""

from __future__ import annotations

from dataclasses import dataclass

from whyconv.exact.margins.margin_path import path
from whyconv.exact.margins.max_margin import Separator, certified_range
from whyconv.lazy import Floats, np

GAP = 1e-6
"""Upper over lower bound of the least squared norm, minus one, at which the hard margin counts as solved."""


@dataclass(frozen=True)
class PathEnd:
    """``low`` <= t <= ``high`` for t = max min_i rows_i . w over |w_j| <= 1; the separator, if found."""

    low: float
    high: float
    separator: Separator | None


def follow(rows: Floats, threshold: float) -> PathEnd:
    """Lower the ridge until t is proved to be at most the threshold, or the least-norm separator is found.

    Of the separator, the bounds of :func:`~.max_margin.certified_range` agree up to ``GAP``;
    its multipliers are those of the best lower bound on the way. Neither end may be reached before the last
    ridge, or one too small for the arithmetic; ``low`` and ``high`` tell what is known by then.
    Cost: 5 to 15 steps of :class:`SoftMargins` a ridge, 5 ridges as a rule.
    """
    low, high, least, best = 0.0, np.inf, 0.0, np.zeros(len(rows))
    for vector, multipliers in path(rows):
        below, above = bracket(rows, vector, multipliers)
        low, high = max(low, below), min(high, above)
        if high <= threshold:
            break
        dual, most = certified_range(rows, Separator(vector, multipliers, np.nan))
        if dual > least:
            least, best = dual, multipliers
        if low > threshold and most <= (1 + GAP) * least:
            return PathEnd(low, high, Separator(vector, best, float(vector @ vector)))
    return PathEnd(low, high, None)


def bracket(rows: Floats, vector: Floats, multipliers: Floats) -> tuple[float, float]:
    """Bounds on t = max min_i rows_i . w over |w_j| <= 1, from any vector v and any multipliers >= 0.

    Below: min_i rows_i . v / max_j |v_j|. Above: t sum(lambda) <= (rows.T lambda) . w <= |rows.T lambda|_1.
    """
    largest, total = float(np.abs(vector).max()), float(multipliers.sum())
    low = float((rows @ vector).min()) / largest if largest > 0 else 0.0
    return low, float(np.abs(rows.T @ multipliers).sum()) / total if total > 0 else np.inf
