"""How often an audit's intervals hold what they should: ``python -m whyconv.auditing.coverage``.

Learners are ridge regressions, whose risk is known: inputs are standard normal, y = x.beta + noise, so the
risk of an estimate b is |b - beta|^2 + s^2. Arm A fits all features, arm B only those that matter. Every
population is a data set of its own, split as an audit splits it, in rounds; the expected curves come from
other data sets, exactly in the inputs. Grouped: rows of a group share part of
their inputs and noise.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

from whyconv.auditing.corrected import interval
from whyconv.auditing.savings import gap, saving
from whyconv.lazy import np
from whyconv.measure.intervals import rate_interval
from whyconv.tasks._splits import split

FEATURES, USEFUL = 16, 8
SIZES = (24, 48, 96, 192)
EXAMPLES, ROUNDS, GROUP = 256, 5, 4
STRENGTH, NOISE = 1.0, 1.0
RIDGE = 1.0
TRUTHS = 3000
"""Data sets behind the expected curves."""


class World(NamedTuple):
    """A law of data sets."""

    grouped: bool

    def draw(self, count: int, chance: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Inputs, targets and groups."""
        x = chance.standard_normal((count, FEATURES))
        noise = chance.standard_normal(count)
        groups = np.arange(count) // GROUP
        if self.grouped:
            kin = groups[-1] + 1
            x = np.sqrt(0.5) * (x + chance.standard_normal((kin, FEATURES))[groups])
            noise = np.sqrt(0.5) * (noise + chance.standard_normal(kin)[groups])
        return x, x @ beta() + NOISE * noise, groups


def beta() -> np.ndarray:
    """The features that matter come first."""
    found = np.zeros(FEATURES)
    found[:USEFUL] = STRENGTH / np.sqrt(USEFUL)
    return found


def fitted(x: np.ndarray, y: np.ndarray, features: int) -> np.ndarray:
    """Ridge regression on the first features, as coefficients of all."""
    part = x[:, :features]
    found = np.zeros(FEATURES)
    found[:features] = np.linalg.solve(part.T @ part + RIDGE * np.eye(features), part.T @ y)
    return found


def expected(world: World, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The expected curves of both arms, (1, sizes) each."""
    chance, total = np.random.default_rng([seed, 1]), np.zeros((2, len(SIZES)))
    for _ in range(TRUTHS):
        x, y, _ = world.draw(SIZES[-1], chance)
        for place, m in enumerate(SIZES):
            for arm, features in enumerate((FEATURES, USEFUL)):
                total[arm, place] += ((fitted(x[:m], y[:m], features) - beta()) ** 2).sum() + NOISE**2
    return total[:1] / TRUTHS, total[1:] / TRUTHS


def measured(world: World, chance: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Errors of both arms on one data set, (rounds, sizes), and n_test / n_train."""
    x, y, groups = world.draw(EXAMPLES, chance)
    test = EXAMPLES - SIZES[-1] - (GROUP - 1 if world.grouped else 0)
    errors = np.zeros((2, ROUNDS, len(SIZES)))
    for number in range(ROUNDS):
        parts = split(None, groups if world.grouped else None, EXAMPLES, test, chance)
        for place, m in enumerate(SIZES):
            rows = parts.train[:m]
            for arm, features in enumerate((FEATURES, USEFUL)):
                missed = y[parts.test] - x[parts.test] @ fitted(x[rows], y[rows], features)
                errors[arm, number, place] = (missed**2).mean()
    return errors[0], errors[1], test / SIZES[-1]


def covered(populations: int, *, grouped: bool = False, seed: int = 0) -> dict[str, int]:
    """In how many populations each interval holds the expected value."""
    world = World(grouped)
    a, b = expected(world, seed)
    sizes = np.array(SIZES)
    factor, mean_gap = saving(a, b, sizes, 1.0).value, gap(a, b, sizes, 1.0)
    assert mean_gap is not None
    hits = dict.fromkeys(("error", "difference", "factor", "gap"), 0)
    for number in range(populations):
        own, other, ratio = measured(world, np.random.default_rng([seed, 2, number]))
        found = interval(own[:, -1], ratio)
        hits["error"] += found.low <= a[0, -1] <= found.high
        found = interval(own[:, -1] - other[:, -1], ratio)
        hits["difference"] += found.low <= a[0, -1] - b[0, -1] <= found.high
        crossing = saving(own, other, sizes, ratio)
        hits["factor"] += crossing.low <= factor <= crossing.high
        around = gap(own, other, sizes, ratio)
        hits["gap"] += around is not None and around.low <= mean_gap.mean <= around.high
    return {name: int(count) for name, count in hits.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m whyconv.auditing.coverage")
    parser.add_argument("--populations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for grouped in (False, True):
        for name, hits in covered(given.populations, grouped=grouped, seed=given.seed).items():
            share = rate_interval(hits, given.populations)
            kind = "grouped" if grouped else "plain"
            print(f"{kind:8} {name:11} {share.mean:.3f} [{share.low:.3f}, {share.high:.3f}]", flush=True)


if __name__ == "__main__":
    main()
