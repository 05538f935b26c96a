"""The studies on bits judge made-up rows as they should, and tune every arm with the same budget."""

import numpy as np
import pandas as pd
import pytest

from whyconv.errors import UserError
from whyconv.settings import configure
from whyconv.studies.malach_natural_init import FEATURES
from whyconv.studies.malach_natural_init import HIDDEN as HIDDEN_NORMAL
from whyconv.studies.malach_separation import BIASED, CNN, FCN, HIDDEN, LCN, MAJORITY
from whyconv.trial import Row

ARMS = (CNN, LCN, FCN, HIDDEN, MAJORITY, BIASED)


def row(trial, steps, reached=True, error=0.05):
    result = {
        "steps": steps, "stopped": "error" if reached else "cap", "held_out_error": error,
        "test_error": error, "train_flops": 1000 * steps,
    }  # fmt: skip
    return Row(trial.key, trial.stem, trial.canonical(), trial.versions, "ok", result)


def completed(study, outcome):
    """All rows of an adaptive study, ``outcome(labels, seed)`` being (steps, reached, error)."""
    rows = {}
    for _ in range(5):
        points = study.plan(rows)
        missing = [point for point in points if point.trial.key not in rows]
        if not missing:
            return points, rows
        rows |= {
            point.trial.key: row(point.trial, *outcome(point.labels, point.trial.seed)) for point in missing
        }
    raise AssertionError("the plan does not end")


def separation(labels, seed, learns=()):
    """What the paper predicts, and a best rate that depends on the arm."""
    best = {CNN: 1.0, LCN: 0.1}.get(labels["arm"], 10.0)
    slower = 1 if labels["rate"] == best else 3
    stuck = labels["arm"] == HIDDEN or (labels["arm"] == FCN and labels["n"] > 32)
    if stuck and labels["arm"] not in learns:
        return 400, False, 0.5 + 0.002 * (seed % 3)
    return slower * labels["n"] // 2, True, 0.05


def judged(study, outcome):
    points, rows = completed(study, outcome)
    return study.judge(study.table(points, rows))


def test_every_arm_is_tuned_with_the_same_rates_and_seeds_before_it_is_measured():
    study = configure("malach.separation")
    first = study.plan({})
    assert {point.labels["phase"] for point in first} == {"tuning"}
    for arm in ARMS:
        tried = [(p.labels["n"], p.labels["rate"], p.trial.seed) for p in first if p.labels["arm"] == arm]
        assert sorted(tried) == [
            (n, r, 10_000 + s) for n in study.n_bits for r in study.rates for s in (0, 1)
        ]
    points, rows = completed(study, separation)
    measured = [point for point in points if point.labels["phase"] == "measured"]
    chosen = {(point.labels["arm"], point.labels["rate"]) for point in measured}
    assert {(CNN, 1.0), (LCN, 0.1), (MAJORITY, 10.0)} <= chosen
    assert {point.trial.seed for point in measured} == set(range(5))
    assert len(measured) == len(ARMS) * len(study.n_bits) * 5
    assert {point.trial.m for point in points} == {4096 + 1024}
    assert set(study.measured(study.table(points, rows))["phase"]) == {"measured"}


def test_nothing_is_measured_before_all_tuning_of_a_cell_is_in():
    study = configure("malach.separation")
    first = study.plan({})
    cell = [point for point in first if point.labels["arm"] == CNN and point.labels["n"] == 8]
    rows = {point.trial.key: row(point.trial, 3) for point in cell[:-1]}
    assert len(study.plan(rows)) == len(first)
    rows[cell[-1].trial.key] = row(cell[-1].trial, 3)
    assert len(study.plan(rows)) == len(first) + 5


@pytest.mark.parametrize("results, best", [
    ({0.1: (50, True, 0.1), 1.0: (20, True, 0.1), 10.0: (400, False, 0.2)}, 1.0),
    ({0.1: (400, False, 0.5), 1.0: (400, False, 0.3), 10.0: (400, False, 0.4)}, 1.0),
    ({0.1: (399, True, 0.1), 1.0: (3, False, 0.1), 10.0: (2, False, 0.1)}, 0.1),
])  # fmt: skip
def test_the_best_rate_reaches_the_target_then_is_quick_then_errs_least(results, best):
    study = configure("malach.separation")
    points, _ = completed(study, lambda labels, seed: results[labels["rate"]])
    assert {point.labels["rate"] for point in points if point.labels["phase"] == "measured"} == {best}


def test_the_separation_is_consistent_and_its_control_fails():
    found = judged(configure("malach.separation"), separation)
    assert (found.evidence.verdict, found.control.verdict) == ("consistent", "fails")
    assert found.evidence.numbers["steps, FCN"] == "8: 4, 16: 8, 32: 16, 64: > 400"
    assert found.evidence.numbers["operations, CNN"].startswith("8: 4e+03, ")


def test_the_separation_fails_if_the_fcn_learns_everywhere_or_the_lcn_misses_once():
    study = configure("malach.separation")
    assert (
        judged(study, lambda labels, seed: separation(labels, seed, learns=(FCN,))).evidence.verdict
        == "fails"
    )

    def one_seed_missing(labels, seed):
        missing = labels["arm"] == LCN and labels["n"] == 64 and seed == 3
        return (400, False, 0.3) if missing else separation(labels, seed)

    assert judged(study, one_seed_missing).evidence.verdict == "fails"

    def majority_not_learned(labels, seed):
        missing = labels["arm"] == MAJORITY and labels["n"] == 64
        return (400, False, 0.5) if missing else separation(labels, seed)

    assert judged(study, majority_not_learned).evidence.verdict == "fails"


def test_the_separation_is_undecided_between():
    def half(labels, seed):
        between = labels["arm"] == FCN and labels["n"] == 64
        return (400, False, 0.25 + 0.1 * (seed % 4)) if between else separation(labels, seed)

    assert judged(configure("malach.separation"), half).evidence.verdict == "undecided"


def test_windows_follow_the_pattern():
    trials = [point.trial for point in configure("malach.separation").plan({})]
    assert {(t.task.n_bits, t.task.k_window) for t in trials} == {(8, 3), (16, 4), (32, 5), (64, 6)}
    assert all(t.network.k_window == t.task.k_window for t in trials if t.network.name in ("cnn", "lcn"))


def evaluations(study, ratio):
    rng = np.random.default_rng(0)
    lines = []
    for point in study.plan({}):
        labels = point.labels
        count = ratio(labels) * study.blind(labels["n"]) * rng.exponential()
        lines.append({**labels, "seed": point.trial.seed, "evaluations": count, "test_error": 0.0,
                      "in_blind_searches": count / study.blind(labels["n"])})  # fmt: skip
    return pd.DataFrame(lines)


def test_the_search_is_blind_for_parity_and_guided_for_majority():
    study = configure("malach.architecture-search", seeds=30)
    found = study.judge(evaluations(study, lambda labels: 1.0 if labels["target"] == "parity" else 0.05))
    assert (found.evidence.verdict, found.control.verdict) == ("consistent", "fails")
    helped = evaluations(study, lambda labels: 0.1 if labels["arm"] == "hill climbing" else 1.0)
    assert study.judge(helped).evidence.verdict == "fails"
    blind = study.judge(evaluations(study, lambda labels: 1.0))
    assert blind.evidence.verdict == "fails"


def test_blind_guessing_has_its_closed_form():
    study = configure("malach.architecture-search")
    assert [study.blind(n) for n in (8, 16)] == [56 / 6, 560 / 14]
    caps = {point.labels["n"]: point.trial.learner.evaluations for point in study.plan({})}
    assert caps == {8: 187, 16: 800, 24: 1840}


def natural(labels, seed):
    missed = labels["arm"] == HIDDEN_NORMAL or labels["filters"] == 16
    return (4000, False, 0.5) if missed else (10, True, 0.01)


def test_natural_starts_are_judged_at_the_largest_width():
    study = configure("malach.natural-init")
    found = judged(study, natural)
    assert (found.evidence.verdict, found.control.verdict) == ("consistent", "fails")
    assert "least norm of a readout, normal start, q=256" in found.evidence.numbers

    def features_fail(labels, seed):
        return (4000, False, 0.4) if labels["arm"] == FEATURES else natural(labels, seed)

    assert judged(study, features_fail).evidence.verdict == "fails"


def test_the_least_norm_of_the_theorem_is_its_closed_form():
    study = configure("malach.natural-init")
    network = study.arms["theorem's start"].model_copy(update={"filters": 256})
    from whyconv.streams import stream

    counts = np.asarray(network.counts(stream("init", network.canonical(), 0), 1, 4))[0]
    assert float(study.least_norm("theorem's start")) == pytest.approx(
        4 * np.sqrt((1 / counts).sum()), rel=2e-3
    )


@pytest.mark.parametrize("study, setting, sentence", [
    ("malach.separation", "rates=[]", "list of different step sizes"),
    ("malach.separation", "n_bits=[32,16]", "increasing numbers of bits"),
    ("malach.separation", "n_bits=[1]", "increasing numbers of bits"),
    ("malach.natural-init", "task=detection", "must be k-pattern or k-junta"),
    ("malach.natural-init", "filters=[0]", "increasing numbers of filters"),
    ("malach.architecture-search", "targets=parity", "must hold parity and majority"),
    ("malach.architecture-search", "n_bits=[2]", "do not fit into n_bits = 2"),
])  # fmt: skip
def test_bad_settings_get_a_sentence(study, setting, sentence):
    with pytest.raises(UserError, match=sentence):
        configure(study, "quick", [setting]).plan({})
