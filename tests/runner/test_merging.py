"""Rows of several folders in one: checked, never mixed up, and found by the same study."""

import sqlite3

import pytest
from runner_fakes import FakeCells, completed, options, row, trial

from whyconv.errors import UserError
from whyconv.runner import environment
from whyconv.runner.contents import Contents
from whyconv.runner.coordinator import complete
from whyconv.runner.export import export
from whyconv.runner.merging import merge
from whyconv.runner.store import Store


@pytest.fixture
def shards(tmp_path):
    """Two shards of eight trials each, by seeds, and the whole."""
    folders = [tmp_path / name for name in ("first", "second")]
    for number, folder in enumerate(folders):
        complete(FakeCells(seeds=4, first_seed=4 * number, places=4), folder, options())
    return folders


def made(folder, *rows):
    """A folder with these rows."""
    with Store.open(folder) as store:
        for each in rows:
            store.put(each, 0.25, "a traceback" if each.status == "failed" else "")
    return folder


def stored(folder):
    with Store.read(folder) as store:
        assert store.verify() == []
        return store.contents()


def test_shards_are_the_whole(tmp_path, shards):
    found = merge(shards[0], shards[1:])
    assert (found.added, found.same, found.elsewhere, found.total) == (16, 0, 0, 32)
    whole = FakeCells(seeds=8, places=4)
    assert completed(whole, shards[0], options()).ran == 0
    complete(whole, tmp_path / "once", options())
    tables = [
        {path.name: path.read_bytes() for path in export(folder).paths}
        for folder in (shards[0], tmp_path / "once")
    ]
    assert tables[0]["rows.csv"] == tables[1]["rows.csv"]
    assert tables[0]["environments.json"] == tables[1]["environments.json"]
    assert len(stored(shards[0]).runs()) == 3


def test_the_work_of_a_merge_grows_with_its_rows_alone(shards, monkeypatch):
    calls, forms = [], Contents.forms
    monkeypatch.setattr(Contents, "forms", lambda self: calls.append(1) or forms(self))
    assert merge(shards[0], shards[1:]).added == 16
    assert len(calls) < 8, "once per folder, not per row"


def test_merging_again_adds_nothing(shards):
    merge(shards[0], shards[1:])
    before = stored(shards[0]).rows()
    assert merge(shards[0], shards[1:]).added == 0
    assert stored(shards[0]).rows() == before


def test_a_failed_row_gives_way_and_a_good_one_does_not(tmp_path):
    of, failed = trial(), {"status": "failed", "result": {}, "trace": {}, "error": "no"}
    first = made(tmp_path / "a", row(of, **failed), row(trial(seed=1)))
    second = made(tmp_path / "b", row(of), row(trial(seed=1), **failed))
    found = merge(first, [second])
    assert (found.added, found.same, found.total) == (1, 1, 2)
    assert {each.status for each in stored(first).rows().values()} == {"ok"}
    assert stored(first).tracebacks() == {}


def test_rows_of_another_processor_are_left_out(tmp_path):
    first, second = made(tmp_path / "a", row(trial())), made(tmp_path / "b")
    with Store.open(second) as store:
        other = store.record_environment({**environment.describe(), "cpu": "an abacus"})
        store.put(row(trial(), environment=other, result={"value": 0.7}), 0.1)
    found = merge(first, [second])
    assert (found.added, found.elsewhere) == (0, 1)
    assert other in stored(first).environments()
    assert stored(first).rows()[trial().key] == row(trial())


def test_rows_that_contradict_each_other_are_refused_and_nothing_is_changed(tmp_path):
    first = made(tmp_path / "a", row(trial()))
    second = made(tmp_path / "b", row(trial(seed=1)), row(trial(), result={"value": 0.7}))
    with pytest.raises(
        UserError, match=f"the row {trial().key} of .*b differs from the one in .*a, though key"
    ):
        merge(first, [second])
    assert stored(first).rows().keys() == {trial().key}


def test_two_others_that_contradict_each_other_are_refused(tmp_path):
    folders = [
        made(tmp_path / name, row(trial(), result={"value": v})) for name, v in (("b", 0.1), ("c", 0.2))
    ]
    said = f"of {folders[1]} differs from the one in {folders[0]}, though key and .* same; run whyconv verify"
    with pytest.raises(UserError, match=said):
        merge(made(tmp_path / "a", row(trial(seed=1))), folders)
    assert stored(tmp_path / "a").rows().keys() == {trial(seed=1).key}


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE rows SET result = replace(result, '0.', '0.1')",
        "UPDATE rows SET key = 'x' || key",
        "DELETE FROM rows",
    ],
)
def test_a_damaged_folder_is_refused(tmp_path, damage):
    first, second = made(tmp_path / "a", row(trial())), made(tmp_path / "b", row(trial(seed=1)))
    connection = sqlite3.connect(second / "whyconv.sqlite")
    connection.execute(damage)
    connection.commit()
    connection.close()
    with pytest.raises(
        UserError, match=r"b is damaged \(.* and was not merged; run the command that made it"
    ):
        merge(first, [second])
    assert stored(first).rows().keys() == {trial().key}


def test_the_command_and_its_refusals(tmp_path, whyconv):
    first, second = made(tmp_path / "a", row(trial())), made(tmp_path / "b", row(trial(seed=1)))
    done = whyconv("merge", first, second)
    assert done.returncode == 0
    assert done.stdout == f"1 row added to {first}; no rows already there; 2 in all.\n"
    for words, said in (
        (("merge", first, first), "are the same folder; name each once"),
        (("merge", first, tmp_path / "c"), "there is no store in"),
        (("merge", tmp_path / "c", first), "there is no store in"),
    ):
        done = whyconv(*words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1) and said in done.stderr
    assert not (tmp_path / "c").exists()
