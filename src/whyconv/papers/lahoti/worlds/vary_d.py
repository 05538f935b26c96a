"""Where m* of the CNN grows with the dimension of a patch about as fast as is allowed."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.lahoti.studies.signal_study import CNN, LCN


def rows(setting: Setting, effect: float, rng):
    """m* of the LCN, 225 at d = 20, grows like d; the FCN takes more than can be measured."""

    def needed(labels):
        grown = labels["d"] / 20
        return {CNN: 15 * grown**effect, LCN: 225 * grown}.get(labels["arm"], 1e4)

    return setting.searched(rng, needed, train_flops=1.0, seconds=1.0, rate=0.1, bias_rate=0.01)


WORLD = World("exponent of the CNN's m* in d", 2.5, 1.75, 1.5, 1.0, rows)
