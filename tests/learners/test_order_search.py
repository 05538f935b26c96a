"""The search for an order: its evaluations are recounted from outside, and cuts do not change them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from training import Memory, fit_of, job_of

from whyconv.learners.order_search import OrderSearch, Searching, _Search
from whyconv.streams import streams
from whyconv.trial import Trial


def trial(strategy="random", target="parity", seed=0, n_bits=10, **learner):
    return Trial(
        task={"name": "k-junta", "n_bits": n_bits, "k_window": 3, "target": target},
        network={"name": "cnn", "k_window": 3, "filters": 256},
        learner={"name": "order-search", "strategy": strategy, "evaluations": 400, **learner},
        m=1536,
        seed=seed,
    )


def decisive(spec):
    """The three places that hold the pattern, among the bits as they are shown."""
    order = np.asarray(spec.task.order(streams(spec)["world"]))
    first = spec.task.first_bit
    return {place for place, bit in enumerate(order) if first <= bit < first + 3}


@pytest.mark.parametrize("seed", range(4))
def test_random_orders_are_counted_until_a_window_holds_the_pattern(seed):
    spec = trial(seed=seed)
    found = fit_of(spec)
    wanted, key = decisive(spec), streams(spec)["batches"]
    for number in range(400):
        order = np.asarray(jax.random.permutation(jax.random.fold_in(key, number), 10)).tolist()
        if any(set(order[j : j + 3]) == wanted for j in range(8)):
            break
    assert found.facts["stopped"] == "error"
    assert found.facts["evaluations"] == number + 1


def test_correlations_give_majority_away_at_once_and_parity_not():
    assert fit_of(trial("greedy", "majority")).facts["evaluations"] == 1
    assert fit_of(trial("greedy", "parity")).facts["evaluations"] > 1


def test_the_found_network_predicts_fresh_examples(execute):
    spec = {name: getattr(trial(), name) for name in ("task", "network", "learner", "m", "seed")}
    result = execute(**spec)
    assert result["test_error"] <= 0.1 and result["held_out_error"] <= 0.1
    rows = 1536 - 512
    assert result["train_flops"] == 3 * (2 * 256 * 4 * 8) * rows * 20 * result["evaluations"]


def test_a_search_that_finds_nothing_says_so():
    spec = trial(seed=3, evaluations=1, n_bits=16)
    facts = fit_of(spec).facts
    assert (facts["stopped"], facts["evaluations"]) == ("cap", 1)


def test_climbing_swaps_two_places_and_keeps_what_is_not_worse():
    spec = trial("climb")
    job = job_of(spec)
    step = _Search(job.network, spec.learner)
    order = np.random.default_rng(0).permutation(10)
    state = Searching(*(jnp.asarray(v) for v in (5, order, 0.7, 1.0, order)))
    proposed = np.asarray(step.propose(state, job.sample.x, job.sample.y, 1024, jax.random.key(1)))
    assert (proposed != order).sum() == 2 and sorted(proposed) == list(range(10))
    params = job.network.init(job.init, (10,))
    low, high = state._replace(loss=np.asarray(-1.0)), state._replace(loss=np.asarray(9.0))
    args = (params, job.sample.x, job.sample.y, np.asarray(1024), job.batches, np.asarray(6))
    assert np.array_equal(step.segment(low, *args).order, order)
    assert (np.asarray(step.segment(high, *args).order) != order).sum() == 2


def test_a_search_cut_short_goes_on_to_the_same_answer():
    spec = trial("climb", seed=2)
    whole = fit_of(spec)
    assert whole.facts["evaluations"] > 16  # the first segment
    once = Memory(die_at=1)
    with pytest.raises(KeyboardInterrupt):
        fit_of(spec, checkpoint=once)
    assert fit_of(spec, checkpoint=Memory(state=once.state)).facts == whole.facts


@pytest.mark.parametrize(
    "fields, sentence",
    [
        ({"network": "mlp"}, "order-search trains networks over windows"),
        ({"m": 512}, "held_out = 512 are not trained on"),
    ],
)
def test_what_cannot_be_searched_is_refused(fields, sentence):
    good = {"task": "k-junta", "network": "cnn", "learner": OrderSearch(), "m": 1000, "seed": 0}
    with pytest.raises(ValueError, match=sentence):
        Trial(**(good | fields))
