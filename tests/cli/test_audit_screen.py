"""The first screen of an audit, for results of every kind."""

import io
from dataclasses import replace

import pytest
from audit_results import digits, results

from whyconv.auditing.result import Order
from whyconv.auditing.run import Progress
from whyconv.cli import audit_screen
from whyconv.cli.audit_screen import Shown, brief, screen, show
from whyconv.report.audit_words import lead

RESULTS = results()


@pytest.mark.parametrize("name", RESULTS)
def test_no_line_is_longer_than_a_terminal_and_the_answer_comes_first(name):
    lines = screen(RESULTS[name])
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("Does the order matter?") for line in lines[:5])
    assert not any("None" in line or "nan" in line for line in lines)


def test_the_screen_of_the_pilot():
    text = "\n".join(screen(digits()))
    for words in (
        "digits1d: 5,000 series of 40 steps, 10 classes, error            4 min, 5 rounds",
        "Does the order matter?  YES  CNN + max .35 here, .63 in 39 random orders",
        "What would save examples, at an error of .44?",
        "  locality  4.3x [3.3, 5.4]     saves\n",
        "  pooling   2.7x [.80, 3.4]     undecided: the curve is flat at the end; more\n",
        "  together  13.6x [10.8, 18.3]  saves (276 examples instead of 3,750)",
        "Window: what matters lies within 9 of 40 steps",
        "Best network: CNN + global max .10   forest .23   logistic .70   majority .90",
        "More data: 7,500 would give about .080 [.070, .095]",
        "Checks: permuted FCN .94x [.81, 1.1] ok",
        "Warning: FCN still learning",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("costs", "locality  .40x [.31, .52]  costs"),
        ("no difference", "sharing   1.0x [.80, 1.3]  no difference beyond 1.5x"),
        ("no difference", "NOT SEEN"),
        ("no difference", "Window: 9 of 40 steps did best in tuning"),
        ("at least", "locality  at least 31.0x  saves"),
        ("at most", "locality  at most .30x  costs"),
        ("open", "locality  2.0x [.97, open]  undecided"),
        ("undecided", "all undecided: about 12 more rounds would decide"),
        ("noise", "all not judged: no network is better than the majority"),
        ("noise", "NOT JUDGED  no network is better"),
        ("table", "506 rows of 13 columns (words one-hot), a real target, mean squared"),
        ("images", "1,500 images of 28 x 28 pixels in colour, 10 classes, balanced error"),
        ("failed check", "Check FAILED: permuted FCN .94x [.81, 1.1]: A fully connected"),
        ("failed check", "Checks not made: permuted winner"),
        ("failed check", "Check undecided: shuffled labels"),
    ],
)
def test_every_verdict_is_told(name, words):
    assert words in "\n".join(screen(RESULTS[name]))


def test_what_is_undecided_is_not_counted_in_examples():
    (*others, together) = digits().savings
    unsure = replace(digits(), savings=(*others, replace(together, verdict="undecided")))
    assert "276 examples" in "\n".join(screen(digits())) and "276" not in "\n".join(screen(unsure))


def test_the_screen_is_plain_where_there_is_no_terminal(capsys):
    show(digits())
    assert capsys.readouterr().out.splitlines() == screen(digits())


def test_the_order_is_told_without_figures_if_there_are_none():
    unjudged = replace(digits(), order=Order("not judged", why="two features only"))
    assert "NOT JUDGED  two features only" in "\n".join(screen(unjudged))


def test_an_order_that_hurts_is_not_said_to_help():
    why = "random orders do better: neighbours say the same"
    hurts = replace(digits(), order=Order("matters", 0.05, 0.63, 0.35, 39, "CNN + max", why))
    shown = " ".join("\n".join(screen(hurts)).split())
    assert "YES CNN + max .63 here, .35 in 39 random orders (p = .05); random orders do better" in shown
    assert "did best in tuning" in shown and "what matters lies within" not in shown
    told = " ".join(lead(hurts))
    assert "networks do better in random orders" in told and "belong together" not in told


def test_the_present_answer_is_brief():
    assert brief(None) == ""
    open_end = replace(digits().savings[0], factor=None, low=4.5, high=None)
    assert "locality at least 4.5x" in brief(replace(digits(), savings=(open_end,)))
    assert brief(digits()) == (
        "order matters, locality 4.3x, sharing 2.4x, pooling 2.7x?, together 13.6x, best CNN + global max .10"
    )
    assert brief(RESULTS["noise"]) == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_shows_answer_and_time_left(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    shown = Shown()
    shown(Progress("tuning", 0.25, 170.0, digits()))
    shown.close()
    line = terminal.getvalue().split("\r\033[K")[1]
    assert line.startswith("tuning  25%, 3 min left: order matters, locality 4.3x") and len(line) < 80
    assert terminal.getvalue().endswith("\r\033[K")


def test_progress_is_a_line_now_and_then_elsewhere(monkeypatch, capsys):
    times = iter([100.0, 101.0, 102.0, 113.0])
    monkeypatch.setattr(audit_screen.time, "monotonic", lambda: next(times))
    shown = Shown()
    for phase in ("order", "order", "tuning", "tuning"):
        shown(Progress(phase, 0.5, 30.0, None))
    shown.close()
    assert (
        capsys.readouterr().err == "order  50%, 30 s left\ntuning  50%, 30 s left\ntuning  50%, 30 s left\n"
    )


def test_what_all_three_save_together_is_in_the_lead_also_without_an_upper_end():
    open_above = replace(digits().savings[3], factor=None, low=4.0, high=None, needed=None, instead_of=None)
    told = " ".join(lead(replace(digits(), savings=(*digits().savings[:3], open_above))))
    assert "Together they are worth a factor of at least 4.0 in examples." in told
