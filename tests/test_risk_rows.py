"""Rows with a risk: where it is exact, which of several settings a row is of, and what stages leave."""

import jax
import numpy as np
import pytest
from training import fits_of

from whyconv.execution import chosen, draw, known_facts
from whyconv.learners import Fit
from whyconv.streams import streams
from whyconv.trial import Trial

K, D = 4, 3
TASK = {"name": "signal", "patches": K, "patch_dim": D, "sigma": 0.4}
LEARNER = {"rates": [0.3, 0.003], "bias_rates": [0.2, 0.0], "steps": 20}
PROJECTED = {"name": "projected", **LEARNER}
ARMS = {
    "cnn": ("lsa-cnn", PROJECTED),
    "fcn": ("lsa-fcn", PROJECTED),
    "embedded": ("lsa-fcn", {"name": "cnn-in-fcn", **LEARNER}),
    "two-step": ("lsa-lcn", {"name": "two-step", "bias_1": 0.3}),
}


def spec(arm, **fields):
    network, learner = ARMS[arm]
    return {
        "task": TASK, "network": network, "learner": learner, "m": 30, "seed": 1, "test_size": 1024,
        "risk": True, **fields,
    }  # fmt: skip


def sampled(trial, stream, count=1024):
    keys = streams(trial)
    return draw(trial.task, keys["world"], keys[stream], count)


def losses(fit, sample):
    return (np.asarray(sample.y, float) - np.asarray(fit.scores(sample.x), float)) ** 2


def pair(facts):
    return facts["rate"], facts["bias_rate"]


@pytest.mark.parametrize("arm", ["cnn", "embedded", "two-step"])
def test_local_nodes_have_their_exact_risk_and_are_tuned_like_the_others(arm, execute):
    trial, row = Trial(**spec(arm)), execute(**spec(arm))
    assert row["risk_is_exact"] is True and isinstance(row["denoises"], bool)
    assert -1 <= row["alignment"] <= 1
    fits = fits_of(trial)
    tuned = [losses(fit, sampled(trial, "validation")).mean() for fit in fits]
    fit = fits[int(np.argmin(tuned))]
    assert row["risk"] == known_facts(trial, fit, streams(trial)["world"])["risk"]
    if arm != "two-step":
        assert len(set(tuned)) == 4 and pair(row) == pair(fit.facts)
    found = losses(fit, sampled(trial, "test"))
    assert abs(found.mean() - row["risk"]) < 4 * found.std() / 32
    signal = np.asarray(trial.task.signal(streams(trial)["world"]))[0]
    filters = np.asarray(fit.params["w"]).reshape(-1, D)
    if arm == "embedded":
        filters = np.asarray(fit.params["w"]).reshape(K, K, D)[np.arange(K), np.arange(K)]
        assert row["parameters"] == K * K * D + 1
    cosines = filters @ signal / np.linalg.norm(filters, axis=1)
    assert row["alignment"] == pytest.approx(cosines.mean(), abs=1e-5)


def test_the_others_are_tested_and_tuned_on_examples_of_their_own(execute):
    trial, row = Trial(**spec("fcn")), execute(**spec("fcn"))
    assert row["risk_is_exact"] is False and "denoises" not in row and -1 <= row["alignment"] <= 1
    fits = fits_of(trial)
    tuned = [losses(fit, sampled(trial, "validation")).mean() for fit in fits]
    fit = fits[int(np.argmin(tuned))]
    assert pair(row) == pair(fit.facts)
    assert row["risk"] == pytest.approx(losses(fit, sampled(trial, "test")).mean(), rel=1e-6)
    other = losses(fit, sampled(trial, "batches"))
    assert abs(other.mean() - row["risk"]) < 4 * other.std() / 16
    nodes = np.asarray(fit.params["w"]).reshape(K, K, D)
    signal = np.asarray(trial.task.signal(streams(trial)["world"]))[0]
    cosines = nodes @ signal / np.linalg.norm(nodes, axis=(1, 2))[:, None]
    assert row["alignment"] == pytest.approx(cosines.max(axis=0).mean(), abs=1e-5)


def test_stages_leave_facts_under_their_names(execute):
    row, trial = execute(**spec("two-step")), Trial(**spec("two-step"))
    stages = {name for name in row if name.endswith("_step_one")}
    assert stages == {"risk_step_one", "alignment_step_one", "denoises_step_one"}
    (fit,) = fits_of(trial)
    view = trial.network.view(fit.stages["step_one"], (K, D))
    facts = trial.task.facts(streams(trial)["world"], view, exact=False, risk=True)
    assert {name: row[f"{name}_step_one"] for name in facts} == facts
    assert row["alignment_step_one"] != row["alignment"]


def test_without_the_wish_for_a_risk_a_row_is_what_it_was(execute):
    plain, more = execute(**spec("two-step", risk=False)), execute(**spec("two-step"))
    assert plain == {name: more[name] for name in plain}
    assert set(more) - set(plain) == {"risk_is_exact"} | {
        f"{name}{stage}" for name in ("risk", "alignment", "denoises") for stage in ("", "_step_one")
    }
    assert "risk" not in Trial(**spec("two-step", risk=False)).canonical()


class Knows:
    """Scores that are right on the examples of some streams, and as given elsewhere."""

    def __init__(self, trial, known, otherwise=0.0):
        self.right = {
            float(x): float(y)
            for stream in known
            for x, y in zip(*_first(sampled(trial, stream, trial.test_size)), strict=True)
        }
        self.otherwise = otherwise

    def __call__(self, x):
        return np.array([self.right.get(float(first), self.otherwise) for first in np.asarray(x)[:, 0, 0]])


def _first(sample):
    return np.asarray(sample.x)[:, 0, 0], np.asarray(sample.y)


@pytest.mark.parametrize("risk", [True, False])
def test_settings_are_compared_on_the_validation_stream_alone(risk):
    trial = Trial(**spec("fcn", network={"name": "lsa-fcn", "activation": "relu"}, test_size=50, risk=risk))
    cases = [("train", "test"), ("validation",), ("train", "test", "batches"), ()]
    fits = [Fit(Knows(trial, known), {}, {}) for known in cases]
    assert chosen(trial, fits, streams(trial)) is fits[1]
    assert chosen(trial, fits[::-1], streams(trial)) is fits[1]


def test_a_setting_that_blew_up_is_not_chosen():
    trial = Trial(**spec("fcn", network={"name": "lsa-fcn", "activation": "relu"}, test_size=50))
    good, bad, worse = (Fit(Knows(trial, (), value), {}, {}) for value in (5.0, np.nan, np.inf))
    assert chosen(trial, [bad, worse, good], streams(trial)) is good
    assert chosen(trial, [bad], streams(trial)) is bad


@pytest.mark.parametrize("risk", [True, False])
def test_an_exact_risk_chooses_nothing(risk):
    """The filters of the second are exactly the best, but its scores are wrong on the validation sample."""
    trial = Trial(**spec("cnn", test_size=50, risk=risk))
    keys = streams(trial)
    signal = np.asarray(trial.task.signal(keys["world"]))[:1, None]
    cases = ((("validation",), -0.8), (("train", "test"), 0.8))
    fits = [
        Fit(Knows(trial, known), {}, {}, {"w": sign * signal, "b": np.float32(0.4)}) for known, sign in cases
    ]
    if risk:
        worse, better = (known_facts(trial, fit, keys["world"])["risk"] for fit in fits)
        assert better < worse - 0.5
    assert chosen(trial, fits, keys) is fits[0]


def test_examples_for_tuning_are_those_of_no_other_stream():
    keys = streams(Trial(**spec("fcn")))
    assert set(keys) == {"world", "train", "test", "validation", "init", "batches"}
    data = {name: tuple(np.asarray(jax.random.key_data(key)).tolist()) for name, key in keys.items()}
    assert len(set(data.values())) == 6
    turned = streams(Trial(**spec("cnn", task={**TASK, "rotated": "patches"}, m=9)))
    for name in ("world", "train", "test", "validation", "batches"):
        assert np.array_equal(jax.random.key_data(turned[name]), jax.random.key_data(keys[name]))
