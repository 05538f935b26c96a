"""Searches for counterexamples: none where the statements are true, and one where something is broken."""

from functools import partial

import pytest

from whyconv import registry
from whyconv.papers.malach.claims import expressivity, failure, learning, precision, search, sizes
from whyconv.papers.malach.exact import juntas, window_signal

CLAIMS = {
    "cor5": 0.97, "thm4-eta": 1e-5, "expressivity": 0.74, "overwhelming": 0.5, "permutation": 0.99,
    "junta": 0.8, "nas": 1e-6, "finite-precision": 0.0,
}  # fmt: skip
"""How near to a bound three rounds come at least; identities are as near as rounding takes them."""


def largest(name, rounds=3):
    """The largest ratio of every inequality."""
    found = {}
    for seed in range(rounds):
        for key, case in registry.find("claim", f"malach.{name}")().stress(seed).items():
            found[key] = max(case.ratio, found.get(key, 0.0))
    return found


@pytest.mark.parametrize("name", CLAIMS)
def test_no_counterexample_and_as_near_as_it_came(name):
    ratios = largest(name, 1 if name == "finite-precision" else 3)
    assert all(0 <= ratio <= 1 + 1e-9 for ratio in ratios.values())
    assert max(ratios.values()) >= CLAIMS[name]


@pytest.mark.parametrize("name", sorted(CLAIMS.keys() - {"finite-precision"}))
def test_a_round_is_a_function_of_its_number(name):
    claim = registry.find("claim", f"malach.{name}")()
    assert claim.stress(4) == claim.stress(4)
    assert any(claim.stress(seed) != claim.stress(4) for seed in (5, 6, 7))


def test_constants_that_are_a_little_too_small_are_found(monkeypatch):
    monkeypatch.setattr(sizes, "STEPS", 32)
    assert max(largest("cor5").values()) > 1


def test_an_eta_that_is_a_little_off_is_found(monkeypatch):
    right = learning.bounds.step_size
    monkeypatch.setattr(learning.bounds, "step_size", lambda *given: right(*given) * (1 + 1e-9))
    assert min(largest("thm4-eta").values()) > 1


def test_a_neuron_at_another_place_is_found(monkeypatch):
    right = expressivity._embedded
    monkeypatch.setattr(expressivity, "_embedded", lambda n, k, seed, broken: right(n, k, seed, "shifted"))
    assert largest("expressivity")["|CNN - its FCN| / rounding"] > 1


def test_windows_of_all_bits_are_found(monkeypatch):
    right = expressivity._window_functions
    monkeypatch.setattr(expressivity, "_window_functions", lambda n, k: right(n, n))
    assert largest("expressivity")["dimension of CNNs <= 2^n - 1"] > 1


def test_a_quarter_of_the_bound_on_the_first_gradient_is_found(monkeypatch):
    right = failure._sum_of_bounds
    monkeypatch.setattr(failure, "_sum_of_bounds", lambda n, k, q: right(n, k, q) / 4)
    assert largest("overwhelming")["P(gradient >= 1) <= sqrt(B), extremal start"] > 1


def test_a_thirtieth_of_the_mean_of_the_first_gradient_is_found(monkeypatch):
    right = failure._sum_of_bounds
    monkeypatch.setattr(failure, "_sum_of_bounds", lambda n, k, q: right(n, k, q) / 30)
    assert largest("overwhelming")["E|gradient|^2 <= B, Gaussian start"] > 1


def test_a_start_that_is_not_permuted_is_found(monkeypatch):
    right = search._coupled
    monkeypatch.setattr(search, "_coupled", lambda seed, broken: right(seed, "swap"))
    assert largest("permutation")["FCN and its twin apart / rounding"] > 1


def test_a_local_network_that_sees_the_three_bits_is_found(monkeypatch):
    right = search._network
    monkeypatch.setattr(search, "_network", lambda kind, n, k, seed: right("fcn", n, k, seed))
    assert largest("permutation")["1 / loss of a local network"] > 1


def test_an_order_that_does_not_gather_the_bits_is_found(monkeypatch):
    monkeypatch.setattr(juntas, "order_for", lambda subset, n, first: juntas.subsets(n, n)[0])
    assert largest("junta")["2 x juntas that their pattern is not"] > 1


def test_juntas_of_too_small_a_dimension_are_found(monkeypatch):
    right = juntas.junta_tables
    monkeypatch.setattr(juntas, "junta_tables", lambda n, k: right(n, k)[:1])
    assert largest("junta")["C(n, k) <= dimension of the k-juntas"] > 1


def test_a_target_that_windows_see_is_found(monkeypatch):
    monkeypatch.setattr(window_signal, "parity", window_signal.nearly_parity)
    assert min(largest("nas", 6).values()) > 1


def test_a_precision_that_keeps_the_step_is_found(monkeypatch):
    right = precision._words
    finer = partial(right, dtype="float64")
    monkeypatch.setattr(precision, "_words", lambda weights, gradient, k, dtype: finer(weights, gradient, k))
    ratios = largest("finite-precision", 1)
    assert ratios["neurons whose step is not lost / half of them, float32, n = 1024"] > 1
