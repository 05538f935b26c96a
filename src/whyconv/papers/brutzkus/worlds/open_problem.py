"""Where one pooling network just misses the error that the theorem's conclusion asks for, at one level."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.brutzkus.studies.detection_arms import CONV_POOL, MLP


def rows(setting: Setting, effect: float, rng):
    study = setting.study

    def expected(labels):
        if labels["arm"] == MLP:
            return 0.3
        return effect if labels["arm"] == CONV_POOL and labels[study.knob] == study.levels[-1] else 0.0

    return setting.grid(rng, expected, "test_error", lambda labels: min(0.02, expected(labels) / 2))


WORLD = World("test error of ConvPool at the last level", 0.1, 0.05, 0.03, 0.01, rows)
