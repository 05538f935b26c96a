"""E[y | x] against all scenes written out, against its closed form, and as a calibrated probability."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from test_signal_risk import plain

from whyconv.exact.signal.bayes import bayes_risk, log_odds, posterior
from whyconv.exact.signal.law import SignalLaw, simulate
from whyconv.exact.signal.risk import linear_risk, oracle

DENSITY = {
    "gaussian": stats.norm().pdf,
    "uniform": stats.uniform(-(3**0.5), 2 * 3**0.5).pdf,
    "laplace": stats.laplace(0, 0.5**0.5).pdf,
}


@st.composite
def laws(draw, **fixed):
    patches, dim, rolls = draw(st.integers(2, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    live = np.arange(dim) < rng.integers(1, dim + 1, (patches, 1))
    table = rng.normal(size=(rolls, patches, dim)) * live
    table /= np.linalg.norm(table, axis=2, keepdims=True)
    kind = draw(st.sampled_from(["one", "place", "several", "product"]))
    fields = {
        "one": {},
        "place": {"place": int(rng.integers(1, patches + 1))},
        "several": {"signals": int(rng.integers(2, patches + 1))},
        "product": {"product": True},
    }[kind]
    noise = {"noise_law": draw(st.sampled_from(sorted(DENSITY)))}
    return SignalLaw(table, rng.uniform(0.5, 1.2, patches), live, **{**fields, **noise, **fixed})


def by_enumeration(law, x):
    """Sums of likelihoods over every scene with its label, one input; densities from SciPy."""
    rolls, patches, _ = law.table.shape
    seats = [(law.place - 1,)] if law.place else combinations(range(patches), law.holders)
    likelihood = {1: 0.0, -1: 0.0}
    for where in seats:
        for signs in product((1, -1), repeat=law.holders):
            if not law.product and len(set(signs)) > 1:
                continue
            for turns in product(range(rolls), repeat=law.holders):
                noise = x.copy()
                for patch, sign, turn in zip(where, signs, turns, strict=True):
                    noise[patch] -= sign * law.table[turn, patch]
                each = DENSITY[law.noise_law](noise / law.sigmas[:, None])
                likelihood[int(np.prod(signs)) if law.product else signs[0]] += each[law.live].prod()
    return (likelihood[1] - likelihood[-1]) / (likelihood[1] + likelihood[-1])


@given(laws(), st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_the_posterior_is_the_sum_over_scenes(law, seed):
    x, _ = simulate(law, 3, seed)
    told = [by_enumeration(law, one) for one in x]
    assert posterior(law, x) == pytest.approx(told, abs=1e-9)


def test_the_plain_rule_is_the_sign_of_a_sum_of_hyperbolic_sines():
    law = plain(6, sigma=0.7)
    x, _ = simulate(law, 500, 0)
    score = x @ law.table[0, 0] / 0.49
    told = np.sinh(score).sum(axis=1) / np.cosh(score).sum(axis=1)
    assert posterior(law, x) == pytest.approx(told, abs=1e-12)


@pytest.mark.parametrize("fields", [{}, {"signals": 3}, {"product": True}, {"place": 2}])
@pytest.mark.parametrize("noise_law", sorted(DENSITY))
def test_probabilities_are_calibrated(fields, noise_law):
    law = plain(5, dim=2, sigma=0.8, noise_law=noise_law, **fields)
    x, y = simulate(law, 40_000, 1)
    p = posterior(law, x)
    for low in np.linspace(-1, 0.75, 8):
        inside = (p >= low) & (p <= low + 0.25)
        if inside.sum() > 50:
            error = np.sqrt(((1 - p[inside] ** 2).sum() + 1e-3) / inside.sum() ** 2)
            assert y[inside].mean() == pytest.approx(p[inside].mean(), abs=4 * error)


@pytest.mark.parametrize("fields", [{}, {"signals": 2}, {"product": True}, {"place": 1}])
@pytest.mark.parametrize("noise_law", sorted(DENSITY))
def test_a_signal_without_noise_gives_itself_away(fields, noise_law):
    law = plain(4, dim=2, sigma=0.8, noise_law=noise_law, noisy_signal=False, **fields)
    x, y = simulate(law, 2000, 1)
    assert np.array_equal(posterior(law, x), y)


def test_an_impossible_input_has_no_posterior():
    law = plain(2, dim=1, noise_law="uniform")
    assert np.isnan(posterior(law, np.full((1, 2, 1), 5.0))).all()
    assert posterior(law, np.zeros((0, 2, 1))).shape == (0,)


def test_an_edge_is_an_edge_up_to_the_tolerance():
    law = plain(2, dim=1, sigma=0.5, noise_law="uniform")
    edge = 1 + 0.5 * 3**0.5
    x = np.array([[[edge + 1e-7], [0.0]]])
    assert np.isnan(posterior(law, x)).all()
    assert posterior(law, x, 1e-6) == 1


def test_far_from_doubt_log_odds_still_differ():
    law = plain(3, dim=1, sigma=0.05)
    x = np.array([[[1.0], [0.0], [0.0]], [[1.1], [0.0], [0.0]]])
    assert np.array_equal(posterior(law, x), [1, 1])
    # sum sinh / sum cosh over (z, 0, 0) with z = x / sigma^2 has the odds (e^z + 2) / (e^-z + 2)
    z = x[:, 0, 0] / 0.05**2
    assert log_odds(law, x) == pytest.approx(z - np.log(2), abs=1e-9)


@given(laws(noise_law="gaussian"))
@settings(max_examples=8, deadline=None)
def test_no_network_beats_bayes(law):
    bayes = bayes_risk(law, 2000)
    assert bayes.risk.low <= min(oracle(law)[0], linear_risk(law)) + 1e-9
    assert 0 <= bayes.error.mean <= bayes.risk.mean / 2 + 1e-12 <= 0.5 + 1e-12


def test_the_bayes_risk_is_the_loss_of_the_posterior():
    law = plain(5, sigma=0.7, signals=2)
    bayes = bayes_risk(law, 20_000, seed=1)
    x, y = simulate(law, 60_000, 7)
    p = posterior(law, x)
    losses, wrong = (y - p) ** 2, np.sign(p) != y
    spread = 4 * losses.std() / len(losses) ** 0.5 + 2 * (bayes.risk.high - bayes.risk.mean)
    assert losses.mean() == pytest.approx(bayes.risk.mean, abs=spread)
    assert wrong.mean() == pytest.approx(bayes.error.mean, abs=0.006)
    assert bayes_risk(law, 20_000, seed=1) == bayes
    assert bayes_risk(law, 20_000, seed=2) != bayes
    assert bayes.risk.count == 20_000


def test_one_draw_is_no_estimate():
    with pytest.raises(ValueError, match="draws = 1 gives no interval; take 2 or more"):
        bayes_risk(plain(2), 1)


@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_one_patch_is_a_textbook_problem(sigma):
    bayes = bayes_risk(plain(1, sigma=sigma), 40_000)
    assert stats.norm.sf(1 / sigma) == pytest.approx(bayes.error.mean, abs=0.003)
