"""A study's own tables and the means of its outcome, wherever they are shown; and what trials took."""

import json
import math

import pandas as pd
import pytest
from runner_fakes import FakeGrid, options, row, trial

from whyconv.api import open_runs
from whyconv.cli import terminal
from whyconv.cli.json_output import json_text, run_as_data
from whyconv.report.assemble import section
from whyconv.report.html import Page, render
from whyconv.runner.coordinator import complete
from whyconv.runs import Run
from whyconv.studies import Judgement
from whyconv.verdict import Evidence

TITLE = "Examples needed [m*]"


class Telling(FakeGrid):
    """Tells what it found, in its own words."""

    outcome = "value"

    def judge(self, table):
        return Judgement(Evidence("consistent"), Evidence("fails"))

    def figures(self, table):
        return {}

    def tables(self, table):
        ends = {"low": [0.5, math.nan, -math.inf], "seconds": [float(len(table)), 2.0, math.inf]}
        return {
            TITLE: pd.DataFrame({"arm": ["a", "b", "c"], "m*": ["421 [380, 460]", "> 1000", None], **ends})
        }


Telling.name = "telling"


@pytest.fixture
def done(tmp_path):
    study = Telling(seeds=2)
    points = study.plan({})
    return Run(study, points, {p.trial.key: row(p.trial) for p in points}, tmp_path, "whyconv run telling")


def test_a_run_has_the_tables_and_none_before_a_trial_has_finished(done, tmp_path):
    assert done.tables[TITLE]["seconds"][0] == 4
    assert Run(done.study, done.points, {}, tmp_path, "").tables == {}
    assert Run(FakeGrid(), done.points, done.rows, tmp_path, "").tables == {}


def test_means_are_those_of_the_outcome(done):
    wanted = [row(trial(m=10, seed=seed)).result["value"] for seed in (0, 1)]
    assert done.summary["mean"][0] == pytest.approx(sum(wanted) / 2)


def test_json_has_nothing_but_finite_numbers(done):
    def refuse(name):
        raise AssertionError(name)

    told = json.loads(json_text(run_as_data(done)), parse_constant=refuse)
    assert told["outcome"] == "value"
    assert told["tables"][TITLE] == [
        {"arm": "a", "m*": "421 [380, 460]", "low": 0.5, "seconds": 4.0},
        {"arm": "b", "m*": "> 1000", "low": None, "seconds": 2.0},
        {"arm": "c", "m*": None, "low": None, "seconds": None},
    ]


def test_json_has_no_infinity_among_the_numbers_either(done, monkeypatch):
    numbers = {"exponent": math.inf, "gap": 0.5, "told": "inf"}
    judged = Judgement(Evidence("consistent", numbers), Evidence("fails"))
    monkeypatch.setattr(Telling, "judge", lambda self, table: judged)
    assert json.loads(json_text(run_as_data(done)))["numbers"] == {
        "exponent": None,
        "gap": 0.5,
        "told": "inf",
    }
    assert json.loads(json_text([{"numbers": {"low": -math.inf}}])) == [{"numbers": {"low": None}}]


@pytest.fixture
def once(tmp_path):
    """A run with one seed."""
    study = Telling(seeds=1)
    points = study.plan({})
    return Run(study, points, {p.trial.key: row(p.trial) for p in points}, tmp_path, "whyconv run telling")


def test_one_repetition_has_no_interval(once, capsys):
    terminal.print_means(once)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert " ".join(lines[0]) == "Value of one repetition: no intervals"
    assert [line[3:] for line in lines[1:]] == [["low", "high", "count"], ["–", "–", "1"], ["–", "–", "1"]]


def test_one_repetition_asks_for_more_seeds_and_raises_no_alarm(once, done, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    neither = Judgement(Evidence("undecided"), Evidence("undecided"))
    monkeypatch.setattr(Telling, "judge", lambda self, table: neither)
    for run, words in ((once, "more seeds are needed."), (done, "its threshold; more seeds may decide.")):
        terminal.print_judgement(run)
        said = capsys.readouterr().out
        assert words in said and "did not change the verdict" not in said
    both = Judgement(Evidence("fails"), Evidence("fails"))
    monkeypatch.setattr(Telling, "judge", lambda self, table: both)
    terminal.print_judgement(Run(once.study, once.points, once.rows, once.out, ""))
    assert "control: did not change the verdict" in capsys.readouterr().out


def test_a_run_whose_only_trial_failed_has_no_means_and_no_verdict(tmp_path, capsys):
    study = Telling(seeds=1, ms=(10,))
    points = study.plan({})
    failed = {p.trial.key: row(p.trial, status="failed", result={}, error="no luck") for p in points}
    run = Run(study, points, failed, tmp_path, "whyconv run telling")
    terminal.print_means(run)
    terminal.print_judgement(run)
    assert "1 trial failed, so there is no verdict." in capsys.readouterr().out


def test_plain_output_is_aligned_and_never_broken(done, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    terminal.print_means(done)
    assert capsys.readouterr().out.splitlines()[0] == "Mean value with 95 % intervals"
    terminal.print_tables(done.tables)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "",
        "Examples needed [m*]",
        "arm  m*               low  seconds",
        "a    421 [380, 460]   0.5        4",
        "b    > 1000             –        2",
        "c    –               -inf      inf",
    ]


def test_a_narrow_terminal_wraps_headers_and_puts_columns_below(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "32")
    monkeypatch.setattr(terminal.Console, "__init__", _colourless(terminal.Console.__init__))
    frame = pd.DataFrame(
        {"arm": ["CNN", "LCN"], "linear filter": [0.5, 0.25], "m*": ["421 [380, 460]", "> 9"]}
    )
    terminal.print_table(frame.assign(repetitions=5))
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "     linear",
        "arm  filter  m*",
        "CNN     0.5  421 [380, 460]",
        "LCN    0.25  > 9",
        "arm  repetitions",
        "CNN            5",
        "LCN            5",
    ]


def _colourless(init):
    return lambda self, **more: init(self, **{**more, "no_color": True, "color_system": None})


def test_tables_of_no_lines_or_columns_can_be_printed(capsys):
    terminal.print_table(pd.DataFrame({"arm": []}))
    terminal.print_table(pd.DataFrame())
    assert capsys.readouterr().out.split() == ["arm"]


def test_the_page_shows_them_open_below_the_figures(done):
    text = render(Page("t", sections=[section(done)]))
    assert TITLE in text
    assert text.index(TITLE) < text.index("Mean value with 95 % intervals") < text.index("Settings")
    assert '<td data-label="m*">421 [380,\xa0460]</td>' in text and text.count('">–</td>') == 2
    assert '">∞</td>' in text
    assert "<details" not in text[: text.index(TITLE)]


# -- seconds ------------------------------------------------------------------------------------------


def test_rows_know_what_they_took_also_when_opened_again(tmp_path):
    study = FakeGrid(seeds=2, sleep=0.02)
    summary = complete(study, tmp_path, options())
    (opened,) = open_runs(tmp_path)
    assert all(each.seconds >= 0.02 for each in summary.rows.values())
    assert {key: each.seconds for key, each in opened.rows.items()} == {
        key: each.seconds for key, each in summary.rows.items()
    }
    assert opened.table["seconds"].tolist() == [
        summary.rows[point.trial.key].seconds for point in summary.points
    ]
    again = complete(study, tmp_path, options())
    assert again.rows == summary.rows
    assert [each.seconds for each in again.rows.values()] == [each.seconds for each in summary.rows.values()]


def test_a_table_has_seconds_where_they_are_known(tmp_path):
    study = FakeGrid(ms=(10,), seeds=2)
    points = study.plan({})
    first, second = (point.trial for point in points)
    assert "seconds" not in study.table(points, {first.key: row(first)})
    mixed = study.table(points, {first.key: row(first, seconds=1.5), second.key: row(second)})
    assert mixed["seconds"][0] == 1.5 and math.isnan(mixed["seconds"][1])
    own = row(first, result={"seconds": 7.0}, seconds=1.5)
    assert study.table(points, {first.key: own})["seconds"].tolist() == [7.0]


def test_equal_rows_may_have_taken_different_times():
    assert row(trial(), seconds=1.0) == row(trial(), seconds=2.0) == row(trial())
    assert row(trial(), seconds=1.0) != row(trial(seed=1), seconds=1.0)
