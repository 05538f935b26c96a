"""Studies judge made-up rows as they should: consistent, fails, undecided; plans have the paper's sizes."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from whyconv import registry
from whyconv.errors import UserError
from whyconv.measure.complexity import sample_complexity
from whyconv.measure.curves import Curve
from whyconv.measure.intervals import Interval
from whyconv.papers.brutzkus.studies.detection_arms import CONV_POOL, MLP, SCRAMBLED, SVM
from whyconv.settings import configure
from whyconv.trial import Row
from whyconv.verdict import all_above, within


def table(study, errors, training=None, spread=0.004):
    """Rows of a plan with the test error ``errors(labels)``, a little different for every seed."""
    rng = np.random.default_rng(0)
    lines = []
    for point in study.plan({}):
        error = errors(point.labels) + spread * rng.standard_normal()
        trained = training(point.labels) if training else 0.0
        lines.append({**point.labels, "seed": point.trial.seed, "test_error": error, "train_error": trained})
    return pd.DataFrame(lines)


def by_arm(values):
    return lambda labels: values[labels["arm"]]


GOOD = {CONV_POOL: 0.01, MLP: 0.2, SVM: 0.2, SCRAMBLED: 0.4}


def test_every_interval_must_lie_above():
    ends = ((0.05, 0.2), (-0.05, 0.2), (-0.2, -0.1))
    clear, straddling, under = (Interval((low + high) / 2, low, high, 5) for low, high in ends)
    assert all_above({"a": clear}, 0) == "consistent"
    assert all_above({"a": clear, "b": straddling}, 0) == "undecided"
    assert all_above({"a": clear, "b": under}, 0) == "fails"
    assert all_above({}, 0) == "undecided"


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.45, 0.55, "consistent"),
        (0.45, 0.65, "undecided"),
        (0.35, 0.55, "undecided"),
        (0.61, 0.65, "fails"),
        (0.3, 0.39, "fails"),
    ],
)
def test_within_is_two_sided(low, high, verdict):
    assert within(0.1, 0.5, Interval((low + high) / 2, low, high, 5), "name").verdict == verdict


def test_fig3a_is_consistent_only_if_both_baselines_are_worse_and_all_fit_the_sample():
    study = configure("brutzkus.fig3a")
    judged = study.judge(table(study, by_arm(GOOD)))
    assert (judged.evidence.verdict, judged.control.verdict) == ("consistent", "fails")
    for arm in (MLP, SVM):
        assert study.judge(table(study, by_arm({**GOOD, arm: 0.005}))).evidence.verdict != "consistent"
        flipped = {**GOOD, CONV_POOL: 0.3}
        assert study.judge(table(study, by_arm(flipped))).evidence.verdict == "fails"
    assert study.judge(table(study, by_arm({**GOOD, MLP: 0.03}), spread=0.1)).evidence.verdict == "undecided"
    untrained = study.judge(table(study, by_arm(GOOD), training=lambda labels: 0.1 * (labels["arm"] == MLP)))
    assert untrained.evidence.verdict == "fails"


def test_fig3a_is_undecided_where_baselines_have_reached_zero():
    study = configure("brutzkus.fig3a")
    assert (
        study.judge(table(study, by_arm({**GOOD, MLP: 0.0, SVM: 0.0}), spread=1e-3)).evidence.verdict
        == "undecided"
    )


def test_fig3b_wants_a_linear_model_that_cannot_fit():
    study = configure("brutzkus.fig3b")
    fits = by_arm({CONV_POOL: 0.0, MLP: 0.0, SVM: 0.1, SCRAMBLED: 0.0})
    assert study.judge(table(study, by_arm(GOOD), fits)).evidence.verdict == "consistent"
    assert study.judge(table(study, by_arm(GOOD), fits)).control.verdict == "fails"
    assert study.judge(table(study, by_arm(GOOD))).evidence.verdict == "undecided"
    assert study.judge(table(study, by_arm({**GOOD, CONV_POOL: 0.3}), fits)).evidence.verdict == "fails"


def test_fig4_compares_rises():
    study = configure("brutzkus.fig4")

    def rising(slopes):
        return lambda labels: 0.05 + slopes[labels["arm"]] * labels["positions"] / 20

    slopes = {CONV_POOL: 0.01, MLP: 0.3, SVM: 0.3, SCRAMBLED: 0.3}
    judged = study.judge(table(study, rising(slopes)))
    assert (judged.evidence.verdict, judged.control.verdict) == ("consistent", "fails")
    assert study.judge(table(study, rising({**slopes, SVM: 0.0}))).evidence.verdict == "fails"
    assert study.judge(table(study, rising({**slopes, CONV_POOL: 0.3}))).evidence.verdict == "fails"


def test_layerwise_is_an_equivalence_test_at_every_size():
    study = configure("brutzkus.layerwise")
    arms = list(study.arms)
    same = dict(zip(arms, (0.01, 0.012, 0.4, 0.012), strict=True))
    judged = study.judge(table(study, by_arm(same), spread=1e-3))
    assert (judged.evidence.verdict, judged.control.verdict) == ("consistent", "fails")

    def at(m, difference):
        return lambda labels: (
            same[labels["arm"]]
            + difference * ((labels["m"], labels["noise"], labels["arm"]) == (m, 1.0, arms[1]))
        )

    for m in study.m:
        for difference in (-0.1, 0.1):
            judged = study.judge(table(study, at(m, difference), spread=1e-3))
            assert (judged.evidence.verdict, judged.control.verdict) == ("fails", "consistent")
    both = {**same, arms[1]: 0.3, arms[3]: 0.3}
    assert study.judge(table(study, by_arm(both), spread=1e-3)).control.verdict == "fails"
    assert study.judge(table(study, by_arm(same), spread=0.1)).evidence.verdict == "undecided"
    assert {p.labels["noise"] for p in study.plan({})} == {0.0, 1.0}
    assert all(p.trial.task.noise == p.labels["noise"] for p in study.plan({}))


@pytest.mark.parametrize(
    "name", ["coherent-patterns", "conjunction", "overlapping-filters", "repeated-pooling"]
)
def test_an_open_problem_asks_for_the_theorems_conclusion_beyond_its_setting(name):
    study = configure(f"brutzkus.{name}")
    own, *others = study.levels

    def errors(pool, mlp=0.2, at_first=0.0):
        return lambda labels: mlp if labels["arm"] == MLP else at_first if labels[study.knob] == own else pool

    def verdicts(*given):
        judged = study.judge(table(study, errors(*given), spread=1e-3))
        return judged.evidence.verdict, judged.control.verdict

    assert verdicts(0.0) == ("consistent", "fails")
    assert verdicts(0.2) == ("fails", "consistent")
    assert verdicts(0.0, 0.0) == ("consistent", "consistent")  # a control that changes nothing
    assert verdicts(0.2, 0.2, 0.2) == ("fails", "fails")

    def poor(at):
        return lambda labels: 0.3 * ((labels["arm"], labels[study.knob]) == at)

    for at in product(study.arms, others):
        judged = study.judge(table(study, poor(at), spread=0))
        assert judged.evidence.verdict == ("consistent" if at[0] == MLP else "fails")
    for point in study.plan({}):
        piece = point.trial.task if study.of_task else point.trial.network
        assert point.trial.m == 4 * point.trial.task.pattern_dim
        if study.of_task or point.labels["arm"] != MLP:
            assert getattr(piece, study.knob) == point.labels[study.knob]


def test_sample_complexity_measures_exponents():
    study = configure("brutzkus.sample-complexity", seeds=5)

    def errors(exponents):
        def error(labels):
            scale = 3 * labels["value"] ** exponents[labels["arm"], labels["axis"]]
            return float(np.clip(0.5 * np.exp(-labels["m"] / scale), 0, 0.5))

        return error

    pool = {(CONV_POOL, "pattern_dim"): 0.4, (CONV_POOL, "positions"): 0.2, (CONV_POOL, "channels"): 0.0}
    good = {**pool, (MLP, "positions"): 1.5}
    judged = study.judge(table(study, errors(good), spread=1e-4))
    assert (judged.evidence.verdict, judged.control.verdict) == ("consistent", "fails")
    at_once = study.judge(table(study, lambda labels: 0.01)).evidence
    assert at_once.verdict == "undecided" and any(
        "at most 2" in str(value) for value in at_once.numbers.values()
    )
    never = study.judge(table(study, lambda labels: 0.4))
    assert never.evidence.verdict == "undecided"
    assert any("not reached" in str(value) for value in never.evidence.numbers.values())
    steep = {**good, (CONV_POOL, "positions"): 0.5}
    wide = configure("brutzkus.sample-complexity", assignments={"m": [4, 8, 16, 32, 64, 128, 256]})
    judged = wide.judge(table(wide, errors(steep), spread=1e-4))
    assert judged.evidence.verdict == "fails"


def test_sample_complexity_is_searched_for_between_the_sizes():
    study = configure("brutzkus.sample-complexity", seeds=2)
    need = {CONV_POOL: 11, MLP: 300}
    rows, first = {}, study.plan({})
    while missing := [p for p in study.plan(rows) if p.trial.key not in rows]:
        for point in missing:
            trial, error = point.trial, 0.1 * need[point.labels["arm"]] / point.trial.m
            rows[trial.key] = Row(trial.key, "", {}, {}, "ok", {"test_error": error, "train_flops": trial.m})
    table = study.measured(study.table(study.plan(rows), rows))
    sizes = {arm: sorted(part["m"].unique()) for arm, part in table.groupby("arm")}
    assert sizes == {CONV_POOL: [2, 4, 8, 9, 11, 16, 32], MLP: [16, 64, 256, 304, 362, 512, 1024, 4096]}
    assert {(p.labels["arm"], p.labels["m"]) for p in first} == {
        (arm, m) for arm, given in ((CONV_POOL, study.m), (MLP, study.control_m)) for m in given
    }
    (found,) = study.tables(study.table(study.plan(rows), rows)).values()
    assert [m.m_star for m in found["m*"]] == [11] * 15 + [304] * 5
    assert all(part["m"].is_monotonic_increasing for _, part in table.groupby(["arm", "axis", "value"]))


def test_the_crossing_is_interpolated_in_log_m():
    def found(first, last):
        return sample_complexity(Curve({4: {0: first}, 16: {0: last}}), 0.1, 16)

    assert found(0.2, 0.0).crossing == pytest.approx(8)
    assert found(0.05, 0.0).below is None
    assert not found(0.4, 0.2).reached


@pytest.mark.parametrize(
    "name", [study.name for study in registry.pieces("study") if study.__module__.startswith("whyconv.")]
)
def test_every_preset_plans_trials_and_can_be_rebuilt(name):
    study = registry.find("study", name)
    for preset in study.presets:
        chosen = configure(name, preset)
        points = chosen.plan({})
        arms = getattr(chosen, "arms", {}).values()
        own = [getattr(arm, "seeds", None) or chosen.seeds for arm in arms]
        seeds = getattr(chosen, "tuning_seeds", max(own, default=chosen.seeds))
        assert points and len({point.trial.seed for point in points}) == seeds
        again = study(**{k: v for k, v in chosen.canonical().items() if k != "name"})
        assert [p.trial.key for p in again.plan({})] == [p.trial.key for p in points]


def test_the_papers_sizes():
    study = configure("brutzkus.fig3a", "paper")
    trials = [point.trial for point in study.plan({})]
    pool = next(trial for trial in trials if trial.network and trial.network.name == "conv-pool")
    assert pool.task.shape == (10, 20) and pool.task.patterns == 20 and pool.network.channels == 500
    assert pool.test_size == 1000 and study.seeds == 5 and pool.task.noise == 0
    mlp = next(trial for trial in trials if trial.network and trial.network.name == "mlp")
    assert mlp.network.hidden(mlp.task.shape) == 52
    assert {point.labels["positions"] for point in configure("brutzkus.fig4", "paper").plan({})} >= {5, 40}
    assert max(configure("brutzkus.fig3b", "paper").m) == 2560


def test_the_mlp_follows_conv_pools_size():
    study = configure("brutzkus.fig3a", assignments=["arms.ConvPool.network.channels=100"])
    mlp = next(point.trial for point in study.plan({}) if point.labels["arm"] == MLP)
    assert mlp.network.parameters == 100 * 21


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("task.colour=3", "choose from"),
        ("task.patterns=2", "greater than or equal to 3"),
        ("task.patterns=50", "patterns <= pattern_dim"),
        ("arms.MLP.network.wings=2", "choose from"),
        ("m=80,40", "increasing"),
        ("m=[]", "increasing"),
        ("m=word", 'm = ["word"] was given, but a text is not a number'),
        ("positions", "NAME=VALUE"),
        ("seeds=0", "greater than or equal to 1"),
        ("task.positions=-4", "greater than or equal to 1"),
        ("arms.MLP.learner=no-such-learner", "no learner 'no-such-learner'"),
        ("test_size.x=3", "nothing below it"),
    ],
)
def test_bad_settings_get_one_sentence(assignment, words):
    with pytest.raises(UserError) as refusal:
        configure("brutzkus.fig3a", "quick", [assignment])
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_settings_reach_what_they_name():
    study = configure(
        "brutzkus.fig3a", "quick", ["task.positions=7", "m=10,30", "arms.MLP.network.width=9"], seeds=2
    )
    assert study.task.positions == 7 and study.m == (10, 30) and study.seeds == 2
    assert study.arms[MLP].network.width == 9
    with pytest.raises(UserError, match="no preset 'huge'; choose one of quick, paper"):
        configure("brutzkus.fig3a", "huge")
