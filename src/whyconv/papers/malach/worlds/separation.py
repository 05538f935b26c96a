"""Where the CNN reaches the target at the largest n with a probability near the one that is asked for."""

from whyconv.criteria.worlds import Setting, World
from whyconv.lazy import np
from whyconv.papers.malach.studies.separation import BIASED, CNN, FCN, LCN, MAJORITY


def rows(setting: Setting, effect: float, rng):
    """Steps grow like n, and vary by 10 % among seeds."""
    smallest, largest = setting.study.n_bits[0], setting.study.n_bits[-1]

    def probability(labels):
        if labels["arm"] == CNN and labels["n"] == largest:
            return effect
        fcn = 1.0 if labels["n"] == smallest else 0.0
        return {CNN: 1.0, LCN: 1.0, MAJORITY: 1.0, BIASED: 1.0, FCN: fcn}.get(labels["arm"], 0.0)

    reached = setting.flags(rng, probability)
    steps = setting.per_row(lambda labels: labels["n"]) * np.exp(0.1 * rng.standard_normal(len(reached)))
    flops = np.where([cell.labels["arm"] == FCN for cell in setting.cells for _ in cell.seeds], 1e9, 1e6)
    return setting.grid(
        rng, lambda labels: 0.08 if probability(labels) else 0.5, "test_error", 0.005, reached=reached,
        phase="measured", rate=1.0, steps_taken=steps, train_flops=flops * steps, stopped="error",
    )  # fmt: skip


WORLD = World("probability that the CNN reaches the target at the largest n", 0.3, 2 / 3, 0.8, 1.0, rows)
