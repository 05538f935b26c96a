"""Where the SVM is nearly as good as ConvPool at the largest m that is judged."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.brutzkus.studies.detection_arms import CONV_POOL, MLP, SCRAMBLED, SVM


def rows(setting: Setting, effect: float, rng):
    limit = setting.study.thresholds
    last = max(m for m in setting.study.m if m <= limit["to m"])
    errors = {CONV_POOL: 0.15, MLP: 0.35, SVM: 0.35, SCRAMBLED: 0.4}

    def expected(labels):
        moved = labels["arm"] == SVM and labels["m"] == last
        return errors[CONV_POOL] + effect if moved else errors[labels["arm"]]

    return setting.grid(rng, expected, "test_error", train_error=0.0)


WORLD = World("test error of the SVM minus ConvPool's at one m", -0.1, 0.0, 0.03, 0.1, rows)
