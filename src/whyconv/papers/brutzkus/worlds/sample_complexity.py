"""Where m* of ConvPool grows with the dimension of a pattern."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.brutzkus.studies.detection_arms import CONV_POOL


def rows(setting: Setting, effect: float, rng):
    """Errors of ConvPool vary by 80 % among seeds near the target, those of the MLP by 20 %."""
    first = {}
    for cell in setting.cells:
        first.setdefault(cell.labels["axis"], cell.labels["value"])

    def needed(labels):
        grown = labels["value"] / first[labels["axis"]]
        if labels["arm"] != CONV_POOL:
            return 150 * grown
        limit = setting.study.thresholds.get(labels["axis"], 1.0)
        return 9 * grown ** (limit + effect if labels["axis"] == "pattern_dim" else 0)

    noise = {CONV_POOL: 0.8}
    return setting.searched(
        rng, needed, 2.0, lambda labels: noise.get(labels["arm"], 0.2), train_flops=1.0, seconds=1.0
    )


WORLD = World(
    "exponent of ConvPool's m* in the dimension of a pattern, from its limit", 1.0, 0.0, -0.25, -1.0, rows
)
