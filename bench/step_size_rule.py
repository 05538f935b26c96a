"""What it was worth to choose step sizes by the exact risk: m* and risks under both rules, paired by seed.

    python bench/step_size_rule.py [--seeds 20]

Each training gives all pairs of step sizes of the learner at once, so both rules choose among the same fits:
*exact* takes the pair with the least exact risk, the number that is then reported; *validation* the pair with
the least mean of (y - f)^2 on 1500 examples of its own (``whyconv.execution.chosen``). Grid: the one of
``lahoti.fcn`` (two pairs) and the authors' (nine pairs). Prints the table of docs/measure.md.
"""

from __future__ import annotations

import argparse
from functools import cache

import numpy as np

from whyconv.execution import chosen, known_facts, prepared, train_in_segments
from whyconv.measure.complexity import Search, ratio, sample_complexity
from whyconv.measure.curves import Curve
from whyconv.measure.intervals import mean_interval
from whyconv.papers.lahoti.studies.fcn import LARGER
from whyconv.papers.lahoti.studies.signal_study import AUTHORS
from whyconv.spec import build
from whyconv.streams import streams
from whyconv.trial import Trial

PLACES = ((10, 20, 0.1), (20, 10, 0.14))
GRIDS = {"two pairs": LARGER, "the authors' nine": {**AUTHORS, "steps": 1000}}
CAPS = {"cnn": 200, "lcn": 1000}


class NoCheckpoint:
    def load(self) -> None:
        return None

    def save(self, arrays: list[np.ndarray]) -> None:
        del arrays


@cache
def risks(place: tuple[int, int, float], network: str, grid: str, m: int, seed: int) -> dict[str, float]:
    """The exact risk of the pair that each rule chooses."""
    k, d, sigma = place
    trial = Trial.model_validate(
        {
            "task": {"name": "signal", "patches": k, "patch_dim": d, "sigma": sigma},
            "network": f"lsa-{network}", "learner": GRIDS[grid], "m": m, "seed": seed, "risk": True,
            "test_size": 1500,
        }
    )  # fmt: skip
    keys = streams(trial)
    fits = train_in_segments(trial, prepared(trial, keys), lambda share: None, NoCheckpoint())
    exact = [float(known_facts(trial, fit, keys["world"])["risk"]) for fit in fits]
    return {"exact": min(exact), "validation": exact[fits.index(chosen(trial, fits, keys))]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    count = parser.parse_args().seeds
    print("| k, d, sigma | network | step sizes | m*, exact | m*, validation | ratio | risk at m*, added |")
    print("|---|---|---|---|---|---|---|")
    for place in PLACES:
        k, d, sigma = place
        task = build("task", {"name": "signal", "patches": k, "patch_dim": d, "sigma": sigma})
        target = task.oracle()[0] + 0.03
        for network, cap in CAPS.items():
            for grid in GRIDS:
                search, found = Search(2, cap), {}
                for rule in ("exact", "validation"):
                    curve: dict[int, dict[int, float]] = {}
                    while wanted := search.wanted(Curve(curve).means() if curve else {}, target):
                        for m in wanted:
                            curve[m] = {
                                seed: risks(place, network, grid, m, seed)[rule] for seed in range(count)
                            }
                    found[rule] = sample_complexity(Curve(curve), target, cap)
                at = found["exact"].m_star or cap
                every = [risks(place, network, grid, at, seed) for seed in range(count)]
                added = mean_interval([each["validation"] - each["exact"] for each in every])
                cells = [found["exact"].cell, found["validation"].cell]
                cells += [ratio(found["validation"], found["exact"]).cell, added.cell]
                print(
                    f"| {k}, {d}, {sigma:g} | {network.upper()} | {grid} | {' | '.join(cells)} |", flush=True
                )


if __name__ == "__main__":
    main()
