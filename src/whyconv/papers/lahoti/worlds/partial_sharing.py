"""Where m* falls with the size of a group, about as slowly as is allowed.

Two conditions meet here: at the exponent -0.5 no sharing takes 20^0.5 = 4.5 times the examples of full
sharing, less than the 5 that are asked for. The criterion as a whole has its threshold where that factor is
5; at -0.5 it *fails*, rightly, by the factor alone.
"""

from math import log

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.lahoti.studies.partial_sharing import SHARED


def rows(setting: Setting, effect: float, rng):
    """m* is 15 with full sharing."""
    largest = setting.study.groups[-1]
    return setting.searched(
        rng,
        lambda labels: 15.0 * (labels["group"] / largest) ** effect if labels["arm"] == SHARED else 300.0,
        train_flops=1.0, seconds=1.0, rate=0.1, bias_rate=0.01,
    )  # fmt: skip


WORLD = World("exponent of m* in the size of a group", -0.2, -log(5) / log(20), -0.7, -0.9, rows)
