"""Where the LCN is hardly clearly ahead of the CNN at the largest n."""

from whyconv.criteria.worlds import Setting, World


def rows(setting: Setting, effect: float, rng):
    """Accuracies vary by 0.012."""
    last = setting.study.digits[-1]

    def expected(labels):
        ahead = effect if labels["n"] == last else 0.12
        return {"LCN": 0.75 + ahead, "CNN, a quarter of the sequences": 0.6}.get(labels["arm"], 0.75)

    return setting.grid(rng, expected, "accuracy", 0.012)


WORLD = World("accuracy of the LCN minus the CNN's at one n", 0.0, 0.05, 0.08, 0.12, rows)
