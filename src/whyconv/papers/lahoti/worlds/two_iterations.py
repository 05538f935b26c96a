"""Where further iterations change the alignment of the CNN at the last place."""

from whyconv.criteria.worlds import Setting, World


def rows(setting: Setting, effect: float, rng):
    last, most = len(setting.study.places), setting.study.iterations[-1]

    def alignment(labels):
        if labels["iterations"] == 1:
            return 0.3
        moved = labels["arm"] == "CNN" and labels["place"] == last and labels["iterations"] == most
        return 0.8 + effect if moved else 0.8

    table = setting.grid(rng, alignment, "alignment")
    risk = setting.grid(rng, lambda labels: 0.9 if labels["iterations"] == 1 else 0.4, "risk")
    return table.assign(risk=risk["risk"])


WORLD = World(
    "alignment after the most iterations minus that after two; the margin is ±0.05",
    0.1,
    0.05,
    0.03,
    0.0,
    rows,
)
