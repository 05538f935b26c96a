"""Every check of an audit fails on something that it must notice."""

import json

import numpy as np
import pytest
from test_audit import falling, made_up, small

from whyconv.auditing.arms import BAG, CNN, FCN, LCN
from whyconv.auditing.controls import all_controls
from whyconv.auditing.phases import LINEAR, MAJORITY, PERMUTED_BEST, PERMUTED_FCN, SHUFFLED
from whyconv.auditing.result import Order
from whyconv.auditing.results import result
from whyconv.auditing.rounds import whole_rounds
from whyconv.cli.audit_screen import screen
from whyconv.report.audit_page import render

HERE = Order("matters", 0.05, 0.1, 0.4, 39)
THERE = Order("matters", 0.05, 0.4, 0.1, 39)
UNJUDGED = Order("not judged", why="no random orders were asked for")
UNSEEN = Order("not seen", 0.5, 0.2, 0.2, 39)


def checked(order, winner, lost, arms=(FCN, LCN)):
    """The check of the winner, which loses ``lost`` by permuting, where ``winner`` is best."""

    def error(labels, seed):
        noise = 0.001 * (seed % 5)
        if labels["arm"] == PERMUTED_BEST:
            return 0.2 + lost + 1.5 * noise
        return noise + (0.2 if labels["arm"].removeprefix("permuted ") == winner else 0.3)

    _, study = small(count=800, sizes=(150, 300, 600), seeds=5, arms=arms)
    points, rows = made_up(study, error)
    rounds, setups = whole_rounds(study, points, rows), study.tuned(rows)[1]
    assert study.winner(setups) == winner
    found = all_controls(study, setups, rounds, winner, order)
    return next(each for each in found if each.name == PERMUTED_BEST)


@pytest.mark.parametrize(
    ("order", "lost", "fine", "says"),
    [
        (HERE, 0.1, True, "loses its lead"),
        (HERE, 0.0005, None, "not decided"),
        (HERE, -0.004, None, "not decided"),
        (HERE, -0.1, False, "better on permuted places"),
        (UNSEEN, 0.0, True, "about as good"),
        (UNSEEN, 0.1, False, "though its test did not see it"),
        (UNSEEN, -0.1, False, "does not explain"),
        (THERE, -0.1, True, "better on permuted places, as networks are"),
        (THERE, 0.0, True, "about as good"),
        (THERE, 0.1, False, "random orders do better in the order test"),
        (UNJUDGED, 0.0, True, "about as good"),
        (UNJUDGED, 0.1, None, "not decided"),
        (HERE, -0.0005, None, "not decided"),
    ],
)
def test_the_permuted_winner_must_agree_with_the_order_test(order, lost, fine, says):
    found = checked(order, LCN, lost)
    assert found.fine is fine and says in found.says


@pytest.mark.parametrize("winner", [FCN, BAG])
def test_a_winner_that_is_blind_to_the_order_must_not_change(winner):
    arms = (FCN, LCN, BAG)
    assert checked(UNSEEN, winner, 0.0, arms).fine is True
    for lost in (0.1, -0.1):
        found = checked(UNSEEN, winner, lost, arms)
        assert found.fine is False and "blind" in found.says


def unsure(worse):
    """An audit whose FCN is ``worse`` on permuted places with all examples; sizes below tell nothing."""

    def error(labels, seed):
        if labels["arm"] == PERMUTED_FCN and labels["m"] == 600:
            return 0.3 + worse + 0.001 * (seed % 3)
        chance = np.random.default_rng([seed, labels["m"], len(labels["arm"])])
        if LCN in labels["arm"]:
            return 0.2
        return 0.3 if labels["m"] == 600 else 0.35 + 0.3 * chance.uniform(-1, 1)

    _, study = small(count=800, sizes=(150, 300, 600), seeds=5, arms=(FCN, LCN))
    found = result(study, *made_up(study, error))
    return found, next(each for each in found.controls if each.name == PERMUTED_FCN)


def test_a_permuted_fcn_whose_interval_has_no_ends_is_not_decided():
    found, check = unsure(0.0)
    assert (check.low, check.high, check.fine) == (None, None, None) and "not decided" in check.says
    text = "\n".join(screen(found))
    assert "Check undecided: permuted FCN" in text and "[open, open]" in text
    assert not any(
        "permuted FCN" in line and " ok" in line.partition("permuted FCN")[2] for line in screen(found)
    )
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))["controls"][0]
    assert told["name"] == PERMUTED_FCN and told["fine"] is None
    row = render(found, "whyconv audit").partition(f"<td>{PERMUTED_FCN}</td>")[2].partition("</tr>")[0]
    assert "badge undecided" in row and "both ends are open" in row


def test_a_permuted_fcn_that_is_surely_worse_is_a_false_alarm_whatever_its_interval():
    found, check = unsure(0.05)
    assert (check.low, check.high) == (None, None)
    assert check.fine is False and any("false alarm" in text for text in found.warnings)


def test_a_failed_check_is_a_warning():
    _, study = small(count=800, sizes=(150, 300, 600), seeds=5, arms=(FCN, LCN, CNN))
    points, rows = made_up(
        study, lambda labels, seed: 0.1 if labels["arm"] == SHUFFLED else falling(labels, seed) + 0.001 * seed
    )
    found = result(study, points, rows)
    assert any("labels leak" in text for text in found.warnings)


def test_a_bag_alone_is_compared_with_nothing_and_no_error_is_below_0():
    _, study = small(count=800, sizes=(150, 300, 600), seeds=5, arms=(BAG,))
    points, rows = made_up(
        study, lambda labels, seed: 0.5 * (seed == 0) if labels["arm"] == PERMUTED_BEST else 0.2
    )
    found = {each.name: each for each in result(study, points, rows).controls}
    assert found[BAG].fine is None and found[BAG].says == "not made: every other arm was left out"
    assert found[PERMUTED_BEST].low == 0 < found[PERMUTED_BEST].high


@pytest.mark.parametrize(("linear", "warned"), [(0.1, True), (0.4, False)])
def test_a_linear_model_as_good_as_the_best_network_is_a_warning(linear, warned):
    def error(labels, seed):
        known = {MAJORITY: 0.6, LINEAR: linear, LCN: 0.2}
        return known.get(labels["arm"], 0.3) + 0.001 * (seed % 5)

    _, study = small(count=800, sizes=(150, 300, 600), seeds=5, arms=(FCN, LCN))
    found = result(study, *made_up(study, error))
    assert any("priors of networks say little here" in each for each in found.warnings) == warned
