"""Shares of the time: the order test, tuning, steps, sizes; all from rows, so that they can be had again."""

from dataclasses import replace

import pytest
from test_audit import falling, made_up, small

from whyconv.auditing import budget
from whyconv.auditing.arms import ARMS, CNN, FCN, LCN
from whyconv.auditing.phases import ORDER, Setup
from whyconv.auditing.results import result
from whyconv.auditing.tuning import chosen_scope
from whyconv.studies.tuned import MEASURED, TUNING

MANY = {"count": 800, "sizes": (37, 75, 150, 300, 600), "windows": (3, 4, 5, 6), "orders": 5}


def of(points, phase):
    return [point for point in points if point.labels["phase"] == phase]


def test_the_order_test_gets_a_tenth_of_the_time():
    _, study = small(**MANY, order_steps=600, order_size=500, channels=8000)
    whole = study.order_points()
    cost = budget.forecast(whole)
    assert len(whole) == 2 * 2 * 6, "two networks, two windows"
    assert study.model_copy(update={"budget": 10.1 * cost}).order_points() == whole
    one = study.model_copy(update={"budget": 9.9 * cost}).order_points()
    assert len({point.labels["window"] for point in one}) == 1, "a single window"
    assert {point.trial.key for point in one} < {point.trial.key for point in whole}, "as many steps"
    less = study.model_copy(update={"budget": 9.9 * budget.forecast(one)}).order_points()
    assert len(less) == len(one) and budget.forecast(less) < budget.forecast(one), "fewer steps"
    least = study.model_copy(update={"budget": 0.001}).order_points()
    assert budget.for_order(100.0) == 10.0 and budget.for_order(960.0) == 30.0, "the first answer comes soon"
    assert budget.for_order(7200.0) == 144.0
    assert len(least) == 2 * 6 and budget.forecast(least) < budget.forecast(less), "never fewer orders"


def test_tuning_gets_three_tenths_as_fast_as_the_order_test_was():
    _, study = small(**MANY, extensions=1)
    points, rows = made_up(study, falling)
    order = of(points, ORDER)
    rows |= {p.trial.key: replace(rows[p.trial.key], seconds=budget.seconds(p.trial)) for p in order}
    scopes = []
    for given in (10_000.0, 5.5, 2.0):
        scopes.append(chosen_scope(study.model_copy(update={"budget": given}), rows, order))
    assert [len(scope.sizes) for scope in scopes] == [2, 1, 1]
    assert [len(scope.windows) for scope in scopes] == [4, 4, 1]
    assert [scope.extensions for scope in scopes] == [1, 0, 0]
    enough = study.model_copy(update={"budget": 40.0})
    slow = {key: replace(row, seconds=100 * row.seconds) for key, row in rows.items()}
    assert chosen_scope(enough, rows, order) != chosen_scope(enough, slow, order)


def test_arms_that_still_learn_get_four_times_the_steps_if_there_is_time():
    def slow(labels, seed):
        return falling(labels, seed)

    _, study = small(count=800, sizes=(150, 300, 600), seeds=5, growths=2)
    rows, points = {}, study.plan({})
    while missing := [p for p in points if p.trial.key not in rows]:
        _, new = made_up_rows(missing, slow)
        for p in missing:
            row = new[p.trial.key]
            if p.labels["arm"] == FCN and p.trial.learner.epochs * -(-p.labels["m"] // 32) < 100:
                found = {**row.result, "stopped": "cap", "epochs": 8, "train_loss": 0.2}
                row = replace(row, result=found, trace={"loss_at_epochs_2^i": [1, 0.8, 0.6, 0.2]})
            rows[p.trial.key] = replace(row, seconds=1.0)
        points = study.plan(rows)
    setups = study.tuned(rows)[1]
    assert setups[FCN].steps == 320 and setups[LCN].steps == 20, "of 20: twice four times"
    measured = {
        (p.labels["arm"], p.trial.learner.epochs) for p in of(points, MEASURED) if p.labels["m"] == 600
    }
    assert measured == {(FCN, -(-320 // 19)), (LCN, 2)}
    assert not any("learning" in text for text in result(study, points, rows).warnings)
    poor = study.model_copy(update={"budget": 60.0})
    assert poor.tuned(rows)[1][FCN].steps == 20, "no time for more"
    rich = study.model_copy(update={"budget": 1e6})
    assert rich.tuned(rows)[1][FCN].steps == 320


def made_up_rows(points, error):
    from whyconv.trial import Row

    rows = {}
    for p in points:
        value = error(p.labels, p.trial.seed)
        found = dict.fromkeys(("test_error", "test_logloss", "train_error"), value)
        found |= {"stopped": "loss", "epochs": 5, "train_loss": 0.01}
        rows[p.trial.key] = Row(p.trial.key, "", {}, {}, "ok", found)
    return points, rows


def test_sizes_are_left_out_from_below_until_five_rounds_fit():
    setups = {FCN: Setup({}, 0.1, None, 0.1, 100, 1.0), CNN: Setup({}, 0.1, 3, 0.1, 100, 2.0)}
    sizes = (10, 20, 40, 80, 160, 320)
    assert budget.cost_of_rounds(setups, 6) == 5 * (6 * (2 * 1 + 2) + 2 * 2)
    assert budget.sizes_within(sizes, setups, None) == sizes
    assert budget.sizes_within(sizes, setups, 140 / 0.6 + 1e-6) == sizes
    assert budget.sizes_within(sizes, setups, 139 / 0.6) == sizes[1:]
    assert budget.sizes_within(sizes, setups, 1.0) == sizes[3:], "three at least"
    assert budget.sizes_within(sizes[-2:], setups, 1.0) == sizes[-2:]


def test_fewer_sizes_are_what_is_measured():
    _, study = small(count=800, sizes=(37, 75, 150, 300, 600), arms=ARMS[:7], seeds=3)
    points, rows = made_up(study, falling)
    assert {p.labels["m"] for p in of(points, MEASURED)} == {37, 75, 150, 300, 600}
    short = study.model_copy(update={"budget": 1e-3})
    less, rows = made_up(short, falling)
    assert {p.labels["m"] for p in of(less, MEASURED)} == {150, 300, 600}
    found = result(short, less, rows)
    assert found.rounds == 3 and {each["m"] for each in found.curves} == {150, 300, 600}
    assert len(of(less, TUNING)) < len(of(points, TUNING))


@pytest.mark.parametrize("phase", [ORDER, TUNING, MEASURED])
def test_more_time_computes_nothing_again_that_does_not_change(phase):
    _, study = small(**MANY, order_steps=8, seeds=3)
    short, _ = made_up(study.model_copy(update={"budget": 30.0}), falling)
    whole, _ = made_up(study.model_copy(update={"budget": 1e6}), falling)
    before, after = ({p.trial.key for p in of(each, phase)} for each in (short, whole))
    assert before and len(before & after) >= len(before) / 2
