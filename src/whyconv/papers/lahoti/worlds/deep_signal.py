"""Where an LCN of two layers needs hardly more examples than a CNN of two."""

from whyconv.criteria.worlds import Setting, World

CNN, LCN, FCN = "CNN of two", "LCN of two", "FCN of two"


def rows(setting: Setting, effect: float, rng):
    last = setting.study.values[-1]

    def needed(labels):
        lcn = 60.0 * (effect if labels["k"] == last else 4.0)
        return {CNN: 60.0, LCN: lcn, FCN: 4 * lcn}.get(labels["arm"], 500.0)

    return setting.searched(rng, needed, train_flops=1.0, seconds=1.0, rate=0.1, bias_rate=0.01)


WORLD = World("m* of the LCN over the CNN's at one k", 0.5, 1.0, 1.3, 4.0, rows)
