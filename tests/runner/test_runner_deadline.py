"""A run with a deadline ends in time, keeps its rows, and goes on from there."""

import time

from runner_fakes import FakeGrid, completed, options

from whyconv.runner.coordinator import complete


def test_a_run_ends_in_time_and_the_next_one_goes_on(tmp_path):
    study = FakeGrid(seeds=30, sleep=0.1)
    complete(FakeGrid(seeds=1), tmp_path / "warm", options(workers=1))
    began = time.monotonic()
    summary = complete(study, tmp_path, options(seconds=2.0, workers=1))
    assert time.monotonic() - began < 5.0
    assert len(summary.points) == len(study.plan({})) and 0 < len(summary.rows) < len(summary.points)
    kept = dict(summary.rows)
    whole = completed(study, tmp_path, options(workers=1))
    assert len(whole.rows) == len(summary.points)
    assert all(whole.rows[key] == row for key, row in kept.items()), "no row was made again"


def test_without_a_deadline_everything_is_run(tmp_path):
    study = FakeGrid(seeds=2)
    assert len(complete(study, tmp_path, options()).rows) == len(study.plan({}))
