"""The studies on bits judge made-up rows as they should, and tune every arm with the same budget."""

import jax
import numpy as np
import pandas as pd
import pytest

from whyconv.cli.terminal import print_judgement
from whyconv.errors import UserError
from whyconv.measure.intervals import rate_interval
from whyconv.papers.malach.studies.natural_init import FEATURES
from whyconv.papers.malach.studies.natural_init import HIDDEN as HIDDEN_NORMAL
from whyconv.papers.malach.studies.natural_init import SHORT as SHORT_NORMAL
from whyconv.papers.malach.studies.separation import BIASED, CNN, DENSE, FCN, HIDDEN, LCN, MAJORITY, SHORT
from whyconv.runs import Run
from whyconv.settings import configure
from whyconv.streams import stream
from whyconv.trial import Row

ARMS = (CNN, LCN, FCN, SHORT, HIDDEN, MAJORITY, BIASED)


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
    best = {CNN: 3.0, LCN: 0.3}.get(labels["arm"], 30.0)
    slower = 1 if labels["rate"] == best else 3
    stuck = labels["arm"] in (SHORT, HIDDEN) or (labels["arm"] == FCN and labels["n"] > 32)
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
            (n, r, 11_000 + s) for n in study.n_bits for r in study.rates for s in (0, 1)
        ]
    points, rows = completed(study, separation)
    measured = [point for point in points if point.labels["phase"] == "measured"]
    chosen = {(point.labels["arm"], point.labels["rate"]) for point in measured}
    assert {(CNN, 3.0), (LCN, 0.3), (MAJORITY, 30.0), (HIDDEN, 3.0)} <= chosen
    for arm in ARMS:
        seeds = range(1000, 1010 if arm in DENSE else 1020)
        for n in study.n_bits:
            own = [p.trial for p in measured if (p.labels["arm"], p.labels["n"]) == (arm, n)]
            assert [trial.seed for trial in own] == list(seeds)
    assert {(p.trial.task.n_bits, p.trial.m) for p in points} == {(n, 384 * n + 1024) for n in study.n_bits}
    assert set(study.measured(study.table(points, rows))["phase"]) == {"measured"}


def test_all_networks_may_spend_the_same_operations():
    study = configure("malach.separation")
    for n in study.n_bits:
        trials = [point.trial for point in study.plan({}) if point.labels["n"] == n]
        spent = {t.network.flops(t.task.shape) * t.learner.epochs for t in trials}
        most = 400 * 2 * 512 * (n + 1)
        assert all(0.9 * most < operations <= most for operations in spent)


def test_the_grid_grows_where_its_edge_is_best_and_only_there():
    study = configure("malach.separation")
    points, _ = completed(study, separation)
    tried = {}
    for point in points:
        tried.setdefault(point.labels["arm"], set()).add(round(point.labels["rate"], 6))
    assert tried[CNN] == {0.3, 3.0, 30.0}
    assert tried[LCN] == {0.03, 0.3, 3.0, 30.0}
    assert tried[MAJORITY] == {0.3, 3.0, 30.0, 300.0}
    assert tried[HIDDEN] == {0.3, 3.0, 30.0}
    none = configure("malach.separation", "quick", {"extensions": 0})
    assert {point.labels["rate"] for point in completed(none, separation)[0]} == {0.3, 3.0, 30.0}
    growing, _ = completed(study, lambda labels, seed: (round(100 / labels["rate"] ** 0.1), True, 0.05))
    assert max(point.labels["rate"] for point in growing) == pytest.approx(3000)


def test_nothing_is_measured_before_all_tuning_of_a_cell_is_in():
    study = configure("malach.separation")
    first = study.plan({})
    cell = [point for point in first if point.labels["arm"] == CNN and point.labels["n"] == 8]
    rows = {point.trial.key: row(point.trial, 3) for point in cell[:-1]}
    assert len(study.plan(rows)) == len(first)
    rows[cell[-1].trial.key] = row(cell[-1].trial, 3)
    assert len(study.plan(rows)) == len(first) + 20


def test_a_failed_trial_stops_the_tuning_of_its_cell_only():
    study = configure("malach.separation")
    whole, rows = completed(study, separation)
    for rate in (0.3, 3.0, 0.03):  # of LCN: 0.03 follows from 0.3, the best of the first grid
        tried = next(
            p
            for p in whole
            if (p.labels["arm"], p.labels["n"]) == (LCN, 8) and p.labels["rate"] == pytest.approx(rate)
        )
        trial = tried.trial
        failed = Row(trial.key, trial.stem, trial.canonical(), trial.versions, "failed", error="memory")
        points = study.plan(rows | {trial.key: failed})
        assert not [
            p for p in points if (p.labels["arm"], p.labels["n"], p.labels["phase"]) == (LCN, 8, "measured")
        ]
        grid = {p.labels["rate"] for p in points if (p.labels["arm"], p.labels["n"]) == (LCN, 8)}
        assert len(grid) == (4 if rate == 0.03 else 3)
        others = [p for p in whole if (p.labels["arm"], p.labels["n"]) != (LCN, 8)]
        assert [p for p in points if (p.labels["arm"], p.labels["n"]) != (LCN, 8)] == others
    assert study.plan(rows) == whole


@pytest.mark.parametrize("results, best", [
    ({0.3: (50, True, 0.1), 3.0: (20, True, 0.1), 30.0: (200, False, 0.2)}, 3.0),
    ({0.3: (200, False, 0.5), 3.0: (200, False, 0.4), 30.0: (200, False, 0.3)}, 30.0),
    ({0.3: (200, False, 0.501), 3.0: (200, False, 0.503), 30.0: (200, False, 0.499)}, 3.0),
    ({0.3: (199, True, 0.1), 3.0: (3, False, 0.1), 30.0: (2, False, 0.1), 0.03: (200, False, 0.1)}, 0.3),
])  # fmt: skip
def test_the_best_rate_reaches_the_target_then_is_quick_then_errs_least(results, best):
    study = configure("malach.separation")
    points, _ = completed(study, lambda labels, seed: results[round(labels["rate"], 6)])
    assert {point.labels["rate"] for point in points if point.labels["phase"] == "measured"} == {best}


def test_a_rate_that_misses_once_is_worse_than_a_slow_one():
    def outcome(labels, seed):
        if labels["rate"] == 3.0:
            return (2, True, 0.05) if seed % 2 else (200, False, 0.3)
        return (190, True, 0.05) if labels["rate"] == 0.3 else (200, False, 0.3)

    points, _ = completed(configure("malach.separation", "quick", {"extensions": 0}), outcome)
    assert {point.labels["rate"] for point in points if point.labels["phase"] == "measured"} == {0.3}


def test_the_separation_is_consistent_and_its_control_fails():
    found = judged(configure("malach.separation"), separation)
    assert (found.evidence.verdict, found.control.verdict) == ("consistent", "fails")
    numbers = found.evidence.numbers
    assert [numbers[f"steps, FCN, n={n}"] for n in (8, 16, 32)] == [4, 8, 16]
    assert numbers["steps, FCN, n=64 (a lower bound)"] == 400
    assert numbers["share of seeds at the target, FCN, n=64"] == rate_interval(0, 10)
    assert numbers["share of seeds at the target, CNN, n=64"] == rate_interval(20, 20)
    assert numbers["step size, LCN, n=64"] == pytest.approx(0.3)
    assert str(numbers["steps grow like n to the power, CNN"]).startswith("1 [1, 1]")


def test_the_control_that_comes_nearest_to_passing_counts():
    found = judged(configure("malach.separation"), lambda labels, seed: separation(labels, seed, (SHORT,)))
    assert found.control.verdict == "consistent"
    found = judged(configure("malach.separation"), lambda labels, seed: separation(labels, seed, (HIDDEN,)))
    assert found.control.verdict == "consistent"


def changed(**cases):
    """The prediction, but for the cells named ``arm_n``: an outcome, or a function of the seed."""
    names = {"FCN": FCN, "LCN": LCN, "CNN": CNN, "majority": MAJORITY, "biased": BIASED}
    cells = {(names[key.split("_")[0]], int(key.split("_")[1])): value for key, value in cases.items()}

    def outcome(labels, seed):
        found = cells.get((labels["arm"], labels["n"]))
        if found is None:
            return separation(labels, seed)
        return found(seed) if callable(found) else found

    return outcome


@pytest.mark.parametrize("outcome, verdict", [
    (changed(FCN_64=(100, True, 0.05)), "fails"),
    (changed(FCN_64=lambda seed: (100, True, 0.05) if seed == 1003 else (400, False, 0.5)), "undecided"),
    (changed(LCN_64=lambda seed: (200, False, 0.3) if seed < 1002 else (9, True, 0.05)), "consistent"),
    (changed(LCN_64=lambda seed: (200, False, 0.3) if seed < 1004 else (9, True, 0.05)), "undecided"),
    (changed(LCN_64=lambda seed: (200, False, 0.3) if seed < 1013 else (9, True, 0.05)), "fails"),
    (changed(LCN_64=(9, True, 0.13)), "fails"),
    (changed(FCN_8=(200, False, 0.5)), "fails"),
    (changed(majority_64=(200, False, 0.5)), "fails"),
    (changed(biased_64=(200, False, 0.5)), "fails"),
    (changed(CNN_8=(1, True, 0.05), CNN_16=(8, True, 0.05), CNN_32=(64, True, 0.05),
             CNN_64=lambda seed: (2**8 if seed % 2 else 2**10, True, 0.05)), "undecided"),
    (changed(CNN_8=(1, True, 0.05), CNN_16=(16, True, 0.05), CNN_32=(2**8, True, 0.05),
             CNN_64=(2**12, True, 0.05)), "fails"),
])  # fmt: skip
def test_every_part_of_the_separation_can_fail(outcome, verdict):
    assert judged(configure("malach.separation"), outcome).evidence.verdict == verdict


def test_a_fitted_sample_is_no_computational_barrier():
    study = configure("malach.separation")
    points, rows = completed(study, separation)
    table = study.table(points, rows)
    last = (
        (table["arm"] == FCN) & (table["n"] == 64) & (table["phase"] == "measured") & (table["seed"] == 1002)
    )
    table.loc[last, "stopped"] = "loss"
    assert study.judge(table).evidence.verdict == "undecided"


def test_windows_follow_the_pattern():
    trials = [point.trial for point in configure("malach.separation").plan({})]
    assert {(t.task.n_bits, t.task.k_window) for t in trials} == {(8, 3), (16, 4), (32, 5), (64, 6)}
    windows = {
        p.labels["arm"]: p.trial.task.k_window - p.trial.network.k_window
        for p in configure("malach.separation").plan({})
        if p.trial.network.name in ("cnn", "lcn")
    }
    assert windows == {CNN: 0, LCN: 0, SHORT: 1, HIDDEN: 0}


def evaluations(study, ratio):
    rng = np.random.default_rng(0)
    lines = []
    for point in study.plan({}):
        labels = point.labels
        count = ratio(labels) * study.blind(labels["n"]) * rng.exponential()
        lines.append({**labels, "seed": point.trial.seed, "evaluations": count, "test_error": 0.0,
                      "in_blind_searches": count / study.blind(labels["n"])})  # fmt: skip
    return pd.DataFrame(lines)


def search(labels, parity=1.0, greedy=0.05, majority=0.02):
    if labels["target"] == "parity":
        return parity
    if labels["target"] == "majority":
        return majority
    return greedy if labels["arm"] == "greedy on correlations" else 1.0


def test_the_search_is_blind_for_parity_and_guided_where_single_bits_tell():
    study = configure("malach.architecture-search", seeds=30)
    found = study.judge(evaluations(study, search))
    assert (found.evidence.verdict, found.control.verdict) == ("consistent", "fails")

    def helped(labels, by):
        return by if labels["target"] == "parity" and labels["arm"] == "hill climbing" else search(labels)

    for by, verdict in ((0.1, "fails"), (0.45, "undecided"), (3.0, "consistent")):
        table = evaluations(study, lambda labels, by=by: helped(labels, by))
        assert study.judge(table).evidence.verdict == verdict, by
    assert (
        study.judge(evaluations(study, lambda labels: search(labels, greedy=1.0))).control.verdict != "fails"
    )


@pytest.mark.parametrize(
    "parity, verdict", [(0.3, "fails"), (0.5, "undecided"), (2.0, "undecided"), (3.0, "fails")]
)
def test_guessing_as_often_as_stated_is_an_equivalence(parity, verdict):
    study = configure("malach.architecture-search", seeds=30)
    assert (
        study.judge(evaluations(study, lambda labels: search(labels, parity=parity))).evidence.verdict
        == verdict
    )
    few = configure("malach.architecture-search", seeds=2)
    assert few.judge(evaluations(few, search)).evidence.verdict == "undecided"


def test_exactly_one_is_what_it_says():
    study = configure("malach.architecture-search")
    assert study.targets()["exactly one"]["table"] == [-1, 1, 1, -1, 1, -1, -1, -1]


def test_blind_guessing_has_its_closed_form():
    study = configure("malach.architecture-search")
    assert [study.blind(n) for n in (8, 16)] == [56 / 6, 560 / 14]
    caps = {point.labels["n"]: point.trial.learner.evaluations for point in study.plan({})}
    assert caps == {8: 187, 16: 800, 24: 1840}


def natural(labels, seed):
    missed = labels["arm"] in (HIDDEN_NORMAL, SHORT_NORMAL) or labels["filters"] == 16
    return (4000, False, 0.5) if missed else (10, True, 0.01)


def test_natural_starts_are_judged_at_the_largest_width():
    study = configure("malach.natural-init")
    found = judged(study, natural)
    assert (found.evidence.verdict, found.control.verdict) == ("consistent", "fails")
    assert "least norm of a readout, normal start, q=256" in found.evidence.numbers
    assert judged(configure("malach.natural-init", seeds=1), natural).evidence.verdict == "undecided"

    def features_fail(labels, seed):
        return (4000, False, 0.4) if labels["arm"] == FEATURES else natural(labels, seed)

    assert judged(study, features_fail).evidence.verdict == "fails"

    def missing(some, arm):
        return lambda labels, seed: (
            (4000, False, 0.4) if labels["arm"] == arm and seed < 1000 + some else natural(labels, seed)
        )

    for some, verdict in ((2, "consistent"), (3, "undecided"), (13, "fails")):
        assert judged(study, missing(some, FEATURES)).evidence.verdict == verdict

    def short_learns(labels, seed):
        return (10, True, 0.01) if labels["arm"] == SHORT_NORMAL else natural(labels, seed)

    assert judged(study, short_learns).control.verdict == "consistent"


def test_the_least_norm_of_the_theorem_is_its_closed_form():
    study = configure("malach.natural-init")
    network = study.arms["theorem's start"].model_copy(update={"filters": 256})
    key = jax.random.split(stream("init", network.canonical(), 0), 3)[0]
    counts = np.asarray(network.counts(key, 1, 4))[0]
    assert float(study.least_norm("theorem's start")) == pytest.approx(
        4 * np.sqrt((1 / counts).sum()), rel=2e-3
    )


@pytest.mark.parametrize("study, setting, sentence", [
    ("malach.separation", "rates=[]", "list of different step sizes"),
    ("malach.separation", "n_bits=[32,16]", "two or more increasing numbers"),
    ("malach.separation", "n_bits=[8]", "two or more increasing numbers"),
    ("malach.natural-init", "task.target=and", "a constant reaches target_error = 0.1"),
    ("malach.natural-init", "task.label_noise=0.2", "is the least possible error"),
    ("malach.natural-init", "task.law=all", "none can be held out"),
    ("malach.natural-init", "task=detection", "must be k-pattern or k-junta"),
    ("malach.natural-init", "filters=[0]", "filters must be a list of increasing numbers above 0"),
    ("malach.architecture-search", "network=fcn", "cnn, lcn or partly-shared"),
    ("malach.architecture-search", "network.stride=2", "with stride 1"),
    ("malach.architecture-search", "n_bits=[2]", "do not fit into n_bits = 2"),
])  # fmt: skip
def test_bad_settings_get_a_sentence(study, setting, sentence):
    with pytest.raises(UserError, match=sentence):
        configure(study, "quick", [setting]).plan({})


def test_the_terminal_warns_of_a_control_that_changes_nothing(capsys, tmp_path):
    study = configure("malach.natural-init")
    for outcome, warned in ((natural, False), (lambda labels, seed: (10, True, 0.01), True)):
        points, rows = completed(study, outcome)
        print_judgement(Run(study, points, rows, tmp_path, "whyconv run malach.natural-init"))
        assert ("did not change the verdict" in capsys.readouterr().out) == warned
