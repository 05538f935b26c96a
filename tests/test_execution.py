"""Exact errors by two routes, and what a row holds."""

import jax
import numpy as np
import pytest

from whyconv.execution import predicted
from whyconv.streams import streams
from whyconv.trial import Trial

SMALL = {"name": "detection", "positions": 4, "pattern_dim": 6, "patterns": 6}
SHORT = {"name": "gradient", "epochs": 6}


def test_the_listed_sets_and_the_subset_maxima_give_the_same_exact_error(execute, monkeypatch):
    spec = {
        "task": SMALL,
        "network": {"name": "conv-pool", "channels": 8},
        "learner": SHORT,
        "m": 12,
        "seed": 1,
    }
    listed = execute(**spec, exact=True)
    monkeypatch.setattr("whyconv.tasks.detection.LARGEST_ENUMERATION", 0)
    assert "exact_error" not in execute(**spec)
    by_maxima = execute(**spec, exact=True)
    assert 0 < listed["exact_error"] < 1
    assert by_maxima["exact_error"] == pytest.approx(listed["exact_error"], abs=1e-12)


def test_the_exact_error_is_the_limit_of_the_sampled_one(execute):
    spec = {
        "task": SMALL,
        "network": {"name": "conv-pool", "channels": 8},
        "learner": SHORT,
        "m": 12,
        "seed": 1,
    }
    result = execute(**spec, test_size=20_000)
    spread = np.sqrt(result["exact_error"] * (1 - result["exact_error"]) / 20_000)
    assert abs(result["test_error"] - result["exact_error"]) < 4 * spread + 1e-9


def test_the_paper_size_has_an_exact_error_on_request(execute):
    spec = {"task": "detection", "network": {"name": "conv-pool", "channels": 20}, "learner": SHORT, "m": 10}
    result = execute(**spec, seed=0, exact=True, test_size=4000)
    assert abs(result["test_error"] - result["exact_error"]) < 0.04


def test_other_networks_have_none(execute):
    for network in ({"name": "mlp", "width": 4}, {"name": "conv-pool", "channels": 4, "pooling": "average"}):
        result = execute(task=SMALL, network=network, learner=SHORT, m=12, seed=1, exact=True)
        assert "exact_error" not in result


def test_float64_is_another_trial(execute):
    spec = {
        "task": SMALL,
        "network": {"name": "conv-pool", "channels": 8},
        "learner": SHORT,
        "m": 12,
        "seed": 1,
    }
    single, double = Trial(**spec), Trial(**spec, dtype="float64")
    assert single.key != double.key
    assert execute(**spec, dtype="float64")["train_loss"] != execute(**spec)["train_loss"]


def test_rows_tell_how_local_the_filters_are_and_seed_0_shows_them():
    from training import NoCheckpoint

    from whyconv.execution import execute
    from whyconv.trial import Trial

    common = {
        "task": {"name": "sequence", "images": "digits", "digits": 3, "counted": 1},
        "network": {"name": "deep-fcn", "widths": [9]}, "m": 128, "test_size": 64,
        "learner": {"name": "gradient", "epochs": 1, "batch": 128, "loss": "hinge", "tolerance": 0},
    }  # fmt: skip
    for seed in (0, 1):
        result, trace = execute(Trial(seed=seed, **common), lambda fraction: None, NoCheckpoint())
        assert abs(result["locality"]) < 0.2  # hardly trained: random weights have none
        assert ("filters" in trace) == (seed == 0)
        if seed == 0:
            assert trace["filters_shape"] == [8, 24, 24, 1]  # of nine
            shown = np.array(trace["filters"]).reshape(8, -1)
            assert (np.abs(shown).max(axis=1) == 100).all()
            assert (shown == np.rint(shown)).all()


def test_a_score_of_zero_counts_as_minus_one():
    np.testing.assert_array_equal(predicted(np.array([-1.0, 0.0, 1e-30])), [-1, -1, 1])


def test_every_stream_depends_on_the_seed():
    spec = {"task": SMALL, "network": {"name": "conv-pool", "channels": 8}, "learner": SHORT, "m": 12}
    zero, one = (streams(Trial(**spec, seed=seed)) for seed in (0, 1))
    assert zero.keys() == one.keys() and len(zero) == 6
    assert all(not np.array_equal(jax.random.key_data(zero[n]), jax.random.key_data(one[n])) for n in zero)


def test_a_learner_without_a_network_of_its_own_leaves_the_network_alone(execute):
    row = execute(task=SMALL, network={"name": "conv-pool", "channels": 8}, learner="svm", m=12, seed=0)
    assert 0 <= row["test_error"] <= 1 and "exact_error" not in row
