"""Where sharing hardly saves examples for networks with pooling."""

from collections.abc import Mapping

from whyconv.criteria.worlds import Setting, World, coupled
from whyconv.lazy import pd
from whyconv.papers.lahoti.studies.cifar import CNN, FCN, LCN, POOLED_CNN, POOLED_LCN
from whyconv.studies.images import permuted, shuffled

TARGET = 0.6


def rows(setting: Setting, effect: float, rng):
    return errors(setting, {FCN: 4.0 * effect, LCN: 3.0, CNN: 3.0, POOLED_LCN: effect, POOLED_CNN: 1.0}, rng)


def errors(setting: Setting, need: Mapping[str, float], rng):
    """Errors fall like m^-0.15 and vary by 2 % among seeds; twins err like an FCN, or by chance.

    ``need`` is m* in units of 1.5 times the smallest m, for a target of 0.6.
    """
    study, smallest = setting.study, setting.study.sizes[0]
    table = setting.searched(
        rng, lambda labels: smallest * 1.5 * need.get(labels["arm"], 4.0), 0.15, lambda labels: 0.02,
        study.target or TARGET, phase="measured", rate=study.rates[0], parameters=1, first_loss=2.3,
    )  # fmt: skip
    blind = table["arm"] == shuffled(POOLED_CNN)
    chance = 1 - 1 / study.task.classes
    table.loc[blind, "test_error"] = chance + 0.01 * rng.standard_normal(int(blind.sum()))
    table = coupled(table, permuted(FCN), FCN, "test_error", "m")
    tuning = [
        {"arm": FCN, "phase": "tuning", "rate": rate, "m": smallest, "seed": seed, "held_out_error": TARGET}
        for rate in study.rates
        for seed in range(study.tuning_seeds)
    ]
    return pd.concat([table, pd.DataFrame(tuning)], ignore_index=True)


WORLD = World("m* of the LCN with pooling over the CNN's with pooling", 0.7, 1.0, 1.3, 2.0, rows)
