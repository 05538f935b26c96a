"""Where layerwise training errs more than joint training at the largest m."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.brutzkus.studies.layerwise import LAYERWISE, UNTRAINED


def rows(setting: Setting, effect: float, rng):
    last = setting.study.m[-1]

    def expected(labels):
        if labels["arm"] == LAYERWISE and labels["m"] == last:
            return 0.1 + effect
        return 0.4 if labels["arm"] == UNTRAINED else 0.1

    return setting.grid(rng, expected, "test_error")


WORLD = World("test error, layerwise minus joint, at one m; the margin is ±0.05", 0.1, 0.05, 0.03, 0.0, rows)
