"""Damaged stores are made whole: what is intact is kept, what is lost is named, the old file stays."""

import os
import re
import shutil
import sqlite3

import pytest
from runner_fakes import FakeGrid, completed, options, row, trial

from whyconv.runner import database, journal, salvage
from whyconv.runner.carve import carved
from whyconv.runner.coordinator import complete
from whyconv.runner.database import FILE
from whyconv.runner.events import Repaired
from whyconv.runner.export import export
from whyconv.runner.store import Store

WAL = f"{FILE}-wal"


def long_row(seed, **changes):
    """A row that needs a chain of overflow pages, of any length in its last one."""
    return row(trial(seed=seed), trace={"loss": [seed + i / 7 for i in range(150 + 97 * seed)]}, **changes)


ROWS = {each.key: each for each in (long_row(seed) for seed in range(12))}


@pytest.fixture
def folder(tmp_path):
    with Store.open(tmp_path / "out") as store:
        for each in ROWS.values():
            store.put(each, 2.0)
        store.record_environment({"python": "3"})
        store.record_run(FakeGrid(), "quick", [], "whyconv run fake-grid")
    return tmp_path / "out"


@pytest.fixture
def killed(folder, tmp_path):
    """The same as a killed writer leaves it, with rows in the log only: newer ones, and one of them anew."""
    again = long_row(3, result={"value": 1.0})
    later = {each.key: each for each in (long_row(seed) for seed in range(12, 20))}
    with Store.open(folder) as store:
        for each in (*later.values(), again):
            store.put(each, 0.5)
        shutil.copytree(folder, tmp_path / "killed")
    assert (tmp_path / "killed" / WAL).stat().st_size > 40_000
    return tmp_path / "killed", {**ROWS, **later, again.key: again}


def test_every_record_is_found_in_the_bytes_alone(folder):
    found = carved(folder / FILE)
    with Store.read(folder) as store:
        records = store.contents().records
    assert {table: sorted(each) for table, each in found.items()} == {
        table: sorted(each) for table, each in records.items()
    }


def test_records_are_found_in_the_log_as_well(killed):
    folder, rows = killed
    found = {record[0] for record in carved(folder / FILE)["rows"]}
    assert found == set(rows)
    (folder / FILE).unlink()
    found = {record[0] for record in carved(folder / FILE)["rows"]}
    assert len(found) >= 9


def test_the_newest_form_of_a_page_is_tried_first(folder, tmp_path, monkeypatch):
    """Pages that a row left free are written again in the log; a single try must meet the last of them."""
    changed = {seed: long_row(seed, result={"value": 2.0}) for seed in range(12)}
    with Store.open(folder) as store:
        for each in changed.values():
            store.put(each, 0.5)
        shutil.copytree(folder, tmp_path / "killed")
    monkeypatch.setattr("whyconv.runner.carve.TRIES", 1)
    found = [record for record in carved(tmp_path / "killed" / FILE)["rows"] if '"value":2.0' in str(record)]
    assert len(found) == len(changed)


def test_without_tables_and_indexes_all_rows_are_kept(folder):
    """The first page, which says where everything is, is zeroed."""
    content = bytearray((folder / FILE).read_bytes())
    content[:4096] = bytes(4096)
    (folder / FILE).write_bytes(content)
    with Store.open(folder) as store:
        assert store.rows() == ROWS
        assert [run.command for run in store.contents().runs()] == ["whyconv run fake-grid"]
        assert len(store.contents().durations()) == 12 and len(store.contents().environments()) == 1
        assert store.repair is not None and store.repair.kept == folder / f"{FILE}.damaged-1"
        assert (store.repair.rows, store.repair.lost) == (12, frozenset())
        assert store.verify() == []
    assert (folder / f"{FILE}.damaged-1").read_bytes() == content


def test_a_byte_in_a_key_index_blocks_nothing(folder):
    """Of every key in turn, in the index: no row is lost, and the same command goes on."""
    content = (folder / FILE).read_bytes()
    index_page = 10  # the first byte of a leaf of an index
    for number, key in enumerate(ROWS, 1):
        found = [match.start() for match in re.finditer(key.encode(), content)]
        places = [place for place in found if content[place // 4096 * 4096] == index_page]
        damaged = bytearray(content)
        damaged[places[0] + 5] ^= 1
        (folder / FILE).write_bytes(damaged)
        with Store.read(folder) as store:
            assert store.verify()
        with Store.open(folder) as store:
            assert store.rows() == ROWS
            assert store.repair is not None and store.repair.kept.name.endswith(f"-{number}")


def test_a_run_says_what_it_repaired_and_computes_what_was_lost(tmp_path):
    study, folder = FakeGrid(seeds=3), tmp_path / "out"
    complete(study, folder, options())
    lost = study.plan({})[2].trial.key
    content = bytearray((folder / FILE).read_bytes())
    place = content.index(b'"value"', content.index(lost.encode()))
    content[place + 12] ^= 1
    (folder / FILE).write_bytes(content)
    events = []
    summary = completed(study, folder, options(), events.append)
    assert isinstance(events[0], Repaired)
    assert events[0].repair.lost == {lost} and events[0].repair.rows == 5
    assert events[1].new_by_reason == {"the stored row was damaged": 1}
    assert (summary.reused, summary.ran) == (5, 1)


def test_a_description_of_the_environment_that_was_lost_is_written_again(tmp_path):
    study, folder = FakeGrid(seeds=1), tmp_path / "out"
    complete(study, folder, options())
    wanted = export(folder).paths[-1].read_bytes()
    with Store.open(folder) as store:
        store._connection.execute("DELETE FROM environments")
        assert "of these environments of rows are lost" in store.contents().remarks()[0]
    complete(study, folder, options())
    assert export(folder).paths[-1].read_bytes() == wanted != b"{}\n"


@pytest.mark.parametrize("how", ["gone", "empty", "header", "cut", "flipped"])
def test_rows_that_vanish_with_the_log_are_noticed_and_named(killed, how):
    folder, rows = killed
    log = bytearray((folder / WAL).read_bytes())
    if how == "gone":
        (folder / WAL).unlink()
    else:
        changed = {
            "empty": b"",
            "header": bytes(32) + log[32:],
            "cut": log[: len(log) // 2],
            "flipped": log[:5000] + bytes([log[5000] ^ 1]) + log[5001:],
        }
        (folder / WAL).write_bytes(changed[how])
    with Store.read(folder) as store:
        found = store.contents()
    assert found.problems
    kept = found.rows()
    assert all(kept[key] in (rows[key], ROWS.get(key)) for key in kept)
    assert rows.keys() - kept.keys() <= found.lost
    named = " ".join(found.problems)
    assert all((key in named) == (kept.get(key) != rows[key]) for key in rows)
    if how in ("header", "flipped"):  # the frames are there, and SQLite does not look at them
        assert len(kept) >= len(rows) - 1
    with Store.open(folder) as store:
        assert store.rows() == kept
        assert store.verify() == []


def test_a_log_that_lost_its_header_gives_back_the_row_acknowledged_last(killed):
    """Of a row that was computed twice both forms are in the bytes; the list says which is the one."""
    folder, rows = killed
    log = (folder / WAL).read_bytes()
    (folder / WAL).write_bytes(bytes(32) + log[32:])
    with Store.open(folder) as store:
        assert store.rows() == rows


def test_an_old_form_of_a_row_is_not_taken_for_the_one_acknowledged(folder):
    """The list knows that a newer form was acknowledged, which is nowhere any more."""
    key = next(iter(ROWS))
    writer = journal.Writer(folder)
    writer.add({key: ("f" * 64, 2)})
    writer.close()
    with Store.read(folder) as store:
        assert store.verify()[-1] == f"row {key}: it was acknowledged, but is missing or outdated."


@pytest.mark.parametrize("how", ["gone", "empty", "half", "zeros"])
def test_a_list_that_is_damaged_is_named_and_made_anew(folder, how):
    path = folder / "acknowledged"
    content = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(
            {"empty": b"", "half": content[: len(content) // 2], "zeros": bytes(len(content))}[how]
        )
    with Store.read(folder) as store:
        (problem,) = store.verify()
        assert problem.startswith("the list of acknowledged rows: ")
    with Store.open(folder) as store:
        assert store.repair is not None and store.repair.kept is None
        assert store.verify() == [] and store.rows() == ROWS
    assert sorted(path.read_bytes().splitlines()) == sorted(content.splitlines())


def test_a_retry_that_was_committed_and_not_listed_is_kept_by_a_repair(folder):
    """Of a failed row and its retry the later one counts, though only the failed one is on the list."""
    failed = long_row(20, status="failed", result={}, error="no")
    good = long_row(20)
    with Store.open(folder) as store:
        store.put(failed, 0.5)
        lines = (folder / "acknowledged").read_bytes()
        store.put(good, 0.5)
    (folder / "acknowledged").write_bytes(lines)
    with Store.read(folder) as store:
        assert store.verify() == []
    content = bytearray((folder / FILE).read_bytes())
    place = content.index(b'"quick"' if b'"quick"' in content else b"whyconv run fake-grid")
    content[place] ^= 1
    (folder / FILE).write_bytes(content)
    with Store.open(folder) as store:
        assert store.repair is not None
        assert store.rows() == {**ROWS, good.key: good}


def test_forms_that_come_and_go_raise_no_alarm(folder):
    """The same row in one form, another, and the first again, as by two environments in turn."""
    first, second = long_row(0), long_row(0, environment="f" * 16)
    with Store.open(folder) as store:
        store.put(second, 0.5)
        lines = (folder / "acknowledged").read_bytes()
        store.put(first, 0.5)
    (folder / "acknowledged").write_bytes(lines)  # killed before the last line
    with Store.read(folder) as store:
        assert store.verify() == []
        assert store.rows()[first.key] == first


def test_a_row_of_many_pages_is_salvaged(tmp_path):
    large = row(trial(seed=99), trace={"loss": [i / 7 for i in range(330_000)]})
    with Store.open(tmp_path / "out") as store:
        store.put(large, 0.5)
    content = bytearray((tmp_path / "out" / FILE).read_bytes())
    assert len(content) > 5_000_000
    content[:100] = bytes(100)
    (tmp_path / "out" / FILE).write_bytes(content)
    with Store.open(tmp_path / "out") as store:
        assert store.rows() == {large.key: large}


def test_what_another_repair_left_does_not_replace_a_whole_store(folder):
    (folder / f"{FILE}.salvaged").write_bytes(b"")
    with Store.open(folder) as store:
        assert store.repair is None and store.rows() == ROWS
    assert not (folder / f"{FILE}.salvaged").exists()


def test_a_view_in_place_of_a_table_is_not_computed(folder):
    connection = sqlite3.connect(folder / FILE)
    connection.execute("ALTER TABLE durations RENAME TO other")
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, i, i, i, i FROM n"
    connection.execute(f"CREATE VIEW durations AS {endless}")
    connection.commit()
    connection.close()
    with Store.read(folder) as store:
        found = store.contents()
    assert "it contains what whyconv does not create (other, durations)" in found.problems[0]
    assert found.rows() == ROWS


def test_a_row_whose_writer_was_killed_before_it_was_listed_is_good(folder):
    lines = (folder / "acknowledged").read_text().splitlines(keepends=True)
    (folder / "acknowledged").write_text("".join(lines[:-1]) + lines[-1][:20])
    with Store.read(folder) as store:
        assert store.verify() == []
        assert store.rows() == ROWS
    with Store.open(folder) as store:
        assert store.repair is None
    assert sorted((folder / "acknowledged").read_text().splitlines(keepends=True)) == sorted(lines)


def test_a_damaged_list_is_made_anew_and_nothing_else(folder):
    lines = bytearray((folder / "acknowledged").read_bytes())
    lines[3] ^= 1
    (folder / "acknowledged").write_bytes(lines)
    with Store.read(folder) as store:
        assert store.verify() == ["the list of acknowledged rows: 1 of its lines cannot be read."]
    with Store.open(folder) as store:
        assert store.repair is not None and store.repair.kept is None
        assert store.verify() == []
    assert not list(folder.glob("*.damaged-*"))


def test_the_database_alone_may_vanish(folder):
    (folder / FILE).unlink()
    with Store.open(folder) as store:
        assert store.repair is not None and store.repair.lost == ROWS.keys()
        assert store.rows() == {} and store.verify() == []


@pytest.mark.parametrize("step", ["make", "link", "unlink", "replace", "rewrite"])
def test_a_repair_that_is_killed_is_finished_by_the_next(killed, step, monkeypatch):
    """An exception at each of its steps stands for a kill there; tests/chaos has real ones."""
    folder, rows = killed
    content = bytearray((folder / FILE).read_bytes())
    content[:4096] = bytes(4096)
    (folder / FILE).write_bytes(content)
    (folder / WAL).write_bytes(bytes(32) + (folder / WAL).read_bytes()[32:])

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        if step == "make":
            context.setattr(database, "fill", stop)
        elif step == "link":
            context.setattr(os, "link", stop)
        elif step == "unlink":
            context.setattr(database, "BESIDE", property(stop))
        elif step == "replace":
            context.setattr(salvage, "sync", stop)
        else:
            context.setattr(journal, "rewrite", stop)
        with pytest.raises((KeyboardInterrupt, TypeError)):
            Store.open(folder)
    with Store.open(folder) as store:
        assert store.rows() == rows
        assert store.verify() == []
    kept = sorted(path.name for path in folder.iterdir() if ".damaged-" in path.name)
    assert kept[:2] == [f"{FILE}.damaged-1", f"{FILE}.damaged-1-wal"]
    assert (folder / kept[0]).read_bytes() == content
    assert not list(folder.glob("*.salvaged")) and not list(folder.glob("*.new"))


def test_a_store_of_the_first_version_is_repaired_too(tmp_path):
    from test_runner_store import HERE

    shutil.copytree(HERE.parent / "assets" / "store-v1", tmp_path / "old")
    content = bytearray((tmp_path / "old" / FILE).read_bytes())
    content[:4096] = bytes(4096)
    (tmp_path / "old" / FILE).write_bytes(content)
    with Store.open(tmp_path / "old") as store:
        assert len(store.rows()) == 5
        assert [run.sealed for run in store.contents().runs()] == [False]
        assert store.verify() == []


def test_another_program_s_lock_is_no_damage(folder):
    connection = sqlite3.connect(folder / FILE, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(Exception, match="held by another program"):
            original = sqlite3.connect

            def impatient(*given, **named):
                return original(*given, **{**named, "timeout": 0.1})

            sqlite3.connect = impatient
            try:
                Store.open(folder)
            finally:
                sqlite3.connect = original
    finally:
        connection.close()
    assert not list(folder.glob("*.damaged-*"))
