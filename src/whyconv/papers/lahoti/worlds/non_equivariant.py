"""Where gradient descent takes about five times the examples of the embedding, at the last k."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.lahoti.studies.non_equivariant import EMBEDDED
from whyconv.papers.lahoti.studies.signal_study import FCN


def rows(setting: Setting, effect: float, rng):
    last = setting.study.values[-1]

    def needed(labels):
        if labels["arm"] == EMBEDDED:
            return 30.0
        return 30.0 * (effect if labels["k"] == last else 20.0) if labels["arm"] == FCN else 600.0

    return setting.searched(rng, needed, train_flops=1.0, seconds=1.0, rate=0.1, bias_rate=0.01)


WORLD = World("m* of the FCN over the embedded one's at one k", 2.0, 5.0, 6.5, 20.0, rows)
