"""Where m* of the CNN grows with the noise about as slowly as is allowed."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.lahoti.studies.signal_study import CNN, LCN


def rows(setting: Setting, effect: float, rng):
    """m* of the LCN, 225 at sigma = 0.1, grows like sigma^2; the FCN takes more than can be measured."""

    def needed(labels):
        grown = labels["sigma"] / 0.1
        return {CNN: 15 * grown**effect, LCN: 225 * grown**2}.get(labels["arm"], 1e4)

    return setting.searched(rng, needed, train_flops=1.0, seconds=1.0, rate=0.1, bias_rate=0.01)


WORLD = World("exponent of the CNN's m* in sigma", 0.0, 0.75, 1.25, 2.0, rows)
