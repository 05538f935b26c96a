"""The floor of equivariant algorithms, and the exact mean of step one: against plain simulations."""

import numpy as np
import pytest
from scipy.special import iv

from whyconv.measure.intervals import Interval
from whyconv.papers.lahoti.exact import equivariant_floor as exact
from whyconv.papers.lahoti.exact.first_step import mean_alignment, mean_cosine
from whyconv.papers.lahoti.exact.rates import first_step_alignment

RNG = np.random.default_rng(0)


def test_means_over_spheres():
    c = np.array([0.3, 2.0, 9.0])
    np.testing.assert_allclose(exact.log_mean(c, 1), np.log(np.cosh(c)), rtol=1e-12)
    np.testing.assert_allclose(exact.log_mean(c, 2), np.log(iv(0, c)), rtol=1e-12)
    np.testing.assert_allclose(exact.log_mean(c, 3), np.log(np.sinh(c) / c), rtol=1e-12)
    assert exact.log_mean(np.array([700.0]), 3) == pytest.approx(700 - np.log(1400), rel=1e-12)
    assert exact.log_mean(np.zeros(2), 5) == pytest.approx([0, 0])
    high = exact.log_mean(np.array([1.0, 20.0]), 3000)  # the Bessel function underflows; c^2 / (2 D)
    np.testing.assert_allclose(high, np.array([1, 400]) / 6000, rtol=1e-3)
    near = exact.log_mean(np.array([0.0009999, 0.0010001]), 7)  # the series and the Bessel function meet
    np.testing.assert_allclose(near, np.array([0.0009999, 0.0010001]) ** 2 / 14, rtol=1e-5)


def explicit_static(dim, m, sigma, draws):
    """1 - E[y | x, S]^2 with all coordinates, from the vectors themselves."""
    w = np.eye(dim)[0]
    z = m * w + sigma * np.sqrt(m) * RNG.standard_normal((draws, dim))
    x = w + sigma * RNG.standard_normal((draws, dim))
    up, down = (
        exact.log_mean(np.linalg.norm(z + sign * x, axis=1) / sigma**2, dim) for sign in (1, -1)
    )  # fmt: skip
    return 1 - np.tanh((up - down) / 2) ** 2


@pytest.mark.parametrize("dim, m, sigma", [(1, 1, 1.0), (2, 3, 1.0), (20, 5, 1.0), (6, 0, 0.5)])
def test_few_coordinates_have_the_law_of_all(dim, m, sigma):
    found = exact.static_floor(dim, m, sigma, 20_000)
    plain = explicit_static(dim, m, sigma, 20_000)
    error = np.hypot(plain.std() / 20_000**0.5, (found.high - found.low) / 3.92)
    assert abs(plain.mean() - found.mean) < 4 * error + 1e-12
    if m == 0:
        assert found.mean == pytest.approx(1, abs=1e-12)  # nothing is known: y cannot be told


def test_what_a_random_frame_leaves_when_all_but_one_direction_are_known():
    """k = 2, d = 2: directions orthonormal in R^4, of which one is told: the other is in R^3."""
    k, d, sigma, m, draws = 2, 2, 0.6, 6, 4000
    risks = []
    for _ in range(draws):
        frame = np.linalg.qr(RNG.standard_normal((4, 2)))[0]
        count = RNG.binomial(m, 1 / k)
        z = count * frame[:, 0] + sigma * np.sqrt(count) * RNG.standard_normal(4)
        x = frame[:, 0] + sigma * RNG.standard_normal(4)
        z, x = (part - (part @ frame[:, 1]) * frame[:, 1] for part in (z, x))
        length = np.array([np.linalg.norm(z + x), np.linalg.norm(z - x)]) / sigma**2
        up, down = exact.log_mean(length, 3)
        risks.append(1 - np.tanh((up - down) / 2) ** 2)
    assert k * d - k + 1 == 3
    rng = np.random.default_rng(1)
    given = exact._patch(rng, 3, rng.binomial(m, 1 / k, (40_000, 1)), sigma, True)
    found = 1 - exact.posterior(*exact._likelihoods(*given, 3, sigma)) ** 2
    error = np.hypot(np.std(risks) / draws**0.5, found.std() / 200)
    assert abs(np.mean(risks) - found.mean()) < 4 * error
    assert exact.floor("fcn", k, d, sigma, m).mean >= exact.floor("lcn", k, d, sigma, m).mean


def test_floors_fall_with_examples_and_rise_with_the_group():
    sizes = (1, 4, 16, 64)
    floors = {n: [exact.floor(n, 8, 6, 0.4, m).mean for m in sizes] for n in ("cnn", "lcn", "fcn")}
    for values in floors.values():
        assert values == sorted(values, reverse=True)
    for cnn, lcn, fcn in zip(*floors.values(), strict=True):
        assert cnn <= lcn + 0.01 and lcn <= fcn
    statics = [exact.static_floor(dim, 10, 1.0).mean for dim in (1, 5, 25, 125)]
    assert statics == sorted(statics)


def test_patches_never_seen_bound_the_floor_of_separate_directions():
    """Without noise to speak of, y is known if and only if the patch was seen."""
    found = exact.floor("lcn", 10, 4, 0.02, 7, 20_000)
    assert found.low < 0.9**7 < found.high
    assert exact.floor("cnn", 10, 4, 0.02, 1).mean < 1e-6


def test_the_least_number_of_examples():
    least = exact.least_examples("lcn", 10, 4, 0.02, 0.2, 100)
    assert 0.9 ** (least + 2) < 0.2 < 0.9 ** (least - 2)
    assert exact.least_examples("cnn", 10, 4, 0.02, 0.2, 100) == 1


def test_the_lower_end_of_the_floor_decides(monkeypatch):
    def floor(network, patches, patch_dim, sigma, m, draws):
        return Interval(1.5 / (m + 0.5), 1 / (m + 0.5), 2 / (m + 0.5), draws)

    monkeypatch.setattr(exact, "floor", floor)
    assert exact.least_examples("cnn", 2, 2, 0.1, 0.1, 64) == 10


def test_the_risk_of_the_averaging_rule_is_that_of_samples():
    dim, m, sigma, lean, weight = 6, 4, 0.8, 0.6, 1.5
    u = np.array([lean, np.sqrt(1 - lean**2), 0, 0, 0, 0])
    w, y = np.eye(dim)[0], RNG.choice([-1.0, 1.0], 200_000)
    z = m * w + sigma * np.sqrt(m) * RNG.standard_normal((200_000, dim)) + weight * u
    x = y[:, None] * w + sigma * RNG.standard_normal((200_000, dim))
    g = (z * x).sum(axis=1)
    best = 1 - (y * g).mean() ** 2 / (g**2).mean()
    assert exact.linear_risk(dim, m, sigma, lean, weight) == pytest.approx(best, abs=5e-3)
    assert exact.linear_risk(dim, m, sigma, lean, weight) < exact.linear_risk(dim, m, sigma)


def test_the_mean_cosine_is_that_of_samples():
    for dim, distance in ((1, 0.7), (2, 0.0), (5, 1.3), (20, 6.0)):
        x = RNG.standard_normal((200_000, dim))
        x[:, 0] += distance
        cosine = x[:, 0] / np.linalg.norm(x, axis=1)
        assert mean_cosine(distance, dim) == pytest.approx(cosine.mean(), abs=5 * cosine.std() / 447)
    assert mean_cosine(np.array([1e3]), 7) == pytest.approx(1 - 3e-6, abs=1e-7)


def test_the_formula_of_step_one_is_the_limit_of_the_exact_mean():
    for network in ("lcn", "cnn"):
        exact_mean = mean_alignment(network, 4, 400, 1.0, 20_000)
        assert exact_mean == pytest.approx(first_step_alignment(network, 4, 400, 1.0, 20_000), rel=2e-3)
    assert mean_alignment("lcn", 3, 20, 1.0, 200) < mean_alignment("cnn", 3, 20, 1.0, 200)
