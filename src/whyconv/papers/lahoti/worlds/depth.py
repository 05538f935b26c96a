"""Where the gain of sharing with two layers is about as small as is allowed."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.lahoti.studies.depth import CNN, FCN, LCN, SHALLOW


def rows(setting: Setting, effect: float, rng):
    """The CNN's error falls from 0.45 to 0.03 with m; the LCN's is above it by as much at every m."""
    sizes = setting.study.m

    def expected(labels):
        if labels["arm"] == SHALLOW:
            return 0.5
        cnn = 0.45 - 0.42 * sizes.index(labels["m"]) / (len(sizes) - 1)
        return cnn + {CNN: 0.0, LCN: effect, FCN: 0.3}[labels["arm"]]

    return setting.grid(rng, expected, "test_error", 0.01)


WORLD = World("test error of the LCN minus the CNN's, at every m", 0.0, 0.1, 0.12, 0.2, rows)
