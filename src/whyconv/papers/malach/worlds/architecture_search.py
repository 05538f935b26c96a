"""Where hill climbing is faster than random orders on parity."""

from whyconv.criteria.worlds import Setting, World
from whyconv.lazy import np
from whyconv.papers.malach.studies.architecture_search import CLIMB, GREEDY, PARITY


def rows(setting: Setting, effect: float, rng):
    """Evaluations are geometric, as of blind guessing."""
    study = setting.study

    def mean(labels):
        if labels["target"] == PARITY:
            return study.blind(labels["n"]) / (effect if labels["arm"] == CLIMB else 1.0)
        return 2.0 if labels["arm"] == GREEDY else study.blind(labels["n"])

    means = np.maximum(1.0, setting.per_row(mean))
    table = setting.grid(rng, lambda labels: 0.0, "test_error", 0.0, evaluations=rng.geometric(1 / means))
    return table.assign(in_blind_searches=table["evaluations"] / table["n"].map(study.blind))


WORLD = World("evaluations of random orders over those of hill climbing", 6.0, 2.0, 1.5, 1.0, rows)
