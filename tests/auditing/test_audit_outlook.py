"""What a budget is going to give is said before it is spent, by what was measured as soon as there is any."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from test_audit import falling, made_up, small

import whyconv as package
from whyconv import system
from whyconv.auditing import budget, run
from whyconv.auditing.outlook import Work, ahead, outlook
from whyconv.auditing.phases import ORDER
from whyconv.auditing.planted import planted
from whyconv.auditing.rounds import FEWEST
from whyconv.errors import UserError
from whyconv.studies.tuned import MEASURED, TUNING

MANY = {"count": 800, "sizes": (37, 75, 150, 300, 600), "windows": (3, 4, 5, 6), "orders": 39, "seeds": 40}


@pytest.fixture(autouse=True)
def free(monkeypatch):
    """Nobody else computes."""
    monkeypatch.setattr(system.os, "getloadavg", lambda: (0.9, 0.0, 0.0), raising=False)
    monkeypatch.setattr(system, "cores", lambda: 2)
    monkeypatch.setattr(system.os, "cpu_count", lambda: 2)


def test_a_machine_on_which_others_compute_is_slower(monkeypatch):
    _, study = small(**MANY)
    alone = outlook(study, 1, 2)
    assert system.crowding(1) == 1.0 == system.crowding(2)
    monkeypatch.setattr(system.os, "getloadavg", lambda: (6.2, 0.0, 0.0), raising=False)
    assert (system.crowding(1), system.crowding(2), system.crowding(50)) == (3.5, 4.0, 4.0)
    crowded = outlook(study, 1, 2)
    monkeypatch.setattr(system.os, "cpu_count", lambda: 64)
    assert system.crowding(2) == 1.0, "two of 64 cores have a small share of the load"
    assert crowded.first == pytest.approx(4 * alone.first) and crowded.rounds < alone.rounds


def timed(study, seconds, phases, rounds=2):
    """Rows of the first phases of a plan, and of so many rounds; each trial took so many seconds."""
    points, rows = made_up(study, falling)
    begun = study.first_seed + rounds
    known = {
        p.trial.key
        for p in points
        if p.labels["phase"] in phases and (p.labels["phase"] in (ORDER, TUNING) or p.trial.seed < begun)
    }
    return points, {key: replace(row, seconds=seconds) for key, row in rows.items() if key in known}


def test_more_minutes_give_more_and_every_shortage_has_its_sentence():
    _, study = small(**MANY)
    given = (0.01, 0.3, 0.5, 1, 2, 4, 8)
    found = [outlook(study, minutes, 2) for minutes in given]
    rounds = [each.rounds for each in found]
    assert rounds == sorted(rounds) and rounds[0] == 0 and rounds[-1] > 10
    assert "not even the order test" in found[0].sentence
    for minutes in np.geomspace(0.05, 1, 12):
        each = outlook(study, float(minutes), 2)
        assert each.enough == (each.rounds >= FEWEST)
        if each.rounds == 0 and each.first <= 60 * minutes:
            assert "only the order test and references" in each.sentence
        if 0 < each.rounds < FEWEST:
            assert f"savings need {FEWEST}" in each.sentence
        if not each.enough:
            assert each.wanted is not None
            assert outlook(study, each.wanted, 2).rounds >= (FEWEST if each.rounds else 1), "it is enough"
            assert outlook(study, each.wanted / 1.2, 2).rounds < (FEWEST if each.rounds else 1), (
                "not too much"
            )


def test_two_workers_give_more_than_one():
    _, study = small(**MANY)
    one, two = outlook(study, 0.6, 1), outlook(study, 0.6, 2)
    assert two.rounds > one.rounds and two.first < one.first


@pytest.mark.parametrize(
    "phases", [(ORDER,), (ORDER, TUNING), (ORDER, TUNING, MEASURED, "control", "reference")]
)
def test_rows_tell_how_fast_it_goes(phases):
    _, study = small(**MANY)
    slow, fast = (timed(study, seconds, phases)[1] for seconds in (2.0, 0.02))
    few, many = outlook(study, 4, 1, slow), outlook(study, 4, 1, fast)
    assert few.rounds < many.rounds and few.each > 5 * many.each
    assert many.first < outlook(study, 4, 1).first, "what is done is not done again"
    assert (many.fewest < many.rounds) == (phases == (ORDER,)), "after tuning, steps are known"
    assert few.done == many.done == (2 if MEASURED in phases else 0) and many.rounds <= 40 - many.done


def test_rounds_that_are_done_count():
    _, study = small(**MANY)
    points, rows = timed(study, 0.02, (ORDER, TUNING, MEASURED, "control", "reference"))
    slow = {p.trial.key for p in points if p.labels["phase"] == MEASURED}
    rows = {key: replace(row, seconds=20.0) if key in slow else row for key, row in rows.items()}
    found = outlook(study, 3, 2, rows)
    assert (found.rounds, found.done, found.enough) == (1, 2, True)
    assert (
        found.sentence.startswith("Forecast: about 1 more round in ") and "the next after" in found.sentence
    )
    none = outlook(study, 1.4, 2, rows)
    assert (
        (none.rounds, none.done) == (0, 2) and not none.enough and "no more round in 1.4 min" in none.sentence
    )
    assert none.wanted is not None and outlook(study, none.wanted, 2, rows).rounds >= 1
    _, every = made_up(study, falling)
    over = outlook(study, 4, 2, every)
    assert over.over and over.enough and "nothing new" in over.sentence and over.rounds == 0


def test_what_is_compiled_is_not_compiled_again():
    _, study = small(**MANY)
    order = Work(study.order_points(), {})
    assert len(order.new) == 4, "two networks, two windows"
    assert not Work(study.order_points(), {}, order).new
    assert Work(study.order_points() + study.references(0), {}, order).new, "references are new"


def test_a_round_that_was_measured_is_forecast_as_it_was():
    _, study = small(**{**MANY, "seeds": 1})
    points, rows = timed(study, 0.5, (ORDER, TUNING, MEASURED, "control", "reference"))
    trials = [p for p in points if p.labels["phase"] in (MEASURED, "control", "reference")]
    own = [p for p in trials if p.trial.seed == study.first_seed]
    found = outlook(study, 4, 2, rows)
    assert found.fewest == found.rounds and "to" not in found.sentence.split(" rounds")[0], "steps are known"
    assert found.each == pytest.approx(0.5 * len(own) / 2)


def test_the_last_sentence_says_what_another_call_would_add():
    _, study = small(**MANY, budget=budget.core_seconds(4, 1))
    points, rows = made_up(study, falling)
    assert "would add none" in ahead(study, points, rows, 4, 1), "decided"
    whole = study.model_copy(update={"seeds": 3})
    points, rows = made_up(whole, falling)
    assert "3 rounds at most" in ahead(whole, points, rows, 4, 1)
    rows = {key: replace(row, seconds=0.2) for key, row in rows.items()}
    lost = next(p.trial.key for p in reversed(points) if p.labels["phase"] == MEASURED)
    part = {key: row for key, row in rows.items() if key != lost}
    assert re.search(r"about 1 more round\.", ahead(whole, points, part, 4, 1))
    slow = {key: replace(row, seconds=20.0) for key, row in part.items()}
    assert "no round yet" in ahead(whole, points, slow, 0.5, 1)
    begun = {key: row for key, row in rows.items() if key in {p.trial.key for p in points[:3]}}
    assert re.search(r"about \d+ rounds?\.", ahead(whole, points, begun, 4, 1)), "the first ones"


@pytest.fixture
def nothing(monkeypatch):
    """There is no room for any trial, so that an audit ends after its forecast."""

    def complete(*given):
        raise UserError("no room")

    monkeypatch.setattr(run, "complete", complete)


def test_python_warns_of_a_budget_without_savings(nothing, tmp_path):
    x, y = np.random.default_rng(0).standard_normal((80, 12)), np.arange(80) % 2
    seen = []
    with pytest.warns(UserWarning, match="Forecast: .* would give a first round"), pytest.raises(UserError):
        package.audit(x, y, minutes=0.1, out=tmp_path / "a", workers=1, watch=seen.append)
    assert seen[0].outlook.sentence.startswith("Forecast") and not list(tmp_path.iterdir())
    with pytest.raises(UserError):  # nothing to warn of: a warning would be an error here
        package.audit(x, y, minutes=10, out=tmp_path / "a", workers=1)


def test_the_command_says_it_before_it_starts(whyconv, nothing, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = planted("shift", 160, 24, 5, 7)
    np.savez(tmp_path / "d.npz", X=made.x[:, 0, :, 0], y=made.y)
    short = ("audit", "d.npz", "--minutes", "0.1", "--workers", "1")
    sentence = "Forecast: not even the order test ends in 0.1 min"
    assert sentence in whyconv(*short).stderr
    assert sentence in whyconv(*short, "--dry-run").stdout
    told = json.loads(whyconv(*short, "--dry-run", "--json").stdout)
    assert told["warnings"][-1].startswith(sentence) and told["plan"]["rounds"] == 0
