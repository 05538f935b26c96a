"""Figures 3 and 4 of Malach & Shalev-Shwartz: what is run, and how it is judged."""

import numpy as np
import pandas as pd
import pytest
from training import NoCheckpoint

from whyconv.errors import UserError
from whyconv.execution import execute
from whyconv.papers.malach.studies.fig4 import middle
from whyconv.papers.malach.studies.lcn_advantage import QUARTER, RESTARTED
from whyconv.settings import configure
from whyconv.studies.images import permuted, shuffled

GOOD, POOR = 0.70, 0.51
FIG3 = {
    "CNN": GOOD, "LCN": GOOD + 0.02, "FCN": {5: 0.8, 9: 0.6, 13: 0.53, 19: POOR}, permuted("CNN"): POOR,
    permuted("LCN"): POOR, permuted("FCN"): {5: 0.8, 19: POOR}, shuffled("CNN"): 0.5,
}  # fmt: skip
FIG4 = {
    "CNN": 0.5, "LCN": 0.51, "FCN": {5: 0.75, 9: 0.6, 13: 0.52, 19: POOR}, middle("CNN"): GOOD,
    middle("LCN"): GOOD, middle("FCN"): {5: 0.75, 19: POOR},
}  # fmt: skip


def judged(name, accuracies, first_loss=0.9, **changes):
    study = configure(name, "quick", {"task.counted": 3, "digits": [5, 9, 13, 19]})
    lines = []
    for arm, level in {**accuracies, **changes}.items():
        for n in (5, 9, 13, 19):
            if "," in arm and n in (9, 13):
                continue
            mean = level[n] if isinstance(level, dict) else level
            loss = first_loss if arm == permuted("FCN") else 0.9
            lines += [
                {
                    "arm": arm, "n": n, "seed": seed, "accuracy": mean + 0.004 * (seed - 1),
                    "first_loss": loss + seed,
                }
                for seed in range(3)
            ]  # fmt: skip
    return study.judge(pd.DataFrame(lines))


def test_figure_3_as_the_paper_has_it():
    found = judged("malach.fig3", FIG3)
    assert found.evidence.verdict == "consistent"
    assert found.control.verdict == "fails"
    assert str(found.evidence.numbers["LCN - CNN, n=19"]).startswith("0.02")
    assert len([name for name in found.evidence.numbers if name.startswith("LCN - CNN")]) == 4


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"LCN": {5: GOOD, 9: GOOD, 13: 0.6, 19: GOOD}}, "fails"),  # poor at one n
        ({"CNN": 0.655}, "undecided"),  # the interval straddles 0.65
        ({"FCN": 0.6, permuted("FCN"): 0.6}, "fails"),  # the FCN is not at chance
        ({shuffled("CNN"): 0.6}, "fails"),  # something else than labels is learned from
        ({permuted("FCN"): {5: 0.7, 19: POOR}}, "fails"),  # the FCN sees the permutation
        ({"LCN": 0.68, "CNN": 0.72}, "consistent"),  # LCN - CNN is reported, not judged
    ],
)
def test_figure_3_can_fail(changes, verdict):
    assert judged("malach.fig3", FIG3, **changes).evidence.verdict == verdict


def test_a_twin_that_only_starts_from_the_same_law_is_noticed():
    assert judged("malach.fig3", FIG3, first_loss=0.90001).evidence.verdict == "consistent"
    assert judged("malach.fig3", FIG3, first_loss=0.91).evidence.verdict == "fails"
    assert judged("malach.fig3", FIG3, first_loss=float("nan")).evidence.verdict == "undecided"


def test_worse_than_chance_is_not_chance():
    fallen = {5: 0.8, 9: 0.6, 13: 0.5, 19: 0.4}
    found = judged("malach.fig3", FIG3, FCN=fallen, **{permuted("FCN"): fallen})
    assert found.evidence.verdict == "fails"


def test_the_control_of_figure_3_is_no_formality():
    seen = {permuted("CNN"): GOOD, permuted("LCN"): GOOD}
    assert judged("malach.fig3", FIG3, **seen).control.verdict == "consistent"


def test_figure_4_as_the_paper_has_it():
    found = judged("malach.fig4", FIG4)
    assert found.evidence.verdict == "consistent"
    assert found.control.verdict == "fails"


@pytest.mark.parametrize(
    "changes",
    [
        {"FCN": {5: 0.5, 9: 0.5, 13: 0.5, 19: 0.5}},  # no better than windows at the smallest n
        {"CNN": {5: 0.5, 9: 0.5, 13: 0.5, 19: 0.7}},  # not poor at the largest n
        {"FCN": 0.75},
    ],
)
def test_figure_4_can_fail(changes):
    assert judged("malach.fig4", FIG4, **changes).evidence.verdict == "fails"


def test_the_plan_has_every_arm_at_every_n_and_twins_at_both_ends():
    study = configure("malach.fig3", "quick", {"seeds": 2})
    points = study.plan({})
    arms = {n: {p.labels["arm"] for p in points if p.labels["n"] == n} for n in study.digits}
    assert arms[9] == {"CNN", "LCN", "FCN"}
    assert (
        arms[5] == arms[19] == {*arms[9], permuted("CNN"), permuted("LCN"), permuted("FCN"), shuffled("CNN")}
    )
    for point in points:
        trial, n = point.trial, point.labels["n"]
        assert trial.task.shape == (24, 8 * n, 1)
        assert trial.task.where == "middle"
        assert trial.task.permuted == ("permuted" in point.labels["arm"])
        assert trial.task.shuffled_labels == ("shuffled" in point.labels["arm"])
        assert trial.task.shifted_tests == study.shifts
    twin = next(p for p in points if p.labels["arm"] == permuted("FCN"))
    assert twin.trial.network.coupled


def test_readings_of_the_paper_are_options():
    n = 9
    windows = {"digit": 7, "pixel": 49}
    for stride, count in windows.items():
        for reading, channels in (("window", 128), ("all", round(128 / count))):
            study = configure(
                "malach.fig3",
                "quick",
                {"neurons": 128, "stride": stride, "reading": reading, "digits": [5, n]},
            )
            cnn = next(p for p in study.plan({}) if p.labels == {"arm": "CNN", "n": n}).trial
            assert cnn.network.channels == (channels,)
            lcn = next(p for p in study.plan({}) if p.labels == {"arm": "LCN", "n": n}).trial
            # filters of 24 x 24 and a bias at every window, a readout of all, and its bias
            assert lcn.network.parameter_count(lcn.task.shape) == count * channels * 578 + 1
            told = study.remarks()
            assert ("8 pixels" in told) == (stride == "digit")
            assert ("at every window" in told) == (reading == "window")


@pytest.mark.long
def test_a_pixel_of_shift_is_felt_by_kernels_that_step_by_a_digit_and_hardly_with_pooling(tmp_path):
    lost = {}
    for name, changes in {"paper": {}, "pooled": {"stride": "pixel", "pool": 8}}.items():
        study = configure("malach.fig3", "quick", {"digits": [5, 9], "task.images": "digits", **changes}, 1)
        first = next(cell for cell in study.cells() if cell.labels == {"arm": "CNN", "n": 5})
        (point,) = first.points()
        result, _ = execute(point.trial, lambda share: None, NoCheckpoint())
        assert result["test_error"] < 0.25
        lost[name] = result["test_error_shift_1"] - result["test_error"]
    assert lost["paper"] > 0.2 and lost["pooled"] < lost["paper"] / 3


def test_pooling_leaves_the_trials_of_the_paper_as_they_are():
    plain, pooled = (
        configure("malach.fig3", "quick", {"stride": "pixel", "pool": pool}).plan({}) for pool in (1, 8)
    )
    same = {each.trial.key for each in plain} & {each.trial.key for each in pooled}
    assert same == {each.trial.key for each in plain if each.labels["arm"].startswith("FCN")}
    assert "pool" not in plain[0].trial.canonical()["network"]


def test_what_is_not_the_papers_experiment_is_shown_and_not_judged():
    assert "embedded 8 x 8 digits" in configure("malach.fig3", "quick").unjudged()
    assert configure("malach.fig3", "mnist").unjudged() == ""
    clothes = configure("malach.fig3", "mnist", {"task.images": "fashion-mnist"})
    assert "these images are fashion-mnist" in clothes.unjudged()
    other = configure("malach.fig3", "mnist", {"learner.optimiser": "adam", "learner.options": {}})
    assert "optimiser adam" in other.remarks() and "adadelta" not in other.remarks()
    assert "parity of 2 digits" in configure("malach.fig4", "mnist", {"task.counted": 2}).unjudged()
    assert "scikit-learn" in configure("malach.fig3", "quick").remarks()


def test_both_figures_share_the_trials_they_have_in_common():
    three, four = (
        {p.labels["arm"]: p.trial.key for p in configure(name, "mnist").plan({}) if p.labels["n"] == 19}
        for name in ("malach.fig3", "malach.fig4")
    )
    assert all(three[arm] == four[middle(arm)] for arm in ("CNN", "LCN", "FCN"))


SHARING = {"CNN": 0.6, "LCN": 0.7, RESTARTED: 0.6, QUARTER: 0.55}


@pytest.mark.parametrize(
    ("changes", "verdict", "control"),
    [
        ({}, "consistent", "fails"),
        ({RESTARTED: 0.7}, "consistent", "consistent"),  # a control that changes nothing
        ({"LCN": 0.62}, "fails", "consistent"),  # ahead, not clearly
        ({"LCN": {5: 0.7, 9: 0.7, 13: 0.62, 19: 0.7}}, "fails", "consistent"),  # one n suffices
        ({"LCN": 0.62, QUARTER: 0.6}, "fails", "fails"),
    ],
)
def test_the_lcns_advantage_is_judged_either_way(changes, verdict, control):
    found = judged("malach.lcn-advantage", SHARING, **changes)
    assert (found.evidence.verdict, found.control.verdict) == (verdict, control)


def test_the_lcns_advantage_is_that_of_figure_3():
    here, there = (
        {
            (p.labels["arm"], p.labels["n"]): p.trial
            for p in configure(name, "mnist", {"first_seed": 7}).plan({})
        }
        for name in ("malach.lcn-advantage", "malach.fig3")
    )
    assert all(here[arm, n].key == there[arm, n].key for arm in ("CNN", "LCN") for n in (5, 9, 13, 19))
    assert {place for place in here if "," in place[0]} == {
        (a, n) for a in (RESTARTED, QUARTER) for n in (5, 19)
    }
    assert here[RESTARTED, 5].network.channels == (257,) and here[QUARTER, 5].m == 7500
    assert here[QUARTER, 5].network == here["CNN", 5].network
    assert "embedded 8 x 8 digits" in configure("malach.lcn-advantage").unjudged()


@pytest.mark.parametrize(
    ("assignment", "told"),
    [
        ("digits=9,5", "increasing"),
        ("digits=2,5", "increasing numbers above 2"),
        ("task=detection", "needs the task sequence"),
        ("task.where=spread", "this study sets it itself"),
        ("task.permuted=true", "this study sets it itself"),
        ("shifts=400", "images are 40 pixels wide"),
    ],
)
def test_bad_settings(assignment, told):
    with pytest.raises(UserError, match=told):
        configure("malach.fig3", "quick", [assignment]).plan({})


def test_the_figure_has_a_panel_for_every_shift():
    study = configure("malach.fig3", "quick")
    rng = np.random.default_rng(0)
    errors = ["test_error", *(f"test_error_shift_{by}" for by in study.shifts)]
    lines = [
        {"arm": p.labels["arm"], "n": p.labels["n"], "seed": p.trial.seed}
        | dict.fromkeys(errors, rng.uniform())
        for p in study.plan({})
    ]
    table = pd.DataFrame(lines)
    chart = study.figures(table.assign(accuracy=1 - table["test_error"]))["Accuracy"].to_dict()
    titles = [panel["title"] for panel in chart["concat"]]
    assert titles == ["test images as they are", "moved by 1 pixel", "moved by 2 pixels", "moved by 4 pixels"]
