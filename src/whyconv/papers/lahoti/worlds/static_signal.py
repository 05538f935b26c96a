"""Where the factor that sharing saves falls about five times when the signal stays."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.lahoti.studies.static_signal import MOVES, STAYS


def rows(setting: Setting, effect: float, rng):
    factor = {MOVES: 15.0, STAYS: 15.0 * effect}
    return setting.searched(
        rng, lambda labels: 15.0 * (factor.get(labels["case"], 10.0) if labels["arm"] == "LCN" else 1.0),
        train_flops=1.0, seconds=1.0, rate=0.1, bias_rate=0.01,
    )  # fmt: skip


WORLD = World("the factor where the signal stays over that where it moves", 0.8, 0.2, 0.15, 0.07, rows)
