"""Where ConvPool's error rises about half as much as the MLP's."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.brutzkus.studies.detection_arms import CONV_POOL, MLP, SCRAMBLED, SVM


def rows(setting: Setting, effect: float, rng):
    first, rises = setting.study.positions[0], {MLP: 0.2, SVM: 0.3, SCRAMBLED: 0.3, CONV_POOL: 0.1 - effect}

    def expected(labels):
        return 0.15 + (rises[labels["arm"]] if labels["positions"] > first else 0)

    return setting.grid(rng, expected, "test_error")


WORLD = World("half the MLP's rise of the test error minus ConvPool's", -0.1, 0.0, 0.03, 0.1, rows)
