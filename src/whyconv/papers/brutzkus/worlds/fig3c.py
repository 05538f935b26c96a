"""Where ConvPool errs about half as often as the MLP at the largest m."""

from whyconv.criteria.worlds import Setting, World, coupled
from whyconv.papers.brutzkus.studies.detection_arms import CONV_POOL, MLP, SVM
from whyconv.papers.brutzkus.studies.fig3c import PERMUTED, PERMUTED_MLP, SHUFFLED


def rows(setting: Setting, effect: float, rng):
    last = setting.study.m[-1]
    errors = {CONV_POOL: 0.1, MLP: 0.3, SVM: 0.3, PERMUTED: 0.3, PERMUTED_MLP: 0.3, SHUFFLED: 0.5}

    def expected(labels):
        moved = labels["arm"] == MLP and labels["m"] == last
        return 2 * (errors[CONV_POOL] + effect) if moved else errors[labels["arm"]]

    table = setting.grid(rng, expected, "test_error", train_error=0.0, first_loss=0.7)
    return coupled(table, PERMUTED_MLP, MLP, "test_error", "m")


WORLD = World("half the MLP's test error minus ConvPool's at one m", -0.05, 0.0, 0.03, 0.05, rows)
