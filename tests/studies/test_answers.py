"""The answer of every study is computed from its rows: other rows, another sentence."""

from functools import cache
from math import inf, nan

import numpy as np
import pandas as pd
import pytest

from whyconv import registry
from whyconv.criteria.power import judged_presets, world_of
from whyconv.criteria.worlds import Setting
from whyconv.measure.complexity import Ratio, SampleComplexity
from whyconv.measure.intervals import Interval
from whyconv.studies.answers import RISE, Answer, in_effort, in_examples, in_outcome

NAMES = [study.name for study in registry.pieces("study") if ".papers." in study.__module__]
MEASURED = ("test_error", "accuracy", "risk", "alignment", "steps_taken", "evaluations")


@cache
def made_up(name):
    """A study, as its quick preset is judged, with the rows of its own world, far from the threshold."""
    _, study = next(judged_presets(name))
    world = world_of(type(study))
    assert world is not None
    return study, world.rows(Setting(study), world.far, np.random.default_rng(0))


@pytest.mark.parametrize("name", NAMES)
def test_every_study_answers_from_its_rows(name):
    study, table = made_up(name)
    answers = study.answers(table)
    assert answers, "every study has an answer"
    for answer in answers:
        assert answer.data and answer.range.strip(" ,.") == answer.range and answer.prior
        assert answer.low <= answer.high
        assert answer.kind == "factor" or answer.low <= answer.value <= answer.high
        assert "nan" not in answer.sentence and answer.sentence.endswith(".")
    for each in answers:
        record = each.record()
        assert (record["factor"] is None) == (each.kind == "difference" or np.isnan(each.value))
        assert record["sentence"] == each.sentence


@pytest.mark.parametrize("name", NAMES)
def test_other_rows_give_another_sentence(name):
    """What the arm with the prior measured is scaled by 0.3: its errors and costs fall, or its accuracy."""
    study, table = made_up(name)
    first = study.answers(table)[0]
    which, sign = changed_rows(table, first)
    columns = [column for column in MEASURED if column in table]
    other = table.astype(dict.fromkeys(columns, float))
    other.loc[which, columns] *= 0.3
    again = study.answers(other)[0]
    assert (again.prior, again.sentence != first.sentence) == (first.prior, True)
    if first.unit != RISE and not np.isnan(first.value) and not np.isnan(again.value):
        assert np.sign(again.value - first.value) == sign


def changed_rows(table, answer):
    """The rows of the arm with the prior, and in which direction its worth moves if they are scaled down."""
    sign = -1 if answer.unit in ("accuracy", "alignment", "evaluations") else 1
    if answer.given in set(table["arm"]):
        which = table["arm"] == answer.given
        return (which & (table["k"] == table["k"].max()) if "exponent" in answer.unit else which), sign
    axis = next(name for name in ("group", "iterations", "n") if name in table)
    return table[axis] == table[axis].max(), sign


def test_half_of_the_rows_never_raise():
    for name in NAMES:
        study, table = made_up(name)
        assert study.answers(table.iloc[:0]) == []
        for part in (table.iloc[: len(table) // 2], table.iloc[len(table) // 2 :]):
            for answer in study.answers(part):
                assert answer.sentence


def complexity(crossing, reached=True, cap=1000):
    m = int(crossing) if reached else None
    below = m - 1 if m else None
    logs = tuple(np.log(crossing) + np.array([-0.1, 0.0, 0.1])) if reached else ()
    low, high = (0.8 * crossing, 1.25 * crossing) if reached else (cap, inf)
    return SampleComplexity(m, below, crossing if reached else nan, low, high, cap, 3, 0.95, (0, 1, 2), logs)


def test_a_factor_in_words():
    sharing = in_examples("sharing", ("LCN", complexity(220)), ("CNN", complexity(10)), "signal", "at k = 20")
    assert sharing.sentence == (
        "Sharing saves a factor of 22 [22, 22] in examples, at k = 20 (CNN: 10; LCN: 220)."
    )
    other_way = in_examples("sharing", ("LCN", complexity(10)), ("CNN", complexity(20)), "signal", "at k = 2")
    assert other_way.sentence.startswith("Sharing costs a factor of 2 [2, 2] in examples")
    beyond = in_examples("locality", ("FCN", complexity(1, False)), ("LCN", complexity(37)), "signal", "here")
    assert "saves a factor of at least 2" in beyond.sentence and "not reached by m = 1,000" in beyond.sentence
    assert beyond.record()["factor"] is None and beyond.record()["low"] == pytest.approx(beyond.low)
    neither = in_examples("x", ("FCN", complexity(1, False)), ("LCN", complexity(1, False)), "signal", "here")
    assert neither.sentence.startswith("What x saves in examples is not known")


def test_a_difference_in_words():
    without = pd.Series([0.30, 0.33, 0.36], index=[0, 1, 2])
    given = pd.Series([0.0, 0.0, 0.0], index=[0, 1, 2])
    found = in_outcome("pooling", ("MLP", without), ("ConvPool", given), "test_error", "digits", "at m = 40")
    assert found.sentence == (
        "ConvPool errs on 0 % at m = 40 where MLP errs on 33 %: pooling gains 33 [26, 40] points."
    )
    record = found.record()
    assert record["factor"] is record["low"] is record["high"] is None
    assert record["difference"] == pytest.approx(0.33)
    back = in_outcome("pooling", ("MLP", given), ("ConvPool", without), "test_error", "digits", "at m = 40")
    assert back.sentence.endswith("pooling loses 33 [26, 40] points.")
    same = in_outcome("pooling", ("MLP", given), ("ConvPool", given), "test_error", "digits", "at m = 40")
    assert "no difference is shown" in same.sentence
    alone = in_outcome(
        "x", ("MLP", without[:1]), ("ConvPool", given[:1]), "test_error", "digits", "at m = 40"
    )
    assert alone.sentence.endswith("(one repetition: no interval).")


def test_a_place_of_several_settings_ends_in_a_comma_in_the_sentence_alone():
    errors = [pd.Series([level, level]) for level in (0.3, 0.1)]
    found = in_outcome("x", ("A", errors[0]), ("B", errors[1]), "test_error", "d", "at m = 8, noise 1")
    assert found.range == "at m = 8, noise 1" and "at m = 8, noise 1, where A errs" in found.sentence
    rise = in_outcome("x", ("A", errors[0]), ("B", errors[1]), RISE, "d", "from 5 to 20 positions")
    assert rise.sentence.startswith(
        "From 5 to 20 positions the error of B rises by 10 points, that of A by 30: x gains 20"
    )


def test_what_was_cut_off_is_a_limit():
    steps = pd.Series([400.0, 400.0], index=[0, 1])
    few = pd.Series([20.0, 40.0], index=[0, 1])
    found = in_effort("locality", ("FCN", steps), ("LCN", few), "steps", "bits", "at n = 64", (True, False))
    assert np.isnan(found.value) and found.high == inf
    whole = in_effort("locality", ("FCN", steps), ("LCN", few), "steps", "bits", "at n = 64")
    assert whole.value == pytest.approx(400 / np.sqrt(800)) and whole.low == found.low


def test_an_interval_that_contains_no_effect_claims_nothing():
    unsure = Answer("x", "factor", Ratio(1.3, 0.9, 1.8, 5), "examples", "a", "b", (1.0, 1.3), "d", "here")
    assert unsure.helps is None and "no saving in examples is shown" in unsure.sentence
    sure = Answer("x", "difference", Interval(0.1, 0.05, 0.15, 5), "risk", "a", "b", (0.1, 0.2), "d", "here")
    assert sure.helps and sure.worth == "0.1 [0.05, 0.15] of risk" and sure.amount == "0.1 [0.05, 0.15]"
