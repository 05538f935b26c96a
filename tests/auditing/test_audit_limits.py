"""What an audit may take: minutes from when they began, workers within memory; and what a refusal leaves."""

import time

import pytest
from test_audit import small

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
