"""Where the MLP is nearly as good as ConvPool at the largest m."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.brutzkus.studies.detection_arms import CONV_POOL, MLP, SCRAMBLED, SVM


def rows(setting: Setting, effect: float, rng):
    last, errors = setting.study.m[-1], {CONV_POOL: 0.15, MLP: 0.35, SVM: 0.35, SCRAMBLED: 0.4}

    def expected(labels):
        moved = labels["arm"] == MLP and labels["m"] == last
        return errors[CONV_POOL] + effect if moved else errors[labels["arm"]]

    table = setting.grid(rng, expected, "test_error", train_error=0.0)
    table.loc[table["arm"] == SVM, "train_error"] = 0.1
    return table


WORLD = World("test error of the MLP minus ConvPool's at one m", -0.1, 0.0, 0.03, 0.1, rows)
