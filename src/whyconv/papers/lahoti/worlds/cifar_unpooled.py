"""Where sharing hardly saves examples for networks without pooling."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.lahoti.studies.cifar import CNN, FCN, LCN, POOLED_CNN, POOLED_LCN
from whyconv.papers.lahoti.worlds.cifar import errors


def rows(setting: Setting, effect: float, rng):
    return errors(setting, {FCN: 4.0 * effect, LCN: effect, CNN: 1.0, POOLED_LCN: 1.0, POOLED_CNN: 0.8}, rng)


WORLD = World("m* of the LCN over the CNN's, both without pooling", 0.7, 1.0, 1.3, 2.0, rows)
