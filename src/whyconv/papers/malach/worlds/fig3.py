"""Where the FCN is not quite at chance at the largest n."""

from whyconv.criteria.worlds import Setting, World, coupled
from whyconv.papers.malach.studies.sequence_study import CNN, FCN, LCN
from whyconv.studies.images import permuted


def rows(setting: Setting, effect: float, rng):
    """Accuracies vary by 0.012, near chance by 0.006."""
    digits = setting.study.digits

    def expected(labels):
        arm, n = labels["arm"], labels["n"]
        if arm in (FCN, permuted(FCN)):
            return 0.5 + effect if n == digits[-1] else 0.8
        return {CNN: 0.8, LCN: 0.85}.get(arm, 0.5)

    def spread(labels):
        return 0.006 if expected(labels) < 0.6 else 0.012

    table = setting.grid(rng, expected, "accuracy", spread, first_loss=0.7)
    return coupled(table, permuted(FCN), FCN, "accuracy", "n")


WORLD = World(
    "accuracy of the FCN at the largest n, from chance; the margin is ±0.05", 0.1, 0.05, 0.03, 0.0, rows
)
