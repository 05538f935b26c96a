"""Figure 3c: its plan has the paper's sizes, and made-up rows are judged as they should be."""

import numpy as np
import pandas as pd
import pytest

from whyconv.errors import UserError
from whyconv.papers.brutzkus.studies.detection_arms import CONV_POOL, MLP, SVM
from whyconv.papers.brutzkus.studies.fig3c import PERMUTED, PERMUTED_MLP, SHUFFLED
from whyconv.settings import configure

GOOD = {CONV_POOL: 0.05, MLP: 0.3, SVM: 0.3, PERMUTED: 0.25, SHUFFLED: 0.5}


@pytest.fixture(scope="module")
def study():
    return configure("brutzkus.fig3c", "embedded")


def table(study, errors, training=None, spread=0.004, first_loss=0.7):
    """Rows of the plan with these test errors by arm, or by arm and m, a little different for every seed.

    The MLP's twin has the MLP's, unless said otherwise.
    """
    rng = np.random.default_rng(0)
    lines = []
    for point in study.plan({}):
        arm, m = point.labels["arm"], point.labels["m"]
        level = MLP if arm == PERMUTED_MLP and arm not in errors else arm
        error = errors.get((level, m), errors.get(level))
        shifted = {f"test_error_shift_{by}": min(0.5, error + by / 10) for by in (1, 2, 4)}
        line = {
            **point.labels,
            "seed": point.trial.seed,
            "test_error": error + spread * rng.standard_normal(),
        }
        line["first_loss"] = first_loss if arm == PERMUTED_MLP else 0.7
        lines.append({**line, **shifted, "train_error": (training or {}).get(arm, 0.0)})
    return pd.DataFrame(lines)


def verdicts(study, errors, **options):
    judged = study.judge(table(study, errors, **options))
    return judged.evidence.verdict, judged.control.verdict


def test_convpool_must_err_less_than_either_baseline_and_half_as_often_from_200_on(study):
    assert verdicts(study, GOOD) == ("consistent", "fails")
    for arm in (MLP, SVM):
        assert verdicts(study, {**GOOD, arm: 0.08})[0] == "fails"
        assert verdicts(study, {**GOOD, (arm, 1000): 0.08})[0] == "fails"
        assert verdicts(study, {**GOOD, (arm, 100): 0.08})[0] == "consistent"  # half from 200 on
        assert verdicts(study, {**GOOD, (arm, 100): 0.04})[0] == "fails"
    assert verdicts(study, {**GOOD, CONV_POOL: 0.16})[0] == "fails"
    assert verdicts(study, GOOD, spread=0.15)[0] == "undecided"


def test_a_control_that_kept_the_advantage_would_be_noticed(study):
    assert verdicts(study, {**GOOD, PERMUTED: 0.05}) == ("consistent", "consistent")
    # and it is for its errors that it fails, not because it was hard to train or for another control
    kept = {**GOOD, PERMUTED: 0.05, SHUFFLED: 0.3}
    assert verdicts(study, kept, training={PERMUTED: 0.1}) == ("fails", "consistent")


def test_where_a_baseline_has_caught_up_nothing_is_judged(study):
    late = {(arm, m): error for m in study.m[1:] for arm, error in ((MLP, 0.004), (CONV_POOL, 0.003))}
    assert verdicts(study, {**GOOD, **late}, spread=1e-4)[0] == "undecided"  # one size is left
    later = {key: error for key, error in late.items() if key[1] > 100}
    assert verdicts(study, {**GOOD, **later}, spread=1e-4)[0] == "consistent"


def test_networks_must_fit_and_shuffled_labels_give_chance(study):
    assert verdicts(study, GOOD, training={MLP: 0.01})[0] == "fails"
    assert verdicts(study, GOOD, training={SVM: 0.1, PERMUTED: 0.1})[0] == "consistent"
    assert (
        verdicts(study, {**GOOD, SHUFFLED: 0.3})[0] == verdicts(study, {**GOOD, SHUFFLED: 0.7})[0] == "fails"
    )
    assert verdicts(study, {**GOOD, SHUFFLED: 0.4}, spread=0.01)[0] == "undecided"


def test_the_mlp_must_not_see_that_pixels_were_permuted(study):
    assert verdicts(study, GOOD, first_loss=0.71)[0] == "fails"
    assert verdicts(study, {**GOOD, PERMUTED_MLP: 0.32})[0] == "consistent"
    for level in (0.25, 0.35):
        judged = study.judge(table(study, {**GOOD, PERMUTED_MLP: level})).evidence
        assert judged.verdict == "fails"
        assert str(judged.numbers[f"test error, {PERMUTED_MLP} - {MLP}"]).startswith(f"{level - 0.3:.2f}"[:4])


def test_settings_without_a_control_or_with_one_too_many_are_refused():
    with pytest.raises(UserError, match="ends at largest_m = 200, but m begins with 500; take a smaller m"):
        configure("brutzkus.fig3c", "quick", {"m": [500, 1000]})
    with pytest.raises(UserError, match=r"task\.permuted was given, but this study sets it itself"):
        configure("brutzkus.fig3c", "embedded", {"task.permuted": True})
    assert configure("brutzkus.fig3c", "embedded", {"task.shifted_tests": [3]}).task.shifted_tests == (3,)


def test_a_table_tells_what_moving_the_test_images_costs(study):
    (found,) = study.tables(table(study, GOOD, spread=0.0)).values()
    lines = found.set_index("arm")
    assert lines.loc[CONV_POOL, "m"] == 2000 and lines.loc[SHUFFLED, "m"] == 1000
    assert lines.loc[CONV_POOL, "moved by 2"].cell.startswith("0.2 [0.2, 0.2]")
    assert study.tables(pd.DataFrame()) == {}


def test_the_papers_sizes_and_controls():
    study = configure("brutzkus.fig3c", "paper")
    points = study.plan({})
    assert max(study.m) == 10_000 and study.seeds == 5 and study.task.images == "mnist"
    trials = {point.labels["arm"]: point.trial for point in points if point.labels["m"] == 1000}
    assert list(trials) == [CONV_POOL, MLP, SVM, PERMUTED, PERMUTED_MLP, SHUFFLED]
    assert trials[PERMUTED_MLP].network.coupled and trials[PERMUTED_MLP].task.permuted
    assert trials[PERMUTED_MLP].network.lineage() == trials[MLP].network.lineage()
    assert trials[CONV_POOL].network.channels == 500 and trials[CONV_POOL].test_size == 1000
    assert trials[MLP].network.hidden((4, 784)) == 125  # 392,125 parameters against 392,500
    assert trials[PERMUTED].task.permuted and trials[SHUFFLED].task.shuffled_labels
    assert {str(trial.task.lineage()) for trial in trials.values()} == {str(study.task.lineage())}
    assert list(trials[SVM].task.tests()) == ["", "shift_1", "shift_2", "shift_4"]
    assert {trial.learner for trial in trials.values() if trial.network} == {trials[CONV_POOL].learner}


def test_the_figure_has_a_panel_for_every_test_and_the_report_says_which_images(study):
    (chart,) = study.figures(table(study, GOOD)).values()
    panels = chart.to_dict()["concat"]
    assert [panel["title"].partition(" (")[0] for panel in panels] == [
        "test images as they are", "moved by 1 pixel", "moved by 2 pixels", "moved by 4 pixels",
    ]  # fmt: skip
    assert "not MNIST" in study.remarks() and study.rule in study.remarks()
    assert study.figures(pd.DataFrame())["Figure 3c"].to_dict()["description"].endswith("rows yet.")
