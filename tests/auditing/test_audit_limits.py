"""What an audit may take: minutes from when they began, workers within memory; and what a refusal leaves."""

import time
from dataclasses import replace

import numpy as np
import pytest
from test_audit import small

import whyconv
from whyconv import system
from whyconv.auditing import run
from whyconv.auditing.asking import allowed_workers
from whyconv.auditing.bad_data import BadData
from whyconv.errors import UserError
from whyconv.paths import run_folder, use_run_folder
from whyconv.runner.fit import ANYWAY


@pytest.fixture
def refused(monkeypatch):
    """The options with which rows were asked for; there is no room for any."""
    seen = []

    def complete(study, folder, options, watch, place):
        seen.append(options)
        raise UserError(f"workers = 2 would need 9 GB; give at most 1, {ANYWAY}")

    monkeypatch.setattr(run, "complete", complete)
    before = run_folder()
    yield seen
    use_run_folder(before)


def test_the_time_before_the_call_counts(refused, tmp_path):
    for before in (0.0, 100.0):
        with pytest.raises(BadData):
            run.audit(small()[0], since=time.monotonic() - before, out=tmp_path / "a")
    whole, less = (options.seconds for options in refused)
    assert whole - less == pytest.approx(100, abs=2) and whole == pytest.approx(297, abs=2)


def test_a_refusal_names_no_option_that_there_is_not_and_leaves_nothing(refused, tmp_path):
    with pytest.raises(BadData) as error:
        run.audit(small()[0], out=tmp_path / "new" / "place")
    assert str(error.value) == "workers = 2 would need 9 GB; give at most 1."
    assert not list(tmp_path.iterdir())
    (tmp_path / "mine").mkdir()
    with pytest.raises(BadData):
        run.audit(small()[0], out=tmp_path / "mine")
    assert [path.name for path in tmp_path.rglob("*")] == ["mine"], "what was there stays"


def test_memory_caps_the_workers_that_were_asked_for(monkeypatch):
    monkeypatch.setattr(system, "cores", lambda: 4)
    assert allowed_workers(None, None) is None and allowed_workers(3, None) == 3
    assert allowed_workers(3, 1.4) == 2 and allowed_workers(None, 1.4) == 2
    assert allowed_workers(1, 9.0) == 1 and allowed_workers(2, 0.1) == 1
    for bad in (0, -1, 5):
        with pytest.raises(BadData, match="one for each core"):
            allowed_workers(bad, None)


BAD = {
    "no minutes": ({"minutes": 0}, "minutes = 0 was given"),
    "minutes of words": ({"minutes": "5"}, "minutes = 5 was given"),
    "memory below nothing": ({"memory": -1}, "memory = -1 was given"),
    "a target of words": ({"target": "low"}, "the target low was given"),
    "half a worker": ({"workers": 0.5}, "0.5 workers were given"),
    "a grid of one number": ({"grid": 5}, "the grid 5 was given"),
    "an arm in words": ({"arms": "FCN,RNN"}, "no arm 'RNN'"),
    "series of unequal lengths": ({"lengths": "stretch"}, "choose pad or cut"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_a_value_error_in_python(name, tmp_path):
    options, words = BAD[name]
    x, y = np.random.default_rng(0).standard_normal((80, 12)), np.arange(80) % 2
    with pytest.raises(ValueError, match=words) as error:
        whyconv.audit(x, y, **{"out": tmp_path / "a", **options})
    assert "\n" not in str(error.value) and not list(tmp_path.iterdir())


def test_a_name_is_no_path(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seen = []
    monkeypatch.setattr(run, "keep", lambda dataset, folder, name: seen.append(folder.name))
    with pytest.raises(BadData):
        run.audit(replace(small()[0], name="../../mine"))
    assert seen[0].startswith("..-..-mine-")
