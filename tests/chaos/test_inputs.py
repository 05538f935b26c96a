"""Bad and odd command lines: a bounded form of ``python tests/chaos/inputs.py``, and its judge judged."""

import pytest
import typer
from bad_words import Line, line
from inputs import World, _ill_told, run

from whyconv import registry

NEST = "[" * 2000
"""Whether that is too deep to be read or only lacks its end depends on the version of Python."""
RUN = ["run", "brutzkus.fig3a", "--out", "new"]
REFUSED = {
    "open brackets": ([*RUN, "--set", f"task.positions={NEST}"], "was given"),
    "nested brackets": ([*RUN, "--set", f"m={NEST}{']' * 2000}"], "nest at most 20 of them"),
    "forty brackets": ([*RUN, "--set", f"m={'[' * 40}{']' * 40}"], "nest at most 20 of them"),
    "beyond floats": ([*RUN, "--set", "task.positions=1e999"], "finite number"),
    "thousands of digits": ([*RUN, "--set", f"task.positions={'9' * 4000}"], "13288 bits"),
    "a denormal step": ([*RUN, "--set", "arms.MLP.learner.rate=1e-320"], "at least 1e-37"),
    "smaller than floats": ([*RUN, "--set", "arms.MLP.learner.rate=1e-400"], "at least 1e-37"),
    "true for one": ([*RUN, "--set", "m=[true]"], "m = [true] was given, but true and false are not numbers"),
    "true inside": ([*RUN, "--set", "task.positions=true"], "positions = true was given"),
    "true in an arm": ([*RUN, "--set", "arms.MLP.seeds=true"], "seeds = true was given"),
    "true in a free field": ([*RUN, "--set", 'arms.MLP.task={"positions": true}'], "positions = true was"),
    "a word for a number": (
        [*RUN, "--set", 'task.positions="7"'],
        'positions = "7" was given, but a text is not a number',
    ),
    "one for true": ([*RUN, "--set", "exact=1"], "exact = 1 was given, but only true and false"),
    "twice": ([*RUN, "--set", "m=40", "--set", "m=50"], "m was given twice"),
    "twice by two options": ([*RUN, "--set", "seeds=2", "--seeds", "3"], "seeds was given twice"),
    "a name twice inside": (
        [*RUN, "--set", 'task={"name": "signal", "name": "detection"}'],
        "each name once",
    ),
    "no value": ([*RUN, "--set", "m="], "--set NAME=VALUE"),
    "blank name": ([*RUN, "--set", " =3"], "--set NAME=VALUE"),
    "an arm of two lines": ([*RUN, "--set", 'arms.a\nb={"learner": "svm"}'], "the setting 'arms.a"),
    "no name of a folder": (["run", "brutzkus.fig3a", "--out", ""], "that is not empty"),
    "not UTF-8": (["run", "brutzkus.fig3a", "--out", "q\udcff"], "text in UTF-8"),
    "rows without --deep": (["verify", "rows", "--rows", "7"], "without --deep"),
    "a NUL": (["list", "a\0b"], "text in UTF-8"),
    "an option for a folder": (["run", "brutzkus.fig3a", "--out", "--json"], "write ./--json"),
    "batches of nonsense": (["run", "malach.fig4", "--set", "task.batches=[[1]]"], "name some of"),
    "a file too large": (["list", "--load", "huge.py"], "21,474,836,480 bytes"),
    "a fifo to load": (["list", "--load", "fifo"], "not a plain file"),
    "a file that interrupts": (["list", "--load", "keyboard.py"], "could not be loaded: KeyboardInterrupt"),
    "an exception without words": (["list", "--load", "silent.py"], "could not be loaded: Odd"),
    "a piece with a number for a name": (["list", "--load", "number.py"], "names a network 3"),
    "a billion bits": (["exact", "gradient", "--n", "1000000000"], "at most 1,000,000"),
    "a parity of half the bits": (["exact", "gradient", "--n", "10000", "--k", "5000"], "times what it does"),
    "Krawtchouk of many bits": (
        ["exact", "gradient", "--n", "200000", "--weights", "signs", "--activation", "relu"],
        "at most 90,000",
    ),
    "an exponent of nine digits": (["exact", "gradient", "--bias", "1e999999999"], "of ordinary size"),
}


@pytest.fixture(scope="module")
def world():
    with World() as made:
        yield made


@pytest.mark.long
def test_three_hundred_inputs_leave_no_traceback_and_nothing_behind():
    found = run(300)
    assert found["bad"] == []
    counts = found["counts"]
    assert (
        counts["inputs"] == 300 == sum(number for name, number in counts.items() if name.startswith("exit"))
    )
    assert counts["exit 2"] > 150 and counts["exit 0"] > 20


@pytest.mark.parametrize("case", REFUSED)
def test_what_was_taken_or_ended_in_a_traceback_is_refused(case, world):
    words, told = REFUSED[case]
    answer, problems = world.judge(Line(case, words, {}))
    assert problems == []
    assert answer.code == 2 and told in answer.err


@pytest.mark.parametrize("value", [".5", "+0.5", "5e-1", "0.5"])
def test_usual_ways_to_write_a_number_are_taken(value, world):
    answer, problems = world.judge(
        Line("", ["run", "lahoti.vary-k", "--out", "new", "--set", f"task.sigma={value}"], {})
    )
    assert answer.code == 0 and problems == []


def test_a_number_is_always_the_same_input():
    assert line(7) == line(7)
    assert len({str(line(index)) for index in range(200)}) > 190


def test_every_command_is_tried():
    tried = {tuple(line(index).words[:2]) for index in range(2000)}
    for words in (
        ("exact", "sizes"),
        ("exact", "gradient"),
        ("data", "fetch"),
        ("data", "verify"),
        ("verify", "rows"),
    ):
        assert words in tried


def test_the_judge_sees_what_is_bad(world, monkeypatch):
    def names(code):
        def act():
            if code is None:
                raise KeyError("a bug")
            (world.root / "above" / "work" / "file").write_text("changed")
            raise typer.Exit(code)

        monkeypatch.setattr(registry, "everything", act)
        return {name for name, _ in world.judge(Line("", ["list"], {}))[1]}

    assert names(None) == {"traceback"}
    assert names(0) == {"left behind"}
    assert names(2) == {"left behind", "ill told"}
    assert names(7) == {"odd exit", "left behind"}
    for err in (
        "whyconv: a.\nwhyconv: b.\n",
        "whyconv: no stop\n",
        "oh.\n",
        f"whyconv: {'x' * 700}.\n",
        "whyconv: \x1b.\n",
    ):
        assert _ill_told(err, many=False)
    assert not _ill_told("whyconv: good.\n", many=False)


def test_a_stopped_run_goes_on(tmp_path):
    state = tmp_path / "state.json"
    run(5, state=state)
    again = run(12, state=state)
    assert again["next"] == 12
    assert again["counts"] == run(12)["counts"]
