"""Where the normal start succeeds with a probability near the one that is asked for."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.malach.studies.natural_init import FEATURES, NORMAL, THEOREM, UNIFORM


def rows(setting: Setting, effect: float, rng):
    probability = {THEOREM: 1.0, UNIFORM: 1.0, FEATURES: 1.0, NORMAL: effect}
    reached = setting.flags(rng, lambda labels: probability.get(labels["arm"], 0.0))
    return setting.grid(
        rng,
        lambda labels: 0.08,
        "test_error",
        0.01,
        reached=reached,
        phase="measured",
        rate=1.0,
        steps_taken=100.0,
    )


WORLD = World("probability that a normal start reaches the target", 0.3, 2 / 3, 0.8, 1.0, rows)
