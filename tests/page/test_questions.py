"""The page's questions: choices, trials, commands, headlines, figures; all in process, on made-up rows."""

import asyncio
import json
import re
import shlex
from dataclasses import replace
from html import unescape
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("starlette", reason="the page needs whyconv[page]")

from whyconv.assignments import given
from whyconv.errors import UserError
from whyconv.page import app, assets, catalogue, folder, safety, saving, shown
from whyconv.page.desk import Asked, neighbours
from whyconv.page.known import Known
from whyconv.page.question import MOST
from whyconv.page.questions import ALL
from whyconv.runs import Run
from whyconv.settings import configure
from whyconv.trial import Row

KINDS = list(ALL)
MOST_TRIALS = 5 * 7 * MOST


def rows_of(question, error):
    """Rows in which every trial errs as ``error(arm, m, seed)`` says."""
    rows = {}
    for point in question.plan({}):
        value = error(point.labels["arm"], point.labels["m"], point.trial.seed)
        result = {"test_error": value, "test_error_shift_1": value / 2, "test_error_shift_2": value / 4}
        rows.setdefault(
            point.trial.key,
            Row(point.trial.key, point.trial.stem, point.trial.canonical(), {}, "ok", result),
        )
    return rows


def table_of(question, rows):
    return question.table(question.plan({}), rows)


def small(kind):
    return kind(seeds=3, m=kind.choices("m")[0])


def falling(needs):
    """Errors 0.5 until about ``needs[arm]`` examples, with a little spread, then small."""
    return lambda arm, m, seed: 0.4 / (1 + (m / needs[arm]) ** 2) + 0.01 * (seed % 3)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_choice_of_every_setting_is_a_question_within_the_budget(kind):
    for near in neighbours(small(kind)):
        asked = catalogue.asked({"task": near.name.partition(".")[2], **near.stated()})
        assert asked == near and type(asked) is kind
        assert shown.address(asked) == shown.address(near)
    large = kind(seeds=MOST, m=kind.choices("m")[-1])
    points = large.plan({})
    assert len(points) <= MOST_TRIALS and max(point.trial.m for point in points) <= 1600


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_command_makes_the_same_trials(kind, tmp_path):
    for question in (small(kind), list(neighbours(small(kind)))[-1], kind(seeds=9)):
        words = shlex.split(shown.command(question, tmp_path))
        assert words[:3] == ["whyconv", "run", kind.name] and words[-2:] == ["--out", str(tmp_path)]
        pairs = dict(zip(words[3:-2:2], words[4:-2:2], strict=True)) if len(words) > 5 else {}
        sets = [value for name, value in zip(words[3:-2:2], words[4:-2:2], strict=True) if name == "--set"]
        seeds = int(pairs["--seeds"]) if "--seeds" in pairs else None
        again = configure(kind.name, "quick", sets, seeds)
        assert [p.trial.key for p in again.plan({})] == [p.trial.key for p in question.plan({})]
        assert given(sets, seeds) is not None


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_switch_changes_trials_or_what_is_measured(kind):
    plain = {point.trial.key for point in small(kind).plan({})}
    for near in neighbours(small(kind)):
        same = {point.trial.key for point in near.plan({})} == plain
        assert same == (near.name == "page.digits" and "shift" in near.stated()), near.stated()
        assert near.example() != kind().example() or "pooling" in near.stated()


def test_settings_of_other_kinds_are_refused():
    for wrong in (
        {"task": "bits", "patches": "5"},
        {"task": "signal", "sigma": "0.3"},
        {"task": "digits", "shift": "3"},
    ):
        with pytest.raises(UserError, match=r"take one of|choose from"):
            catalogue.asked(wrong)


def test_two_networks_that_become_the_same_trial_keep_both_names(tmp_path):
    question = catalogue.asked({"task": "detection", "pooling": "average"})
    rows = rows_of(
        question, falling({"FCN": 200, "LCN": 100, "CNN": 50, "ConvPool average": 80, "ConvPool": 80})
    )
    view = shown.shown(question, rows, tmp_path)
    means = view["chart"]["data"]["means"]
    by_arm = {arm: [row["mean"] for row in means if row["arm"] == arm] for arm in question.contestants()}
    assert by_arm["ConvPool"] == by_arm["ConvPool average"] and len(by_arm["ConvPool"]) == len(
        question.sizes()
    )
    assert view["total"] == 4 * 6 * 5 and view["done"] == view["total"]
    pooling = view["headline"][2]
    assert (pooling["prior"], pooling["state"]) == ("max-pooling", "same")
    assert pooling["worth"] == "nothing to compare" and "so there is nothing to compare" in pooling["says"]
    assert {answer.prior for answer in question.answers(table_of(question, rows))} == {
        "locality", "weight sharing", "ConvPool in place of CNN", "locality and weight sharing",
    }  # fmt: skip


def test_the_headline_follows_the_rows(tmp_path):
    question = catalogue.asked({"task": "signal", "seeds": "6", "m": "320"})
    needs = {"FCN": 200, "LCN": 100, "CNN": 20, "ConvPool average": 60, "ConvPool": 60}
    lines = {
        line["prior"]: line
        for line in shown.shown(question, rows_of(question, falling(needs)), tmp_path)["headline"]
    }
    assert lines["locality"]["state"] == lines["weight sharing"]["state"] == "helps"
    assert float(lines["weight sharing"]["worth"].split()[0]) == pytest.approx(5, rel=0.4)
    assert lines["weight sharing"]["says"].startswith("Weight sharing saves a factor of")
    turned = falling(needs | {"CNN": 100, "LCN": 20})
    other = shown.shown(question, rows_of(question, turned), tmp_path)["headline"]
    assert other[1]["state"] == "costs" and lines["weight sharing"]["worth"].endswith("× fewer examples")
    costs = other[1]["worth"]
    assert float(costs.split()[0]) == pytest.approx(5, rel=0.4) and costs.endswith("× more examples")


def test_an_answer_stays_while_seeds_are_being_added(tmp_path):
    before, after = (catalogue.asked({"task": "signal", "seeds": seeds, "m": "320"}) for seeds in ("3", "6"))
    rows = rows_of(
        after, falling({"FCN": 200, "LCN": 100, "CNN": 20, "ConvPool average": 60, "ConvPool": 60})
    )
    known = {point.trial.key for point in before.plan({})}
    new = [p.trial.key for p in after.plan({}) if p.trial.seed == 3 and p.labels["m"] <= 80]
    assert new and not known & set(new)
    settled = shown.shown(before, {key: rows[key] for key in known}, tmp_path)["headline"]
    adding = shown.shown(after, {key: rows[key] for key in known | set(new)}, tmp_path)["headline"]
    assert adding == settled and "helps" in {line["state"] for line in settled}
    assert any("saves a factor" in line["says"] for line in settled)
    whole = shown.shown(after, rows, tmp_path)["headline"]
    assert whole != settled, "whole seeds count"


def test_a_number_of_seeds_has_few_digits():
    for text in ("0" * 5000 + "5", "000000005" + "0" * 5000, "5" * 10):
        with pytest.raises(UserError, match="take a whole number from 3 to 30"):
            catalogue.asked({"task": "bits", "seeds": text})
    assert catalogue.asked({"task": "bits", "seeds": "007"}).seeds == 7


def test_the_headline_needs_more_seeds_until_it_can_answer(tmp_path):
    question = catalogue.asked({"task": "signal"})
    assert {line["worth"] for line in shown.shown(question, {}, tmp_path)["headline"]} == {"needs more seeds"}
    rows = rows_of(question, lambda arm, m, seed: 0.1 + 0.3 * ((hash_of(arm, m) + seed) % 3))
    assert shown.shown(question, rows, tmp_path)["headline"][0]["worth"] == "needs more seeds"
    one = {key: row for key, row in rows.items() if row.spec.get("seed") == 0}
    said = shown.shown(question, one, tmp_path)["headline"]
    assert {line["worth"] for line in said} == {"needs more seeds"} and said[0]["says"].startswith("So far")


def hash_of(arm, m):
    return ("FCN", "LCN", "CNN", "ConvPool average", "ConvPool").index(arm) + m


def test_rows_that_come_meanwhile_are_neither_drawn_nor_counted(tmp_path, monkeypatch):
    question = catalogue.asked({"task": "bits"})
    every = rows_of(question, lambda arm, m, seed: 0.2)
    rows = dict(list(every.items())[:9])
    made = type(question).table

    def slow(self, points, given):
        rows.update(every)
        return made(self, points, given)

    monkeypatch.setattr(type(question), "table", slow)
    view = shown.shown(question, rows, tmp_path)
    assert view["done"] == len(view["chart"]["data"]["runs"]) == 9


def test_two_answers_of_which_the_first_that_says_something_is_the_headline(tmp_path):
    question = catalogue.asked({"task": "signal", "seeds": "6", "m": "320"})
    even = {"FCN": 100, "LCN": 100, "CNN": 20, "ConvPool average": 60, "ConvPool": 60}
    steep = lambda arm, m, seed: 0.4 / (1 + (m / even[arm]) ** 2) + 0.01 * (seed % 3)  # noqa: E731
    nearly = lambda arm, m, seed: steep(arm, m, seed) - 0.06 * (arm == "LCN" and m == 40)  # noqa: E731
    line = shown.shown(question, rows_of(question, nearly), tmp_path)["headline"][0]
    assert line["worth"] == "within 1.5×: no difference", "a factor comes first"
    assert "a factor of" in line["says"]


def test_points_of_error_have_no_sign_in_the_headline(tmp_path):
    question = catalogue.asked({"task": "signal"})
    rows = rows_of(question, lambda arm, m, seed: 0.3 + 0.002 * (seed % 3) + 0.1 * (arm == "LCN"))
    lines = shown.shown(question, rows, tmp_path)["headline"]
    assert [line["worth"] for line in lines[:2]] == [
        "10 [10, 10] points more error at m = 40",
        "10 [10, 10] points less error at m = 40",
    ]


def test_a_limit_that_is_near_to_no_effect_is_no_headline(tmp_path):
    question = catalogue.asked({"task": "signal", "seeds": "6"})
    lines = {"FCN": 0.101, "LCN": 0.098}  # at the largest size alone one of them reaches 0.1

    def error(arm, m, seed):
        return (lines.get(arm, 0.3) if m == 160 else 0.45) + 0.0005 * (seed % 2)

    (locality, *_) = shown.shown(question, rows_of(question, error), tmp_path)["headline"]
    assert locality["state"] != "helps", locality


def test_a_cnn_is_compared_with_an_fcn_by_the_same_rule(tmp_path):
    for kind in KINDS:
        assert [(step.without, step.given) for step in kind.priors if step.prior.count(" and ")] == [
            ("FCN", "CNN")
        ]
    question = catalogue.asked({"task": "digit-grid", "permuted": "true"})
    rows = rows_of(
        question, lambda arm, m, seed: 0.3 + 0.002 * (seed % 3) + {"LCN": 0.04, "CNN": 0.07}.get(arm, 0)
    )
    line = shown.shown(question, rows, tmp_path)["headline"][-1]
    assert (line["prior"], line["state"]) == ("CNN against FCN", "costs")
    assert line["worth"] == "7 [7, 7] points more error at m = 100"
    assert "where FCN errs on 30 %" in line["says"]


def test_an_open_end_is_said_in_words(tmp_path):
    question = catalogue.asked({"task": "signal", "m": "320"})

    def error(arm, m, seed):
        if arm == "LCN":  # at the largest size the mean is small enough, but hardly
            return 0.3 if m < 320 else 0.09 + 0.03 * (seed % 3 - 1)
        return 0.4 / (1 + (m / (10 if arm == "CNN" else 100)) ** 2) + 0.01 * (seed % 3)

    line = shown.shown(question, rows_of(question, error), tmp_path)["headline"][1]
    answers = question.answers(table_of(question, rows_of(question, error)))
    (answer,) = [each for each in answers if (each.prior, each.kind) == ("weight sharing", "factor")]
    assert answer.high == float("inf") and answer.low > 1 and answer.value > 1, "the case that is meant"
    assert re.fullmatch(r"about [0-9.]+×, at least [0-9.]+× fewer examples", line["worth"])
    assert "saves a factor of about" in line["says"] and "∞" not in str(line)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_task_is_told_as_the_switches_stand(kind, tmp_path):
    plain = kind()
    assert plain.heading() == kind.title
    for knob in kind.knobs:
        for value in kind.choices(knob.name):
            other = kind(**{knob.name: value})
            changed = bool(knob.so) and value != getattr(plain, knob.name)
            assert (other.heading() != plain.heading()) == (other.about() != plain.about()) == changed, knob
            assert other.heading().endswith("?") and other.about()[-1] in ".?"
        assert bool(knob.so) >= (bool(knob.breaks) and knob.name != "pooling"), "a broken prior is told"
    stays = shown.shown(catalogue.asked({"task": "signal", "place": "stays"}), {}, tmp_path)
    assert "The first patch holds" in stays["about"] and "at random" not in stays["about"]
    assert stays["heading"].endswith("everywhere if it stays in the first patch?")
    torn = catalogue.asked({"task": "bits", "permuted": "true"})
    assert "neighbouring" not in torn.about() and "blue ones are on" in torn.about()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_target_is_a_line_in_the_figure(kind):
    spec = shown.shown(kind(), {}, None)["chart"]
    for drawing in (spec["spec"], spec["print"]):
        wanted = {"datum": kind.reach, "axis": {"grid": True}}
        marks = [layer for layer in drawing["layer"] if layer.get("encoding", {}).get("y") == wanted]
        assert [mark["mark"]["type"] for mark in marks] == ["rule", "text"]
        assert marks[0]["mark"]["strokeDash"]
        assert marks[1]["mark"]["text"] == f"test error {kind.reach:g}, where factors are read"


def test_every_network_is_explained():
    for told in catalogue.questions()["questions"]:
        kind = question_of(told["task"])
        assert [name for name, _ in told["networks"]] == list(kind().contestants())


def question_of(task) -> Any:
    return type(catalogue.asked({"task": task}))


def test_networks_on_digits_have_as_many_units_and_differ_in_what_these_see():
    arms = question_of("digits")().contestants()
    (dense,) = arms["FCN"][0]["widths"]
    places = (8 - 3 + 1) ** 2
    assert [arms[name][0]["channels"][0] * places for name in ("LCN", "CNN")] == [dense, dense]


def test_failed_trials_are_counted_and_not_drawn(tmp_path):
    question = catalogue.asked({"task": "bits"})
    rows = rows_of(question, lambda arm, m, seed: 0.2)
    key = next(iter(rows))
    rows[key] = replace(rows[key], status="failed", result={}, error="no memory")
    view = shown.shown(question, rows, tmp_path)
    assert view["failed"] == 1 and len(view["chart"]["data"]["runs"]) == len(rows) - 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_chart_is_drawn_once_and_its_rows_are_replaced(kind, tmp_path):
    question = kind()
    empty = shown.shown(question, {}, tmp_path)["chart"]
    full = shown.shown(question, rows_of(question, lambda arm, m, seed: 0.3), tmp_path)["chart"]
    assert empty["spec"] == full["spec"] and empty["id"] == full["id"]
    assert set(full["data"]) == {"runs", "means", "strips"} and all(full["data"].values())
    assert not any(empty["data"].values())
    text = json.dumps(full["spec"])
    assert all(f'"name": "{name}"' in text for name in full["data"]) and '"values": [{' not in text
    colours = [
        (arm["color"], arm["shape"], tuple(arm["dash"]))
        for arm in full["spec"]["usermeta"]["whyconv"]["arms"]
    ]
    assert len(set(colours)) == len(colours), "every network has a style of its own"


def test_the_shifted_test_is_the_same_trials_with_another_column(tmp_path):
    plain, moved = (catalogue.asked({"task": "digits", "shift": shift}) for shift in ("0", "1"))
    rows = rows_of(plain, lambda arm, m, seed: 0.4)
    assert shown.shown(moved, rows, tmp_path)["done"] == len(rows)
    assert shown.shown(moved, rows, tmp_path)["chart"]["data"]["means"][0]["mean"] == pytest.approx(0.2)


def test_tokens_are_compared_in_constant_time_and_belong_to_one_server(monkeypatch):
    mine, other = safety.Pass(8000), safety.Pass(8001)
    assert mine.token != other.token and mine.cookie != other.cookie and not other.fits(mine.token)
    headers = [("host", "127.0.0.1:8001"), ("cookie", f"{other.cookie}={mine.token}")]
    assert other.refusal("GET", other.path, "", headers)[0] == 401
    headers[1] = ("cookie", f"{other.cookie}={other.token}")
    assert other.refusal("GET", other.path, "", headers)[0] == 200
    assert other.refusal("GET", mine.path, "", headers)[0] == 401
    compared = []
    monkeypatch.setattr(safety.hmac, "compare_digest", lambda *pair: compared.append(pair) or True)
    assert mine.fits("x") and compared == [(b"x", mine.token.encode())]


def test_a_browser_is_started_with_a_code_that_opens_the_page_once():
    mine = safety.Pass(8000)
    code = mine.first_visit.partition("token=")[2]
    host = [("host", "127.0.0.1:8000")]
    assert code != mine.token
    assert mine.refusal("GET", "/", f"token={code}x", host)[0] == 401
    assert mine.refusal("GET", f"{mine.path}api/questions", f"token={code}", host)[0] == 401
    assert mine.refusal("GET", "/", f"token={code}", host)[0] == 200
    assert mine.refusal("GET", "/", f"token={code}", host)[0] == 401, "whoever reads it later is late"
    assert mine.refusal("GET", "/", f"token={mine.token}", host)[0] == 200
    assert not mine.fits(code), "it is no cookie"


def test_a_report_runs_in_an_origin_of_its_own(tmp_path):
    asked = Asked(None, more={"report": "<h1>Report</h1>"})
    desk = SimpleNamespace(asked={asked.id: asked})
    server = app.Server(Known(tmp_path), cast(Any, desk), safety.Pass(1))
    answer = asyncio.run(server.report(cast(Any, SimpleNamespace(path_params={"id": asked.id}))))
    policy = answer.headers["content-security-policy"]
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy.split(";"))
    assert rules["sandbox"] == "allow-scripts allow-downloads"
    assert rules["default-src"] == rules["form-action"] == rules["frame-ancestors"] == "'none'"
    assert "connect-src" not in rules and "http" not in policy and "'self'" not in policy


def test_rows_are_not_read_again_while_some_are_being_added(tmp_path, monkeypatch):
    known, read = Known(tmp_path), []
    monkeypatch.setattr(known, "refresh", lambda: read.append(1))
    desk = SimpleNamespace(busy=True)
    server = app.Server(known, cast(Any, desk), safety.Pass(1))
    request = cast(Any, SimpleNamespace(query_params={"task": "bits"}, headers={}))
    asyncio.run(server.saved(request))
    asyncio.run(server.spec(request))
    assert not read
    desk.busy = False
    asyncio.run(server.saved(request))
    assert read


def run_of(study, preset="quick"):
    return cast(Any, SimpleNamespace(study=study, preset=preset))


def test_a_run_keeps_its_number_when_others_come():
    first, more, other = (
        run_of(catalogue.asked({"task": "bits", **settings}))
        for settings in ({}, {"seeds": "9"}, {"permuted": "true"})
    )
    (number,) = folder._latest([first])
    assert list(folder._latest([other, first])) == [next(iter(folder._latest([other]))), number]
    assert folder._latest([first, other, more])[number] is more and len(folder._latest([first, more])) == 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_run_of_a_question_is_listed_with_its_answers(kind, tmp_path):
    question = small(kind)
    rows = rows_of(question, lambda arm, m, seed: 0.3 + 0.01 * (seed + len(arm)))
    run = Run(question, question.plan({}), rows, tmp_path, "", "quick")
    assert run.unfit == "" and run.answers and run.verdict == "shown"


def test_problems_of_a_run_are_said_once(tmp_path):
    class Odd:
        study = SimpleNamespace(name="odd")
        progress, changes, verdict = "", (), "shown"

        @property
        def answers(self):
            raise ValueError("odd rows")

    here = folder.Folder(tmp_path)
    here._runs, here._stamp = {"1": cast(Any, Odd())}, here._known.stamp()
    told = [here.worths()["problems"] for _ in range(2)]
    assert told == [["odd: ValueError: odd rows."]] * 2


def test_two_names_or_sites_in_one_request_are_refused():
    given = safety.Pass(8000)
    good = ("host", "127.0.0.1:8000")
    cookie = ("cookie", f"{given.cookie}={given.token}")
    assert given.refusal("GET", given.path, "", [good, cookie])[0] == 200
    assert given.refusal("GET", given.path, "", [good, ("host", "evil.example"), cookie])[0] == 421
    ours, evil = ("origin", "http://127.0.0.1:8000"), ("origin", "http://evil.example")
    assert given.refusal("GET", given.path, "", [good, ours, cookie])[0] == 200
    for pair in ((ours, evil), (evil, ours), (("sec-fetch-site", "cross-site"), ("sec-fetch-site", "none"))):
        assert given.refusal("GET", given.path, "", [good, *pair, cookie])[0] == 403


def test_a_saved_page_holds_the_questions_with_rows_and_nothing_from_elsewhere(tmp_path):
    known = Known(tmp_path)
    question = catalogue.asked({"task": "bits"})
    broken = catalogue.asked({"task": "bits", "permuted": "true"})
    for each in (question, broken):
        known.rows |= rows_of(each, lambda arm, m, seed: 0.1)
    known.asked = [broken.canonical(), {"name": "page.bits", "n": 7}, {"name": "brutzkus.fig3a"}]
    text = saving.saved(question, known)
    data = json.loads(text.partition('id="saved">')[2].partition("</script>")[0])
    assert "--out" not in str(data) and str(tmp_path) not in text
    assert set(data["views"]) == {shown.address(question), shown.address(broken)}
    text = unescape(text.replace(str(saving.script(assets.vega())), ""))
    assert "default-src 'none'" in text and 'src="' not in text and '<link rel="stylesheet"' not in text
    assert "import " not in saving.bundled().replace("import(", "") and "token" not in data
