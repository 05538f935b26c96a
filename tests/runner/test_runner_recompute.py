"""Rows computed again: the same to the byte, or named."""

import random

import pytest
from runner_fakes import FakeGrid, options, row, trial

from whyconv.errors import UserError
from whyconv.runner import environment
from whyconv.runner.coordinator import complete
from whyconv.runner.recompute import FAILED, OTHER_ENVIRONMENT, OTHER_VERSION, UNKNOWN, recompute
from whyconv.runner.store import Store


@pytest.fixture
def folder(tmp_path):
    complete(FakeGrid(does=("work", "raise"), ms=(10,), seeds=3), tmp_path / "out", options())
    return tmp_path / "out"


def test_rows_come_out_the_same(folder):
    seen = []
    found = recompute(folder, 2, chance=random.Random(0), watch=seen.append, options=options())
    assert (len(found.same), found.problems, found.left_out) == (2, (), {FAILED: 3})
    assert sorted(seen) == sorted(found.same)
    assert len(recompute(folder, 99, options=options()).same) == 3


def test_a_row_with_other_numbers_is_named(folder):
    """Sealed and all: only computing it again can tell."""
    name = environment.identity(environment.describe())
    result = {**row(trial(seed=1)).result, "third": 0.25}
    with Store.open(folder) as store:
        store.put(row(trial(seed=1), environment=name, result=result), 0.1)
        store.put(row(trial(seed=2), environment=name, trace={"loss": [0.5]}), 0.1)
        assert store.verify() == []
    found = recompute(folder, 3, options=options())
    assert set(found.problems) == {
        f"row {trial(seed=1).key}: computed again, it differs in third.",
        f"row {trial(seed=2).key}: computed again, it differs in the trace loss.",
    }
    assert found.same == [trial(seed=0).key]


def test_rows_that_cannot_be_compared_are_left_out_and_counted(folder):
    unknown = trial(seed=7)
    with Store.open(folder) as store:
        store.put(row(trial(seed=0), environment="f" * 16), 0.1)
        spec = {**unknown.canonical(), "task": {"name": "not-here"}}
        from whyconv.spec import digest

        identity = {"spec": spec, "stem": digest(spec)[:32]}
        key = digest({"spec": spec, "versions": unknown.versions})[:32]
        store.put(row(unknown, **identity, key=key), 0.1)
        versions = {**unknown.versions, "trial": "0"}
        key = digest({"spec": unknown.canonical(), "versions": versions})[:32]
        store.put(row(unknown, key=key, versions=versions), 0.1)
    left_out = recompute(folder, 3, options=options()).left_out
    assert left_out == {FAILED: 3, OTHER_ENVIRONMENT: 1, UNKNOWN: 1, OTHER_VERSION: 1}


def test_no_rows_at_all_is_refused(folder):
    with pytest.raises(UserError, match="at least 1"):
        recompute(folder, 0)
