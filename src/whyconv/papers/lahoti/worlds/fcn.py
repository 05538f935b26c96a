"""Where the FCN needs hardly more examples than the LCN, at k = 10, d = 20."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.lahoti.exact.rates import rate
from whyconv.papers.lahoti.studies.signal_study import CNN, FCN, LCN

PLACE = (10, 20, 0.1)


def rows(setting: Setting, effect: float, rng):
    """Elsewhere m* follows the rates, LCN and FCN with 6 and 12 times the examples of the CNN or more."""

    def size(name, labels):
        return rate(name, labels["k"], labels["d"], labels["sigma"]) / rate(name, *PLACE)

    def needed(labels):
        cnn, lcn = 20.0 * size("cnn-upper", labels), 150.0 * size("lcn-upper", labels) ** 0.8
        if labels["arm"] == FCN:
            moved = (labels["k"], labels["d"]) == PLACE[:2]
            return lcn * effect if moved else 2000.0 * size("fcn-lower", labels)
        return {CNN: cnn, LCN: lcn}.get(labels["arm"], 5000.0)

    return setting.searched(rng, needed, train_flops=1.0, seconds=1.0, rate=0.3, bias_rate=0.1)


WORLD = World("m* of the FCN over the LCN's at one place", 0.5, 1.0, 1.3, 4.0, rows)
