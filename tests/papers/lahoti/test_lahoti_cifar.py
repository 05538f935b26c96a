"""CIFAR-10 for Lahoti et al.: what is run, how rates are chosen, what a prior is worth, how it is judged."""

from math import log2

import numpy as np
import pytest
from jax.random import key_data

from whyconv.errors import UserError
from whyconv.papers.lahoti.studies.cifar import CNN, FCN, LCN, POOLED_CNN, POOLED_LCN, TWINS, blocks, sized
from whyconv.settings import configure
from whyconv.streams import streams
from whyconv.studies.images import permuted, shuffled
from whyconv.studies.tuned import MEASURED, TUNING
from whyconv.studies.worth import worth
from whyconv.trial import Row

PINNED = {
    "task.images": "cifar-10", "task.batches": [1, 2], "m": [250, 500, 1000, 2000, 4000], "kernel": 5,
    "kernels": [9], "groups": [4], "channels": 16, "stride": 2, "pool": 4, "target": 0.6,
    "rates": [0.0003, 0.001, 0.003], "steps": 1500, "tuning": 2000, "first_seed": 0,
}  # fmt: skip
SPREAD = (-0.005, 0.0, 0.005)
FALLING = {
    FCN: (0.7, 0.03), sized(9): (0.69, 0.035), LCN: (0.69, 0.04), CNN: (0.69, 0.04),
    POOLED_LCN: (0.71, 0.045), blocks(4): (0.67, 0.05), POOLED_CNN: (0.66, 0.05),
    permuted(POOLED_CNN): (0.75, 0.02), permuted(LCN): (0.71, 0.03), permuted(FCN): (0.7, 0.03),
    shuffled(POOLED_CNN): (0.9, 0.0),
}  # fmt: skip
"""Error at m = 250, and by how much it falls when m doubles."""


def configured(name="lahoti.cifar", **settings):
    return configure(name, "quick", {**PINNED, **settings}, seeds=3)


def row(point, first_loss=2.3, **result):
    trial, trace = point.trial, {"loss_at_epochs_2^i": [first_loss, 1.0]}
    return Row(trial.key, trial.stem, trial.canonical(), trial.versions, "ok", result, trace)


def tuned(study, best=lambda arm: 0.001):
    """Rows of the tuning that speak for these rates."""
    points = study.plan({})
    errors = [0.7 - 0.1 * (point.labels["rate"] == best(point.labels["arm"])) for point in points]
    return {
        p.trial.key: row(p, held_out_error=e, test_error=0.2) for p, e in zip(points, errors, strict=True)
    }


def completed(study, spread=SPREAD, first_loss=2.3, **changes):
    """The table of a finished run whose errors fall by so much a doubling, seeds apart by ``spread``."""
    return completed_from(study, tuned(study), spread, first_loss, **changes)


def completed_from(study, rows, spread=SPREAD, first_loss=2.3, **changes):
    falling = {**FALLING, **changes}
    while missing := [point for point in study.plan(rows) if point.trial.key not in rows]:
        for point in missing:
            start, fall = falling[point.labels["arm"]]
            error = start - fall * log2(point.labels["m"] / 250) + spread[point.trial.seed]
            shifted = {f"test_error_shift_{by}": error + 0.01 * by for by in study.shifts}
            loss = first_loss if point.labels["arm"] == permuted(FCN) else 2.3
            rows[point.trial.key] = row(point, loss, test_error=error, parameters=1000, **shifted)
    return study.table(study.plan(rows), rows)


def verdict(**changes):
    return configured().judge(completed(configured(), **changes)).evidence.verdict


def test_every_network_is_tuned_alike_on_images_that_are_not_tested():
    study = configured()
    points = study.plan({})
    assert {(p.labels["arm"], p.labels["rate"]) for p in points} == {
        (arm, rate) for arm in study.networks for rate in study.rates
    }
    for point in points:
        assert point.labels["phase"] == TUNING and point.trial.seed == 10_000
        assert (point.trial.m, point.trial.learner.held_out) == (2000, 1000)
        assert (point.trial.learner.rate, point.trial.learner.target_error) == (point.labels["rate"], 0)
        assert point.trial.learner.epochs == 47  # 32 batches of 1000 images: 1500 steps take 46.9 epochs
    assert len(study.outlook()) == len(study.plan(tuned(study)))


def test_the_plan_has_every_arm_at_every_size_and_twins_at_both_ends():
    study = configured()
    rates = {FCN: 0.0003, POOLED_CNN: 0.003}
    points = study.plan(tuned(study, lambda arm: rates.get(arm, 0.001)))
    measured = [p for p in points if p.labels["phase"] == MEASURED]
    arms = {m: [p.labels["arm"] for p in measured if p.labels["m"] == m] for m in study.m}
    assert sorted(arms[1000]) == sorted([*study.networks] * 3)
    assert sorted(arms[250]) == sorted(arms[4000]) == sorted([*study.networks, *TWINS] * 3)
    for point in measured:
        arm, trial = point.labels["arm"], point.trial
        family = TWINS[arm].of if arm in TWINS else arm
        assert trial.learner.rate == rates.get(family, 0.001) and trial.learner.held_out == 0
        steps = trial.learner.epochs * -(-trial.m // 32)
        assert 1500 <= steps < 1500 + -(-trial.m // 32)
        assert trial.task.permuted == ("permuted" in arm)
        assert trial.task.shuffled_labels == ("shuffled" in arm)
        assert trial.task.shifted_tests == (1, 2, 4)
        assert getattr(trial.network, "coupled", False) == (arm == permuted(FCN))


def test_the_search_goes_on_between_the_sizes_and_twins_stay_at_both_ends():
    study = configured(m=[250, 1000, 4000], resolution=0.5)
    table = study.measured(completed(study))  # 0.6 is reached at 2520 by the FCN, at 574 by the CNN
    sizes = {arm: list(part["m"].unique()) for arm, part in table.groupby("arm")}
    assert sizes[FCN] == [250, 1000, 2000, 2828, 4000] and sizes[POOLED_CNN] == [250, 500, 707, 1000, 4000]
    assert all(sizes[twin] == [250, 4000] for twin in TWINS)
    found = study.needed(table)[FCN]
    assert (found.below, found.m_star) == (2000, 2828)
    assert found.crossing == pytest.approx(250 * 2 ** (10 / 3))


def test_all_arms_of_a_seed_see_the_same_images():
    study = configured()
    trials = [p.trial for p in study.plan(tuned(study)) if p.labels["m"] in (250, 4000)]
    seen = {}
    for trial in trials:
        keys = streams(trial)
        for name in ("world", "train", "test", "batches"):
            seen.setdefault((trial.seed, name), set()).add(tuple(np.asarray(key_data(keys[name])).tolist()))
    assert len(seen) == 12 and all(len(found) == 1 for found in seen.values())
    assert len({found for (_, name), (found,) in seen.items() if name == "train"}) == 3


def test_a_prior_is_all_that_changes_from_arm_to_arm():
    networks = {arm: dict(network) for arm, network in configured().networks.items()}
    for without, given, changes in (
        (LCN, CNN, {"name": "deep-cnn"}),
        (POOLED_LCN, POOLED_CNN, {"name": "deep-cnn"}),
        (LCN, POOLED_LCN, {"pool": 4}),
        (CNN, POOLED_CNN, {"pool": 4}),
        (LCN, sized(9), {"kernel": 9}),
        (POOLED_LCN, blocks(4), {"name": "deep-partly-shared", "group": 4}),
    ):
        assert networks[given] == {**networks[without], **changes}
    assert networks[FCN]["widths"] == [4 * 4 * 16]
    trials = {p.labels["arm"]: p.trial for p in configured().plan({})}
    counts = {arm: trial.network.parameter_count(trial.task.shape) for arm, trial in trials.items()}
    assert counts[LCN] == 256 * 16 * 76 + 10 * (256 * 16 + 1)
    assert counts[CNN] == 16 * 76 + 10 * (256 * 16 + 1)
    assert counts[POOLED_CNN] == 16 * 76 + 10 * (256 + 1)
    assert counts[blocks(4)] == 16 * 16 * 76 + 10 * (256 + 1)


def test_the_best_rate_has_the_least_error_on_held_out_images():
    study = configured(tuning_seeds=2)
    tuning = [p for p in study.plan({}) if p.labels["arm"] == LCN]

    def rows(errors):
        return {p.trial.key: row(p, held_out_error=e) for p, e in zip(tuning, errors, strict=True)}

    def best(rows):
        points, rate = study.tuner.tune(study.tuning_cell(LCN), rows)
        assert points == tuning
        return rate

    assert best(rows([0.7, 0.7, 0.6, 0.7, 0.5, 0.9])) == 0.001
    assert best(rows([0.6, 0.7, 0.7, 0.6, 0.9, 0.9])) == 0.0003
    some = rows([0.7, 0.7, 0.6, 0.7, 0.5, 0.5])
    assert best(some) == 0.003
    last = tuning[-1].trial.key
    assert best({key: r for key, r in some.items() if key != last}) is None


def test_a_failed_trial_stops_the_tuning_of_its_network_only():
    study = configured()
    rows = tuned(study)
    whole = study.plan(rows)
    first = next(p for p in study.plan({}) if p.labels["arm"] == LCN).trial
    failed = Row(first.key, first.stem, first.canonical(), first.versions, "failed", error="out of memory")
    broken = study.plan({**rows, first.key: failed})
    twins = (LCN, permuted(LCN))
    assert {p.labels["phase"] for p in broken if p.labels["arm"] in twins} == {TUNING}
    others = [p for p in whole if p.labels["arm"] not in twins]
    assert [p for p in broken if p.labels["arm"] not in twins] == others
    assert {p.labels["phase"] for p in others} == {TUNING, MEASURED}
    assert study.plan({**rows, first.key: failed} | {first.key: rows[first.key]}) == whole


def test_worth_of_a_prior_in_a_case_computed_by_hand():
    # Errors 0.68 - 0.04 log2(m/250) and 0.66 - 0.05 log2(m/250) are 0.6 at 2 and 1.2 doublings. A seed that
    # is e worse needs e / 0.04 and e / 0.05 doublings more, 5 e apart: 0.05 for e = 0.01. Student's t with
    # 2 degrees of freedom is 4.3027, and 4.3027 * 0.05 / sqrt(3) = 0.12421.
    table = completed(configured(), (-0.01, 0.0, 0.01), **{FCN: (0.68, 0.04), LCN: (0.66, 0.05)})
    study, table = configured(), configured().measured(table)
    needed = study.needed(table)
    assert needed[FCN].crossing == pytest.approx(1000)
    assert needed[LCN].crossing == pytest.approx(250 * 2**1.2)
    found = worth(needed, FCN, LCN)
    assert found.value == pytest.approx(2**0.8)
    assert (found.low, found.high) == pytest.approx((2 ** (0.8 - 0.12421), 2 ** (0.8 + 0.12421)), rel=1e-4)
    assert study.needed(table[table["seed"] > 0]) == {}


def test_tables_tell_what_is_reached_and_what_is_not():
    study = configured()
    ladder, examples, moved = study.tables(completed(study, **{FCN: (0.75, 0.03)})).values()
    worths = dict(zip(ladder["prior"], ladder["worth"], strict=True))
    assert worths["sharing, without pooling"].cell.startswith("1 [")
    assert worths["locality: windows of 5 x 5"].cell.startswith("at least")
    assert worths["sharing, with pooling"].value == pytest.approx(2 ** (0.11 / 0.045 - 0.06 / 0.05), rel=1e-2)
    assert ladder["prior"][0] == "locality: windows of 9 x 9"
    stars = dict(zip(examples["arm"], examples["m*"], strict=True))
    assert stars[FCN].cell == "> 4000" and stars[POOLED_CNN].cell.startswith("575 [")
    assert list(examples["arm"]) == [*study.networks, *TWINS]
    costs = dict(zip(moved["arm"], moved["moved by 4"], strict=True))
    assert costs[POOLED_CNN].cell.startswith("0.04 [0.04, 0.04]") and blocks(4) not in costs
    assert study.tables(study.table([], {})) == {}


def test_the_order_of_the_paper_is_consistent_and_permuted_pixels_fail():
    study = configured()
    found = study.judge(completed(study))
    assert (found.evidence.verdict, found.control.verdict) == ("consistent", "fails")
    assert {f"m* of FCN over {POOLED_LCN}", f"m* of {POOLED_LCN} over {POOLED_CNN}"} <= {
        *found.evidence.numbers
    }
    assert list(found.control.numbers) == [f"m* of {POOLED_LCN} over {permuted(POOLED_CNN)}"]
    assert found.evidence.numbers["target: error"] == 0.6


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({LCN: (0.63, 0.05)}, "consistent"),  # an LCN without pooling is judged by cifar-unpooled
        ({POOLED_LCN: (0.9, 0.01)}, "fails"),  # locality costs examples
        ({POOLED_LCN: (0.63, 0.05)}, "fails"),  # sharing costs examples
        ({FCN: (0.63, 0.05), permuted(FCN): (0.63, 0.05)}, "fails"),
        ({POOLED_LCN: (0.7, 0.03)}, "undecided"),  # the ratio's interval straddles 1
        ({FCN: (0.9, 0.01), permuted(FCN): (0.9, 0.01)}, "consistent"),  # not reached: a limit decides
        ({POOLED_CNN: (0.9, 0.01)}, "fails"),  # the CNN does not get there
        ({permuted(FCN): (0.75, 0.03)}, "undecided"),  # the FCN sees the permutation
        ({shuffled(POOLED_CNN): (0.8, 0.0)}, "undecided"),  # something else than labels is learned from
        ({shuffled(POOLED_CNN): (0.97, 0.0)}, "undecided"),
        ({shuffled(POOLED_CNN): (0.9, 0.01)}, "undecided"),  # at the largest m around 0.86
        ({CNN: (0.8, 0.0), sized(9): (0.6, 0.05)}, "consistent"),  # reported, not judged
    ],
)
def test_the_criterion_can_fail(changes, expected):
    assert verdict(**changes) == expected


def test_a_twin_that_only_starts_from_the_same_law_is_noticed():
    assert verdict(first_loss=2.30001) == "consistent"
    assert verdict(first_loss=2.31) == "undecided"


def test_the_control_is_no_formality():
    study = configured()
    seen = {permuted(POOLED_CNN): FALLING[POOLED_CNN]}
    assert study.judge(completed(study, **seen)).control.verdict == "consistent"


def test_what_does_not_pass_is_opposed_by_the_ends_of_the_order():
    study = configured()
    found = study.judge(completed(study, **{POOLED_LCN: (0.9, 0.01)}))
    assert (found.evidence.verdict, found.control.verdict) == ("fails", "consistent")
    assert list(found.control.numbers) == [f"m* of FCN over {POOLED_CNN}"]
    blind = study.judge(completed(study, **{POOLED_CNN: (0.9, 0.01)}))
    assert (blind.evidence.verdict, blind.control.verdict) == ("fails", "fails")


@pytest.mark.parametrize(
    ("changes", "verdict", "control"),
    [
        ({}, "undecided", "consistent"),  # LCN and CNN alike; with pooling the CNN needs fewer
        ({CNN: (0.66, 0.04)}, "consistent", "undecided"),
        ({CNN: (0.66, 0.04), permuted(LCN): (0.74, 0.03)}, "consistent", "fails"),
        ({CNN: (0.72, 0.04)}, "fails", "consistent"),
        ({LCN: (0.73, 0.03), CNN: (0.66, 0.04)}, "fails", "consistent"),
    ],
)
def test_without_pooling_the_same_trials_are_judged_apart(changes, verdict, control):
    study, pooled = configured("lahoti.cifar-unpooled"), configured()
    found = study.judge(completed(study, **changes))
    assert (found.evidence.verdict, found.control.verdict) == (verdict, control)
    rows = tuned(pooled)
    assert [p.trial.key for p in study.plan(rows)] == [p.trial.key for p in pooled.plan(rows)]


def test_the_target_is_the_fcns_error_on_the_images_that_chose_its_rate():
    study = configured(target=None, tuning_seeds=2)
    points = study.plan({})
    assert {p.labels["phase"] for p in points} == {TUNING} and np.isnan(study.goal(None))
    errors = {FCN: {0.0003: 0.7, 0.001: 0.61, 0.003: 0.65}}
    rows = {
        p.trial.key: row(
            p, held_out_error=errors.get(p.labels["arm"], {}).get(p.labels["rate"], 0.4)
            + 0.02 * (p.trial.seed % 2), test_error=0.1,
        )
        for p in points
    }  # fmt: skip
    table = study.table(points, rows)
    assert study.aimed(table).target == pytest.approx(0.62)
    others = {p.trial.key: rows[p.trial.key] for p in points if p.labels["arm"] != FCN}
    assert {p.labels["phase"] for p in study.plan(others)} == {TUNING}
    full = completed_from(study, rows)
    assert study.judge(full).evidence.numbers["target: error"] == pytest.approx(0.62)
    assert any("for an error of 0.62" in title for title in study.tables(full))
    assert "the FCN's on the images that chose its rate" in study.remarks()


def test_one_repetition_decides_nothing():
    study = configure("lahoti.cifar", "quick", PINNED, seeds=1)
    assert study.judge(completed(study)).evidence.verdict == "undecided"


def test_embedded_digits_are_shown_and_not_judged():
    study = configured(**{"task.images": "digits", "task.batches": None})
    assert "embedded" in study.unjudged() and "embedded" in study.remarks()
    assert study.sizes == (250, 500, 1000)
    points = study.plan(tuned(study))
    assert max(point.trial.m for point in points) == 1297
    assert {point.trial.test_size for point in points} == {500}
    assert configured().unjudged() == ""


def test_sizes_beyond_the_set_are_left_out_and_named():
    study = configured(m=[500, 20_000, 30_000])
    assert study.sizes == (500, 20_000)
    assert "Left out for lack of images: m = 30000." in study.remarks()
    assert "Left out" not in configured().remarks()


def test_the_fcn_is_as_wide_as_the_readout_after_pooling_or_as_told():
    assert configured().networks[FCN]["widths"] == [4 * 4 * 16]
    wide = configured(fcn_width=4096)
    assert wide.networks[FCN]["widths"] == [4096] and "The FCN has 4,096 hidden units." in wide.remarks()


def test_settings_that_make_no_sense_are_refused():
    for settings in (
        {"m": [100]},
        {"m": [4000, 250]},
        {"rates": []},
        {"kernels": [5]},
        {"task": "detection"},
    ):
        with pytest.raises(UserError):
            configured(**settings)


def test_figures_have_the_controls_beside_the_networks():
    study = configured()
    error, priors = study.figures(completed(study)).values()
    names = [arm["name"] for arm in error.to_dict(validate=False)["usermeta"]["whyconv"]["arms"]]
    assert names == [FCN, LCN, CNN, POOLED_LCN, POOLED_CNN, *TWINS]
    panels = [panel["title"] for panel in priors.to_dict(validate=False)["concat"]]
    on = " (CNN lies on LCN)"  # the made-up errors of both are the same
    assert panels == ["locality", f"sharing, without pooling{on}", "sharing, with pooling", f"pooling{on}"]
    assert len(study.figures(study.table([], {}))) == 2
