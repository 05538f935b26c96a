"""Where m* of the CNN grows with the number of patches about as fast as is allowed."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.lahoti.studies.signal_study import CNN, LCN


def rows(setting: Setting, effect: float, rng):
    """m* of the LCN, 350 at k = 20, grows like k^1.6; the FCN takes more than can be measured."""

    def needed(labels):
        grown = labels["k"] / 20
        return {CNN: 15 * grown**effect, LCN: 350 * grown**1.6}.get(labels["arm"], 1e4)

    return setting.searched(rng, needed, train_flops=1.0, seconds=1.0, rate=0.1, bias_rate=0.01)


WORLD = World("exponent of the CNN's m* in k", 1.75, 1.25, 1.0, 0.5, rows)
