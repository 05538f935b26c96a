"""Where weight sharing saves about as much as is asked for, at the last value of the axis."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.lahoti.exact.rates import rate

FACTOR = 5.0
"""What the criteria ask of m*(LCN) / m*(CNN)."""
CNN, LCN, FCN = "CNN", "LCN", "FCN"


def rows(setting: Setting, effect: float, rng):
    """m* follows the papers' rates, the LCN k times the CNN; what is moved is the LCN at the last value."""
    cells = {tuple(cell.labels.items()): cell.task for cell in setting.cells}
    last = [cell.labels[setting.study.axis] for cell in setting.cells][-1]

    def needed(labels):
        task = cells[tuple(labels.items())]
        cnn = (
            15 * rate("cnn-upper", task.patches, task.patch_dim, task.sigma) / rate("cnn-upper", 20, 20, 0.1)
        )
        moved = labels[setting.study.axis] == last
        ratio = {CNN: 1.0, LCN: effect if moved else 0.75 * task.patches, FCN: 100.0}
        return cnn * ratio.get(labels["arm"], 100.0)

    return setting.searched(rng, needed, train_flops=1.0, seconds=1.0, rate=0.1, bias_rate=0.01)


WORLD = World("m* of the LCN over the CNN's at one value", 2.0, FACTOR, 6.5, 15.0, rows)
