"""The same rows give the same bytes."""

import csv
import importlib.util
import random

import pytest
from runner_fakes import FakeGrid, FakeSearch, options, row, trial

from whyconv.errors import UserError
from whyconv.runner import environment
from whyconv.runner.coordinator import complete
from whyconv.runner.export import export as write
from whyconv.runner.store import Store

STUDY = FakeGrid(does=("work", "raise"), seeds=3)


def export(*given, **named):
    return write(*given, **named).paths


def bytes_of(paths):
    return {path.name: path.read_bytes() for path in paths if path.stem != "durations"}


def table_of(paths, stem):
    (path,) = (path for path in paths if path.stem.startswith(stem))
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    complete(STUDY, folder, options(workers=2, preset="quick"))
    return folder


def test_a_line_for_each_trial_in_the_order_of_the_plan(finished):
    table = table_of(export(finished), "fake-grid-quick-")
    columns = ["does", "m", "seed", "count", "third", "value", "status", "error", "key"]
    assert list(table[0]) == columns
    points = STUDY.plan({})
    assert [line["key"] for line in table] == [point.trial.key for point in points]
    good, bad = table[0], table[-1]
    assert float(good["value"]) == row(trial()).result["value"]
    assert (good["status"], good["error"]) == ("ok", "")
    assert (bad["value"], bad["status"], bad["error"]) == ("", "failed", "ValueError: a trial that fails")


def test_all_rows_sorted_by_key_and_durations_apart(finished):
    paths = export(finished)
    rows = table_of(paths, "rows")
    assert [line["key"] for line in rows] == sorted(point.trial.key for point in STUDY.plan({}))
    assert {line["environment"] for line in rows} == {environment.identity(environment.describe())}
    assert sorted(line["key"] for line in table_of(paths, "durations")) == [line["key"] for line in rows]


def test_the_number_of_workers_and_the_order_of_work_do_not_show(finished, tmp_path):
    wanted = bytes_of(export(finished))
    complete(STUDY, tmp_path / "one", options(workers=1, preset="quick"))
    assert bytes_of(export(tmp_path / "one")) == wanted
    points = STUDY.plan({})
    random.Random(1).shuffle(points)
    with Store.open(tmp_path / "shuffled") as store:
        name = store.record_environment(environment.describe())
        failed = {"status": "failed", "result": {}, "trace": {}, "error": "ValueError: a trial that fails"}
        for point in points[:7]:
            changes = failed if point.labels["does"] == "raise" else {}
            store.put(row(point.trial, environment=name, **changes), 1.0)
    complete(STUDY, tmp_path / "shuffled", options(preset="quick"))
    assert bytes_of(export(tmp_path / "shuffled")) == wanted


def test_an_unfinished_run_shows_what_is_missing(finished, tmp_path):
    with Store.open(tmp_path) as store:
        store.put(row(trial(seed=1)), 1.0)
        store.record_run(STUDY, "quick", [], "")
    table = table_of(export(tmp_path), "fake-grid-quick-")
    assert [line["status"] for line in table].count("missing") == 11
    assert table[1]["status"] == "ok"


def test_every_run_has_its_table(tmp_path):
    for study, preset in ((STUDY, "quick"), (FakeGrid(seeds=1), ""), (FakeSearch(seeds=2), "quick")):
        summary = complete(study, tmp_path, options(preset=preset))
    paths = export(tmp_path)
    assert len(paths) == 6
    assert len(table_of(paths, "fake-search-quick-")) == len(summary.points)


def test_text_that_is_no_text_is_written_all_the_same(tmp_path):
    complete(FakeGrid(does=("surrogate",), ms=(10,), seeds=1), tmp_path, options())
    assert table_of(export(tmp_path), "fake-grid-")[0]["name"] == "?"


def test_parquet_holds_the_same(finished):
    pandas = pytest.importorskip("pandas")
    paths = export(finished, "parquet")
    again = export(finished, "parquet")
    assert bytes_of(paths) == bytes_of(again)
    (path,) = (path for path in paths if path.name.startswith("fake-grid"))
    table = pandas.read_parquet(path)
    assert list(table["key"]) == [point.trial.key for point in STUDY.plan({})]
    assert table["value"][0] == row(trial()).result["value"]
    assert table["value"].isna().sum() == 6


def test_parquet_without_pyarrow_is_one_sentence(finished, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyarrow" else find(name))
    with pytest.raises(UserError, match=r"pip install 'whyconv\[parquet\]'"):
        export(finished, "parquet")


def test_unknown_formats_are_refused(finished):
    with pytest.raises(UserError, match="choose csv or parquet"):
        export(finished, "xlsx")
