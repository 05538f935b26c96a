"""Intervals against known truths: synthetic learning curves, measured where the search itself asks.

The expected risk is floor + excess(m). A seed's risk is floor + excess(m) * (1 + e), where e is a part that
the seed has at every m (its sample is nested), a part that it has for every architecture, and a part that
is new at every m. The search decides on the same noisy means that are judged afterwards. The truth is the
real number m at which the expected risk meets the target. ``pytest -s`` prints the coverages.
"""

import math

import numpy as np
import pytest

from whyconv.measure.complexity import Search, contrast, ratio, sample_complexity
from whyconv.measure.curves import Curve
from whyconv.measure.intervals import mean_interval, share_interval
from whyconv.measure.scaling import exponent

pytestmark = pytest.mark.long
FLOOR, TARGET, SEEDS = 0.02, 0.12, 5
NOISES = {"light": (0.05, 0.02), "middle": (0.1, 0.05), "heavy": (0.2, 0.05), "rough": (0.1, 0.1)}


def power(beta):
    return lambda m, truth: (TARGET - FLOOR) * (m / truth) ** -beta


def threshold(m, truth):
    """A plateau at 0.48 with a steep fall: chance level until the pattern is found."""
    return 0.48 / (1 + 3.8 * (m / truth) ** 3)


def effects(rng, noise, arms=1):
    """What a seed does at every size: half of its variance to all arms alike."""
    shared, own = rng.normal(0, NOISES[noise][0], (2, arms, SEEDS)) / math.sqrt(2)
    return shared[:1] + own


def measured(rng, search, excess, truth, effect, noise):
    """The curve of one architecture at the sizes that the search asks for."""
    risks, means = {}, {}
    while sizes := search.wanted(means, TARGET):
        for m in sizes:
            risk = FLOOR + excess(m, truth) * (1 + effect + rng.normal(0, NOISES[noise][1], SEEDS))
            risks[m], means[m] = dict(enumerate(risk.tolist())), float(risk.mean())
    return Curve(risks)


def found(rng, search, excess, truth, effect, noise):
    return sample_complexity(measured(rng, search, excess, truth, effect, noise), TARGET, search.cap)


def told(what, covered, *more):
    print(f"\n{what}: {100 * np.mean(covered):.1f} % of {len(covered)}", *more)
    return np.mean(covered)


def test_means_and_paired_differences():
    rng, means, differences = np.random.default_rng(0), [], []
    shapes = power(0.7)
    for _ in range(1000):
        a, b = effects(rng, "middle", 2)
        sizes = (30, 100, 300)
        own = rng.normal(0, NOISES["middle"][1], (2, 3, SEEDS))
        first, second = (
            Curve(
                {
                    m: dict(enumerate(FLOOR + shapes(m, truth) * (1 + e + extra[i])))
                    for i, m in enumerate(sizes)
                }
            )
            for truth, e, extra in ((100, a, own[0]), (250, b, own[1]))
        )
        m = int(rng.choice(sizes))
        means.append(FLOOR + shapes(m, 100) in first.intervals()[m])
        differences.append(shapes(m, 100) - shapes(m, 250) in first.differences(second)[m])
    assert 0.92 <= told("means", means) <= 0.98
    assert 0.92 <= told("paired differences", differences) <= 0.98


@pytest.mark.parametrize(
    ("noise", "excess"),
    [("light", power(2)), ("middle", power(0.7)), ("rough", power(0.3)), ("heavy", threshold)],
    ids=["light, steep", "middle", "rough, flat", "heavy, threshold"],
)
def test_sample_complexity(noise, excess):
    rng, covered, closed = np.random.default_rng(1), [], []
    for _ in range(1000):
        truth = math.exp(rng.uniform(math.log(150), math.log(600)))
        got = found(rng, Search(10, 4000), excess, truth, effects(rng, noise)[0], noise)
        covered.append(got.low <= truth <= got.high)
        closed.append(bool(got.logs))
    assert 0.92 <= told(f"m*, {noise}", covered, f"closed: {100 * np.mean(closed):.1f} %") <= 0.98
    assert np.mean(closed) > 0.97


def test_sample_complexity_of_few_examples():
    rng, covered, noise = np.random.default_rng(2), [], "rough"
    for _ in range(1000):
        truth = rng.uniform(7, 20)
        got = found(rng, Search(1, 1000), power(0.7), truth, effects(rng, noise)[0], noise)
        covered.append(got.low <= truth <= got.high)
    assert told(f"m* of 7 to 20, {noise}", covered) >= 0.92


def test_sample_complexity_close_to_either_end():
    rng = np.random.default_rng(3)
    for where, search in (("cap", Search(10, 1000)), ("smallest size", Search(1000, 50_000))):
        covered = []
        for _ in range(1000):
            truth = rng.uniform(800, 1250)
            got = found(rng, search, power(0.7), truth, effects(rng, "middle")[0], "middle")
            covered.append(got.low <= truth <= got.high)
        assert told(f"m* close to the {where}", covered) >= 0.92


@pytest.mark.parametrize(
    ("noise", "excess"),
    [("light", power(2)), ("middle", threshold), ("rough", power(0.7)), ("heavy", power(0.7))],
    ids=["light, steep", "middle, threshold", "rough", "heavy"],
)
def test_ratio(noise, excess):
    rng, covered, widths, unpaired = np.random.default_rng(4), [], [], []
    for _ in range(1000):
        truth, (a, b) = math.exp(rng.uniform(math.log(150), math.log(600))), effects(rng, noise, 2)
        first = found(rng, Search(10, 4000), excess, truth, a, noise)
        second = found(rng, Search(10, 4000), excess, 0.4 * truth, b, noise)
        got = ratio(first, second)
        covered.append(got.low <= 2.5 <= got.high)
        if first.logs and second.logs:
            widths.append(math.log(got.high / got.low))
            unpaired.append(math.hypot(math.log(first.high / first.low), math.log(second.high / second.low)))
    assert 0.92 <= told(f"ratio, {noise}", covered, f"width {np.median(widths):.2f}") <= 0.98
    assert np.mean(widths) < np.mean(unpaired)


def test_ratio_of_few_examples():
    rng, covered = np.random.default_rng(5), []
    for _ in range(1000):
        truth, (a, b) = rng.uniform(14, 20), effects(rng, "middle", 2)
        first = found(rng, Search(1, 1000), power(0.7), truth, a, "middle")
        second = found(rng, Search(1, 1000), power(0.7), truth / 2, b, "middle")
        got = ratio(first, second)
        covered.append(got.low <= 2 <= got.high)
    assert told("ratio of 7 to 20", covered) >= 0.92


@pytest.mark.parametrize("share", [0.9, 1.0, 1.5])
def test_ratio_where_the_first_is_censored(share):
    """The first one's truth is at this share of the cap: reached by luck, narrowly or never."""
    rng, covered, swapped, reached, lows = np.random.default_rng(6), [], [], [], []
    for _ in range(500):
        a, b = effects(rng, "middle", 2)
        first = found(rng, Search(10, 1000), power(0.7), 1000 * share, a, "middle")
        second = found(rng, Search(10, 1000), power(0.7), 200, b, "middle")
        reached.append(first.reached)
        got, inverse = ratio(first, second), ratio(second, first)
        lows.append(got.low)
        covered.append(got.low <= 5 * share <= got.high)
        swapped.append(inverse.low <= 0.2 / share <= inverse.high)
    more = f"reached: {100 * np.mean(reached):.0f} %, median lower limit {np.median(lows):.2f}"
    assert told(f"ratio, censored at {share} of the cap", covered, more) >= 0.92
    assert told("the other way round", swapped) >= 0.92
    assert np.median(lows) > 2.5  # honest, and not empty


@pytest.mark.parametrize("noise", ["light", "heavy"])
def test_exponent(noise):
    rng, x, covered, fits = np.random.default_rng(7), (1, 4, 16), [], []
    for _ in range(1000):
        points = [
            (k, found(rng, Search(10, 20_000), power(0.7), 90 * k**1.3, effect, noise))
            for k, effect in zip(x, effects(rng, noise, 3), strict=True)
        ]
        got = exponent(points)
        covered.append(got.low <= 1.3 <= got.high)
        fits.append(got.r_squared)
    assert told(f"exponent, {noise}", covered, f"median R² {np.nanmedian(fits):.3f}") >= 0.93


@pytest.mark.parametrize(("settings", "misfit"), [(3, 0.1), (3, 0.5), (5, 0.0), (5, 0.1), (5, 0.5)])
def test_exponent_where_no_line_fits(settings, misfit):
    """The true log m* scatter around the line by ``misfit``; seeds alone do not see that."""
    rng, covered, alone = np.random.default_rng(9), [], []
    x = np.geomspace(1, 16, settings)
    for _ in range(600):
        off = np.exp(rng.normal(0, misfit, settings))
        points = [
            (k, found(rng, Search(10, 50_000, 0.2), power(0.7), 200 * o * k**1.3, effect, "light"))
            for k, o, effect in zip(x, off, effects(rng, "light", settings), strict=True)
        ]
        got = exponent(points)
        covered.append(got.low <= 1.3 <= got.high)
        centred = np.log(x) - np.log(x).mean()
        _, low, high = contrast((centred / (centred @ centred)).tolist(), [result for _, result in points])
        alone.append(low <= 1.3 <= high)
    more = f"over seeds alone {100 * np.mean(alone):.1f} %"
    assert told(f"exponent, {settings} settings, misfit {misfit}", covered, more) >= 0.93
    assert misfit < 0.5 or np.mean(alone) < 0.3


@pytest.mark.parametrize("ends", ["cap", "smallest size"])
def test_exponent_with_censored_settings(ends):
    """The largest m* is at the cap, so about half of them are not reached, or the smallest at the low end."""
    rng, covered, bounds, censored = np.random.default_rng(8), [], [], []
    search = Search(10, 970) if ends == "cap" else Search(160, 20_000)
    for _ in range(500):
        points = [
            (k, found(rng, search, power(0.7), 160 * k**1.3, effect, "middle"))
            for k, effect in zip((1, 2, 4), effects(rng, "middle", 3), strict=True)
        ]
        got = exponent(points)
        covered.append(got.low <= 1.3 <= got.high)
        bounds.append(got.low)
        censored.append(got.censored)
        assert got.high == math.inf or not got.censored
    more = f"censored: {100 * np.mean(censored):.0f} %, median lower limit {np.median(bounds):.2f}"
    assert told(f"exponent at the {ends}", covered, more) >= 0.92
    assert np.median(bounds) > 0.5


SHARES = {"few": (0.02, 0.01), "skewed": (0.02, 0.02), "accurate": (0.98, 0.01), "chance": (0.5, 0.02)}
"""Mean and standard deviation of an error or accuracy among seeds (beta laws), beside a test of 1000."""


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("law", SHARES)
def test_means_of_shares(law, seeds):
    """The logit scale covers what it promises also where Student t does not."""
    mean, spread = SHARES[law]
    total = mean * (1 - mean) / spread**2 - 1
    rng = np.random.default_rng(9)
    true = rng.beta(mean * total, (1 - mean) * total, (4000, seeds))
    samples = rng.binomial(1000, true) / 1000
    logit = told(f"share, {law}, {seeds}", [mean in share_interval(each) for each in samples])
    plain = told("by Student t", [mean in mean_interval(each) for each in samples])
    assert 0.92 <= logit <= 0.97
    assert (plain < 0.91) == (law == "skewed"), "the plain interval is enough, or too short as documented"
