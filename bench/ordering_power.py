"""How often lahoti.ordering would be decided, by resampling the risks of pilot runs.

    whyconv run lahoti.between --set first_seed=0 --seeds 100 --out DIR
    python bench/ordering_power.py DIR

Worlds: *as measured*; *nearer*, all risks moved towards the target until half of their distance is left;
*alike*, where both networks of each pair have the risks of the one that needs fewer examples, moved to lie
on the target at the size between them, so that any decision is a false alarm.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np

from whyconv.measure.intervals import mean_interval
from whyconv.papers.lahoti.claims.ordering import EXCESS, SIZES, Between, fewer
from whyconv.papers.lahoti.studies.signal_study import CNN, FCN, LCN, known
from whyconv.runner.opened import open_folder
from whyconv.runs import runs_of
from whyconv.studies.grid import selected
from whyconv.verdict import worst

RUNS = 2000
Risks = dict[tuple[int, str, int], np.ndarray]
"""Risk over target of every seed, by number of the place, network and size."""


def pilots(folder: str) -> Risks:
    """What the pilot runs measured."""
    (run,) = runs_of(open_folder(folder))
    found = {}
    for cell in Between().cells():
        risks = selected(run.table, **cell.labels)["risk"].to_numpy()
        found[cell.labels["size"], cell.labels["arm"], cell.m] = risks / (known(cell.task)[0] + EXCESS)
    return found


def nearer(risks: Risks) -> Risks:
    """Half of the way to the target, in the logarithm of the mean; the spread stays in proportion."""
    return {key: values / values.mean() ** 0.5 for key, values in risks.items()}


def alike(risks: Risks) -> Risks:
    """Both networks of a pair at the target at the size between them."""
    moved = dict(risks)
    for place, sizes in enumerate(SIZES.values(), 1):
        for m, (less, more) in zip(sizes, pairwise((CNN, LCN, FCN)), strict=True):
            on = risks[place, less, m] / risks[place, less, m].mean()
            moved |= {(place, less, m): on, (place, more, m): on}
    return moved


def decided(risks: Risks, seeds: int, rng: np.random.Generator) -> str:
    """The verdict on one set of ``seeds`` drawn from the pilots with replacement."""
    parts = []
    for place, sizes in enumerate(SIZES.values(), 1):
        drawn = {
            arm: {m: mean_interval(rng.choice(risks[place, arm, m], seeds)) for m in sizes}
            for arm in (CNN, LCN, FCN)
        }
        parts += [fewer({arm: drawn[arm] for arm in pair}, f"{place}") for pair in pairwise(drawn)]
    return worst(*parts).verdict


def main() -> None:
    """A table in Markdown."""
    risks = pilots(sys.argv[1])
    count = min(map(len, risks.values()))
    worlds: Mapping[str, Callable[[Risks], Risks]] = {
        "as measured": dict, "nearer": nearer, "alike": alike
    }  # fmt: skip
    print(f"{count} pilot seeds, {RUNS:,} sets each: *consistent* / *fails* / *undecided*, in %\n")
    print("| world | 10 seeds | 20 seeds | 30 seeds |\n|---|---|---|---|")
    for name, change in worlds.items():
        cells = []
        for seeds in (10, 20, 30):
            rng = np.random.default_rng([seeds, 1])
            tally = Counter(decided(change(risks), seeds, rng) for _ in range(RUNS))
            words = (tally[verdict] / RUNS * 100 for verdict in ("consistent", "fails", "undecided"))
            cells.append(" / ".join(f"{share:.1f}" for share in words))
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
