"""Where the factor that sharing saves has diminished about as much as is asked for."""

from whyconv.criteria.worlds import Setting, World

HALF, PAPER, DROPPED = 1, 2, 3


def rows(setting: Setting, effect: float, rng):
    factor = {HALF: 7.0, PAPER: 15.0, DROPPED: 15.0 * effect}
    return setting.searched(
        rng, lambda labels: 15.0 * (factor[labels["case"]] if labels["arm"] == "LCN" else 1.0),
        train_flops=1.0, seconds=1.0, rate=0.1, bias_rate=0.01,
    )  # fmt: skip


WORLD = World("the factor without the assumption over that with it", 1.2, 0.8, 0.7, 0.4, rows)
