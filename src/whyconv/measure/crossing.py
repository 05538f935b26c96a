r"""Where the expected risk meets a target: the point, and the confidence set by inverting a test.

Between two neighbouring measured sizes every seed's risk r_s is assumed linear in log m. With n seeds,
their mean r(m), their standard error se(m) and Student's t with n - 1 degrees of freedom, the set

    { m in the measured range :  |r(m) - target| <= t * se(m) }

contains the sizes at which the hypothesis "the expected risk is the target" is not rejected. If the expected
curve meets the target at m, then m is in the set with the probability of the t interval at m, for any slope
and noise; nothing is divided by an estimated slope. Between two sizes, at the share u in [0, 1] of log m,
r - target = A + B u and the seeds' deviations from the mean are d_s + e_s u, so the condition is the
quadratic

    (A + B u)^2 <= f * sum_s (d_s + e_s u)^2,      f = t^2 / (n (n - 1)),

and the ends of the set are measured sizes or its roots. For a noisy curve the set may be disconnected; its
hull is reported.
"""

from __future__ import annotations

import math

from whyconv.lazy import np


def locate(means: np.ndarray, target: float) -> tuple[int | None, float]:
    """``(k, u)``: the first size ``k`` whose mean is at most ``target``, and the share u of the way to it.

    The mean curve meets the target at the share u of log m from size k - 1 to size k. k is None if no size
    reaches it; u is 1, at size k itself, if size k - 1 does not exist or has no finite mean. nan does not
    reach the target.
    """
    reaching = [k for k, mean in enumerate(means) if mean <= target]
    if not reaching:
        return None, math.nan
    k = reaching[0]
    if k == 0 or not math.isfinite(means[k - 1]):
        return k, 1.0
    return k, float((means[k - 1] - target) / (means[k - 1] - means[k]))


def between(low: float, high: float, share: float) -> float:
    """The size at ``share`` of the way from ``low`` to ``high`` in log m; exactly ``high`` for share 1."""
    return float(high if share == 1 else low * (high / low) ** share)


def limits(
    sizes: np.ndarray, means: np.ndarray, deviations: np.ndarray, target: float, t: float
) -> tuple[float, float]:
    """The hull of the confidence set; ``deviations`` are risks minus means, seeds x sizes.

    low is 0 if the smallest size may have reached the target already, high is inf if the largest may not
    have: nothing is extrapolated. A size with a risk that is not finite excludes nothing, so the set contains
    everything from its left to its right neighbour. If every size is clearly above the target, the set
    begins at the largest size; if every one is clearly below, it ends at the smallest.
    """
    count = len(deviations)
    factor = t * t / (count * (count - 1))
    reach = np.sqrt(factor * np.sum(deviations**2, axis=0))
    unknown = ~np.isfinite(means)
    inside = unknown | (np.abs(means - target) <= reach)
    inside[:-1] |= unknown[1:]
    inside[1:] |= unknown[:-1]
    found = [float(size) for size in sizes[inside]]
    for k in range(len(sizes) - 1):
        if not unknown[k : k + 2].any():
            shares = _roots(means[k] - target, means[k + 1] - means[k], deviations[:, k : k + 2], factor)
            found += [between(sizes[k], sizes[k + 1], u) for u in shares if 0 <= u <= 1]
    low, high = (min(found), max(found)) if found else (float(sizes[-1]), float(sizes[0]))
    if not means[0] - reach[0] > target:
        low = 0.0
    if not means[-1] + reach[-1] <= target:
        high = math.inf
    return low, high


def _roots(a: float, b: float, deviations: np.ndarray, factor: float) -> list[float]:
    """Where (a + b u)^2 = factor * sum (d + e u)^2, and where a + b u = 0, which is always inside.

    The discriminant avoids the difference of two large terms, so that without any spread it is exactly 0
    and the interval has width 0. If all seeds meet the target at one point it is 0 up to rounding and may be
    negative; only -a / b is found then.
    """
    d, e = deviations[:, 0], deviations[:, 1] - deviations[:, 0]
    dd, de, ee = float(d @ d), float(d @ e), float(e @ e)
    square, half, rest = b * b - factor * ee, a * b - factor * de, a * a - factor * dd
    discriminant = factor * float(np.sum((b * d - a * e) ** 2)) - factor**2 * (dd * ee - de * de)
    roots = [-a / b] if b else []
    if discriminant >= 0:
        stable = -(half + math.copysign(math.sqrt(discriminant), half))
        roots += [stable / square] if square else []
        roots += [rest / stable] if stable else []
    return roots
