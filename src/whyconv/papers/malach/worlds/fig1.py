"""Where the lead of the CNN over the FCN with many more parameters is small, at the smallest depth."""

from whyconv.criteria.worlds import Setting, World, coupled
from whyconv.papers.malach.studies.fig1 import CNN, FCN, deep
from whyconv.studies.images import permuted, shuffled


def rows(setting: Setting, effect: float, rng):
    """Accuracies vary by 0.012."""
    study = setting.study
    chance = 1 / study.task.classes

    def expected(labels):
        arm = labels["arm"]
        if arm == shuffled(CNN):
            return chance
        if arm.startswith(CNN):
            return 0.5
        moved = labels["budget"] == study.largest_fcn and labels["depth"] == study.depths[0]
        return 0.5 - effect if moved else 0.35

    table = setting.grid(rng, expected, "accuracy", 0.012, first_loss=2.3)
    return coupled(table, permuted(FCN), deep(FCN, study.depths[0]), "accuracy", "depth", "budget")


WORLD = World(
    "accuracy of the widest CNN minus that of the largest FCN, at one depth", -0.05, 0.05, 0.08, 0.15, rows
)
