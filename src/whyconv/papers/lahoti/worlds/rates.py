"""Where m* of the CNN grows faster in k than its upper bound allows."""

from math import log

from whyconv.criteria.worlds import Setting, World

GROWTH = {"CNN": (25.0, 0.7, 0.0), "LCN": (150.0, 1.5, 1.0), "FCN": (1200.0, 2.2, 1.2)}
"""m* at the middle of the design by network, and its exponents in k and d; that in sigma is 2."""


def rows(setting: Setting, effect: float, rng):
    """What is moved is the CNN by tuned descent; (k+d) ln(kd) allows 1 + 1/ln(kd), and we 0.25 more."""
    logs = [log(cell.labels["k"] * cell.labels["d"]) for cell in setting.cells if cell.labels["arm"] == "CNN"]
    limit = 1.25 + len(logs) / sum(logs)

    def needed(labels):
        scale, a, b = GROWTH[labels["arm"][:3]]
        a = limit + effect if labels["arm"] == "CNN" else a
        k, d = (14, 7) if labels["arm"] == "FCN" else (20, 30)
        return scale * (labels["k"] / k) ** a * (labels["d"] / d) ** b * (labels["sigma"] / 0.12) ** 2

    return setting.searched(rng, needed, train_flops=1.0, seconds=1.0, rate=0.3, bias_rate=0.1)


WORLD = World("exponent of the CNN's m* in k, from what its upper bound allows", 0.6, 0.0, -0.15, -0.5, rows)
