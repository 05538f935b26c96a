"""Where the FCN's lead over the CNN at the smallest n is small."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.malach.studies.sequence_study import CNN, FCN


def rows(setting: Setting, effect: float, rng):
    """Accuracies vary by 0.012, near chance by 0.006."""
    smallest = setting.study.digits[0]

    def expected(labels):
        if labels["n"] > smallest or "middle" in labels["arm"]:
            return 0.5
        return {FCN: 0.75, CNN: 0.75 - effect}.get(labels["arm"], 0.55)

    def spread(labels):
        return 0.006 if expected(labels) < 0.6 else 0.012

    return setting.grid(rng, expected, "accuracy", spread, first_loss=0.7)


WORLD = World("accuracy of the FCN minus the CNN's at the smallest n", 0.0, 0.05, 0.08, 0.15, rows)
