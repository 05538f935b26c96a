"""What a run says: one of a thing is singular."""

import io
import re
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from rich.console import Console

from whyconv import api, progress
from whyconv.cli import main as cli
from whyconv.cli import terminal
from whyconv.learners import Cost
from whyconv.runner.events import Finished, Interrupted, Planned, PutBack
from whyconv.runner.forecast import RATE
from whyconv.runner.store import Store
from whyconv.settings import configure
from whyconv.trial import Row


class Quiet:
    """As much of a study as the progress of a run asks for."""

    adaptive = False

    def data(self):
        return ""


def lasting(*minutes):
    """Trials that take so many minutes, as far as a forecast asks."""
    return tuple(
        SimpleNamespace(
            key=str(place), m=1, network=None, form=None, program="p", streams=False,
            task=SimpleNamespace(shape=()),
            learner=SimpleNamespace(cost=lambda *_, flops=60 * RATE * each: Cost(flops, 2 * flops, 0.0)),
        )
        for place, each in enumerate(minutes)
    )  # fmt: skip


def said(capsys, planned, done, adaptive=False):
    """What is said of a plan, whose new trials take no time unless given, and of a trial that ends."""
    study, planned = Quiet(), replace(planned, new=planned.new or lasting(0))
    study.adaptive = adaptive
    with progress.Progress(study) as watcher:
        watcher.watch(planned)
        watcher.watch(Finished({}, planned.new[0].key, "ok", 1.0, "", done, planned.total))
    return capsys.readouterr().err


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def test_one_trial_on_one_worker(capsys):
    told = said(capsys, Planned(1, 0, 0, {"never run": 1}, 0), 1)
    assert told.splitlines()[0] == "1 trial: 0 reused; 1 new (never run)."
    assert " if nothing stops early), " in told
    assert told.splitlines()[-1] == "1 of 1 trial, done."


def test_one_failed_and_one_from_elsewhere(capsys):
    told = said(capsys, Planned(3, 2, 1, {"never run": 1}, 1), 3)
    assert told.splitlines()[0] == (
        "3 trials: 2 reused; 1 new (never run); 1 of the reused failed before (--retry-failed runs it "
        "again); 1 of the 2 reused comes from another environment, "
        "and --strict-environment computes it again."
    )
    told = said(capsys, Planned(5, 4, 2, {"never run": 1}, 2), 5)
    assert "2 of the reused failed before (--retry-failed runs them again)" in told
    assert "2 of the 4 reused come from another environment, and" in told
    assert told.endswith("5 of 5 trials, done.\n")
    many = tuple(f"python: {i}, here 0" for i in range(1, 9))
    told = said(capsys, Planned(5, 4, 0, {"never run": 1}, 2, differences=many), 5)
    assert "environment (python: 1, here 0; python: 2, here 0; " in told
    assert "python: 6, here 0; 2 more), and --strict-environment computes them again." in told


def test_a_trial_that_is_put_back_is_told_as_it_is(capsys):
    with progress.Progress(Quiet()) as watcher:
        watcher.watch(PutBack({"arm": "[/red]"}, "key", "worker died: killed by SIGKILL"))
    told = capsys.readouterr().err
    assert told == "put back, to be tried again: arm [/red]: worker died: killed by SIGKILL\n"


@pytest.mark.parametrize(
    ("left", "words"),
    [(0, "About 8 s on 1 worker"), (9, "About 10 min on 1 worker (20 min if nothing stops early)")],
)
def test_a_run_that_goes_on_takes_the_time_of_the_trials_left(capsys, left, words):
    trials = lasting(*[0] * 9, 10)
    kept = frozenset(trial.key for trial in trials) - {str(left)}
    plan = Planned(10, 9, 0, {"never run": 1}, 0, (trials[left],), kept)
    assert words in said(capsys, plan, 10)


def test_an_adaptive_run_counts_what_is_to_follow(capsys):
    trials = lasting(1, 1, 1, 1, 6, 8)
    plan = Planned(3, 2, 0, {"never run": 1}, 0, (trials[2],), frozenset("01"), trials)
    told = said(capsys, plan, 3, adaptive=True)
    assert "; adaptive: about 6 expected in all." in told
    assert "About 16 min on 1 worker (32 min if nothing stops early)" in told


@pytest.mark.parametrize(("verdict", "code"), [("shown", "\x1b[39m"), ("fails", "\x1b[31m")])
def test_what_is_only_shown_is_not_red(verdict, code, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    study = SimpleNamespace(name="paper.fig1", title="A figure")
    run = SimpleNamespace(
        judgement=None,
        verdict=verdict,
        study=study,
        variant="",
        answer="A.",
        conclusion="C.",
        control_said="",
    )
    terminal.print_verdicts([], [run])
    assert capsys.readouterr().out.splitlines()[0].startswith(code + verdict)


@pytest.mark.parametrize(
    ("done", "total", "words"),
    [
        (0, 1, "0 of 1 trial is"),
        (1, 4, "1 of 4 trials is"),
        (2, 4, "2 of 4 trials are"),
        (0, 4, "0 of 4 trials are"),
    ],
)
def test_an_interrupted_run(done, total, words):
    assert str(Interrupted(done, total)).startswith(f"interrupted: {words} done and kept;")


def decided(name, verdict):
    return {
        "claim": name, "statement": "True.", "source": "a paper", "verdict": verdict, "expected": "holds",
        "control": "broken", "control_verdict": "fails", "numbers": {}, "seconds": 0.0,
        "traceback": "", "controls": [{"control": "broken", "verdict": "fails"}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        (["holds"], "1 of 1 claim as recorded, with a control that flips it."),
        (["vacuous"], "0 of 1 claim as recorded."),
        (["holds", "fails"], "1 of 2 claims as recorded, each with a control that flips it."),
    ],
)
def test_the_last_line_of_a_check(verdicts, words, capsys, monkeypatch):
    claims = [decided(f"c{place}", verdict) for place, verdict in enumerate(verdicts)]
    monkeypatch.setattr(api, "check", lambda *arguments, **options: claims)
    try:
        cli.check()
    except cli.typer.Exit as left:
        assert left.exit_code == 1
    assert capsys.readouterr().out.splitlines()[-1] == words


def printed(frame, width, monkeypatch):
    """The lines of a table in a terminal of this width."""
    into = io.StringIO()
    console = Console(file=into, width=width, force_terminal=True, no_color=True)
    monkeypatch.setattr(terminal, "Console", lambda: console)
    terminal.print_table(frame)
    return [re.sub(r"\x1b\[[\d;]*m", "", line).rstrip() for line in into.getvalue().splitlines()]


def test_columns_of_words_stay_side_by_side_in_80_columns(monkeypatch):
    words = "one two three four five six seven eight nine ten"
    frame = pd.DataFrame({name: [words] for name in ("what", "first", "second")})
    head, *lines = printed(frame, 80, monkeypatch)
    assert head.split() == ["what", "first", "second"] and len(lines) > 1 and max(map(len, lines)) <= 80
    assert sorted(" ".join(lines).split()) == sorted(3 * words.split())
    many = pd.DataFrame({f"column{place}": ["x" * 20] for place in range(6)})
    assert sum(line.startswith("column0") for line in printed(many, 80, monkeypatch)) > 1, "what cannot fit"


def test_verify_of_one_row(capsys, tmp_path):
    trial = configure("brutzkus.fig3a").plan({})[0].trial
    with Store.open(tmp_path) as store:
        here = store.record_environment({"python": "3"})
        row = Row(trial.key, trial.stem, trial.canonical(), trial.versions, "ok", environment=here)
        store.put(row, 0.1)
    cli.verify(tmp_path)
    assert capsys.readouterr().out.startswith("1 row, all intact. ")


def test_checks_are_announced_now_and_then_where_there_is_no_terminal(capsys, monkeypatch):
    clock = iter([0.0, 0.0, 3.0, 10.0, 10.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(clock))
    say = terminal.announcer()
    for name in ("a", "b", "c", ""):
        say(name)
    terminal.announcer(quiet=True)("d")
    assert capsys.readouterr().err == "checking a ...\nchecking c ...\n"
