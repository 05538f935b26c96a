"""Where the LCN is hardly better aligned than the FCN."""

from whyconv.criteria.worlds import Setting, World
from whyconv.papers.lahoti.studies.signal_study import CNN, FCN, LCN


def rows(setting: Setting, effect: float, rng):
    alignment = {CNN: 0.95, LCN: 0.6 + effect, FCN: 0.6}
    risk = {CNN: 0.1, LCN: 0.3, FCN: 0.6}
    table = setting.grid(rng, lambda labels: risk.get(labels["arm"], 0.9), "risk")
    found = setting.grid(rng, lambda labels: alignment.get(labels["arm"], 0.1), "alignment")
    return table.assign(alignment=found["alignment"])


WORLD = World("alignment of the LCN minus the FCN's", -0.1, 0.0, 0.02, 0.1, rows)
