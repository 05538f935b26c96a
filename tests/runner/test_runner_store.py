"""The store keeps what it acknowledged, and names what was damaged."""

import math
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from runner_fakes import FakeGrid, row, trial

from whyconv.errors import UserError
from whyconv.runner import environment
from whyconv.runner.database import FILE
from whyconv.runner.seal import COLUMNS, seal
from whyconv.runner.store import Store

HERE = Path(__file__).parent
ROWS = {of.key: row(of) for of in (trial(seed=seed) for seed in range(40))}
FILE_OF_PIECES = {"file": "b.py", "digest": "0123456789ab"}
FAILED = row(trial("raise"), status="failed", result={}, trace={}, error="ValueError: fünf")


@pytest.fixture
def folder(tmp_path):
    """A store with forty good rows and a failed one."""
    with Store.open(tmp_path / "out") as store:
        for each in ROWS.values():
            store.put(each, 0.5)
        store.put(FAILED, 0.1, "Traceback ...")
        store.record_environment(environment.describe())
        store.record_run(FakeGrid(), "quick", [FILE_OF_PIECES], "whyconv run fake-grid")
    return tmp_path / "out"


def contents(folder):
    """All files but the index SQLite shares between processes, in which readers leave marks."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path: path.read_bytes() for path in files if not path.name.endswith("-shm")}


def change(folder, statement, *values):
    connection = sqlite3.connect(folder / FILE)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def test_what_was_put_is_read_back(folder):
    with Store.read(folder) as store:
        assert store.rows() == {**ROWS, FAILED.key: FAILED}
        assert store.contents().tracebacks() == {FAILED.key: "Traceback ..."}
        assert len(store.contents().durations()) == 41
        assert store.contents().environments() == {
            environment.identity(environment.describe()): environment.describe()
        }
        assert store.verify() == []
        (run,) = store.contents().runs()
        assert (run.study, run.preset, run.loads) == ("fake-grid", "quick", (FILE_OF_PIECES,))
        assert FakeGrid(**{k: v for k, v in run.settings.items() if k != "name"}) == FakeGrid()


def test_a_closed_store_is_one_plain_file(folder):
    assert {path.name for path in folder.iterdir()} == {FILE, "lock", "acknowledged"}


def test_a_second_attempt_replaces_the_row_and_adds_a_duration(folder):
    better = row(trial("raise"))
    with Store.open(folder) as store:
        store.put(better, 2.0)
        assert store.rows()[better.key] == better
        assert better.key not in store.contents().tracebacks()
        assert [(d.attempt, d.seconds) for d in store.contents().durations() if d.key == better.key] == [
            (1, 0.1),
            (2, 2.0),
        ]


def test_rows_have_the_seconds_of_their_latest_attempt(folder):
    better = row(trial("raise"))
    with Store.open(folder) as store:
        assert store.rows()[FAILED.key].seconds == 0.1
        store.put(better, 2.0)
        assert store.rows()[better.key].seconds == 2.0
        assert {store.rows()[key].seconds for key in ROWS} == {0.5}
    assert seal(better) == seal(row(trial("raise"), seconds=2.0))


def test_rows_can_be_read_though_their_seconds_are_lost(folder):
    key = next(iter(ROWS))
    change(folder, "UPDATE durations SET seconds = 'long' WHERE key = ?", key)
    with Store.read(folder) as store:
        assert math.isnan(store.rows()[key].seconds)
    change(folder, "DROP TABLE durations")
    with Store.read(folder) as store:
        assert store.rows() == {**ROWS, FAILED.key: FAILED}
        assert all(math.isnan(each.seconds) for each in store.rows().values())


def test_commits_wait_for_the_disk(folder):
    with Store.open(folder) as store:
        assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


@pytest.mark.parametrize("column", [*COLUMNS, "digest"])
def test_a_change_of_any_column_is_noticed(folder, column):
    key = next(iter(ROWS))
    change(folder, f"UPDATE rows SET {column} = replace({column} || ' ', '0', '1') WHERE key = ?", key)
    with Store.read(folder) as store:
        found = store.contents()
    assert found.problems[0].startswith(f"row {key}" if column != "key" else "row ")
    assert found.rows().items() <= {**ROWS, FAILED.key: FAILED}.items()
    assert len(found.rows()) == 40
    assert key in found.lost


def test_a_row_under_the_key_of_another_is_noticed(folder):
    """Even with a digest that fits: the key is that of the specification."""
    from whyconv.spec import digest

    columns = ", ".join(COLUMNS)
    connection = sqlite3.connect(folder / FILE)
    _, *others = connection.execute(f"SELECT {columns} FROM rows WHERE key = ?", (FAILED.key,)).fetchone()
    connection.close()
    change(
        folder,
        "UPDATE rows SET key = ?, digest = ? WHERE key = ?",
        "f" * 32,
        digest(["f" * 32, *others]),
        FAILED.key,
    )
    with Store.read(folder) as store:
        first, second = store.verify()
    assert first == f"row {'f' * 32}: its key does not match its specification."
    assert second == f"row {FAILED.key}: it was acknowledged, but is missing or outdated."


def test_a_flipped_bit_in_the_file_is_named(folder):
    """In the text of each row in turn, as a failing disk would do it."""
    content = (folder / FILE).read_bytes()
    for key, each in list(ROWS.items())[:10]:
        place = content.index(str(each.result["value"]).encode(), content.index(key.encode()))
        for bit in (1, 128):  # the second makes the text invalid UTF-8
            damaged = bytearray(content)
            damaged[place + 4] ^= bit
            (folder / FILE).write_bytes(damaged)
            with Store.read(folder) as store:
                assert {problem.split(":")[0] for problem in store.verify()} == {f"row {key}"}


@pytest.mark.parametrize("apart", [997, pytest.param(173, marks=pytest.mark.long)])
def test_flipped_bits_anywhere_never_give_a_wrong_row(folder, apart):
    """Whatever byte is damaged, only rows as they were written are given, and what is wrong is said."""
    content = (folder / FILE).read_bytes()
    good = {**ROWS, FAILED.key: FAILED}
    for place in range(0, len(content), apart):
        damaged = bytearray(content)
        damaged[place] ^= 0x11
        (folder / FILE).write_bytes(damaged)
        with Store.read(folder) as store:
            found = store.contents()
        rows = found.rows()
        assert rows.items() <= good.items()
        assert len(rows) >= 39
        assert good.keys() - rows.keys() <= found.lost
        if len(rows) < len(good):
            assert found.problems


def test_a_changed_environment_or_run_is_noticed(folder):
    change(folder, "UPDATE environments SET json = replace(json, 'numpy', 'munpy')")
    change(folder, "UPDATE runs SET settings = '{}'")
    with Store.read(folder) as store:
        first, second = store.verify()
        assert first.startswith("environment ")
        assert second.startswith("run ")


def test_a_key_damaged_anywhere_is_noticed(folder):
    """In the rows, in the durations, and in the indexes of both."""
    content = (folder / FILE).read_bytes()
    places = [match.start() for match in re.finditer(FAILED.key.encode(), content)]
    assert len(places) >= 4
    for place in places:
        damaged = bytearray(content)
        damaged[place + 9] ^= 1
        (folder / FILE).write_bytes(damaged)
        with Store.read(folder) as store:
            assert store.verify()


# -- refusals: one sentence, and nothing is touched --------------------------------------------------


def refusal(act, folder, root):
    before = contents(root)
    with pytest.raises(UserError) as caught:
        act(folder)
    assert contents(root) == before
    text = str(caught.value)
    assert text.endswith(".")
    assert "\n" not in text
    return text


@pytest.mark.parametrize("act", [Store.open, Store.read])
def test_a_newer_store_is_refused(folder, act):
    change(folder, "UPDATE meta SET value = '3' WHERE name = 'schema'")
    change(folder, "PRAGMA user_version = 3")
    (folder / "lock").unlink()
    assert "newer whyconv (store version 3, this one reads 2)" in refusal(act, folder, folder)


@pytest.mark.parametrize("statement", ["UPDATE meta SET value = '3'", "PRAGMA user_version = 3"])
def test_a_version_damaged_in_one_place_is_not_taken_for_a_newer_one(folder, statement):
    change(folder, statement)
    with Store.read(folder) as store:
        assert store.verify() == ["the file: its version is damaged."]
    with Store.open(folder) as store:
        assert store.rows() == {**ROWS, FAILED.key: FAILED}
        assert store.verify() == []


@pytest.mark.parametrize("act", [Store.open, Store.read])
@pytest.mark.parametrize("text", [b"", b"hello", b"SQLite format 3\0 and then nonsense" * 100])
def test_what_is_not_a_store_is_refused(tmp_path, act, text):
    (tmp_path / FILE).write_bytes(text)
    assert "damaged or was not written by whyconv" in refusal(act, tmp_path, tmp_path)


def test_of_a_truncated_store_all_that_is_there_is_read(folder):
    content = (folder / FILE).read_bytes()
    counts = []
    for part in (0, 0.1, 0.5, 0.9):
        (folder / FILE).write_bytes(content[: int(len(content) * part)])
        before = contents(folder)
        with Store.read(folder) as store:
            found = store.contents()
        assert contents(folder) == before
        assert found.rows().items() <= {**ROWS, FAILED.key: FAILED}.items()
        assert found.lost == {*ROWS, FAILED.key} - found.rows().keys()
        counts.append(len(found.rows()))
    assert counts == sorted(counts)
    assert counts[0] == 0 < counts[-1] < 41


def test_a_database_of_another_program_is_refused(tmp_path):
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute("CREATE TABLE songs (title)")
    connection.close()
    assert "not written by whyconv" in refusal(Store.open, tmp_path, tmp_path)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    assert "is a file" in refusal(Store.open, tmp_path / "file", tmp_path)
    assert f"{tmp_path / 'file'} is a file" in refusal(Store.open, tmp_path / "file" / "deeper", tmp_path)


def test_reading_where_there_is_nothing_is_refused(tmp_path):
    assert "there is no store" in refusal(Store.read, tmp_path / "nowhere", tmp_path)
    assert not (tmp_path / "nowhere").exists()


def test_a_second_writer_is_refused_and_readers_are_not(folder):
    with Store.open(folder) as store:
        fresh = row(trial(m=77))
        store.put(fresh, 0.1)
        before = contents(folder)
        with pytest.raises(UserError, match=rf"another run \(process {os.getpid()}\)"):
            Store.open(folder)
        assert contents(folder) == before
        with Store.read(folder) as reader:
            assert fresh.key in reader.rows()
            later = row(trial(m=78))
            store.put(later, 0.1)
            assert later.key in reader.rows()
            with pytest.raises(sqlite3.OperationalError):
                reader._connection.execute("DELETE FROM rows")
    Store.open(folder).close()


def test_a_reader_does_not_keep_a_writer_from_ending(folder):
    with Store.read(folder) as reader:
        with Store.open(folder) as store:
            store.put(row(trial(m=77)), 0.1)
            reader.rows()
        assert len(reader.rows()) == 42
    with Store.read(folder) as reader:
        assert len(reader.rows()) == 42


def test_a_reader_undoes_what_a_killed_process_left_half_written(folder, tmp_path):
    """In the moments when the file is not in write-ahead mode, undoing takes more than reading."""
    copy = tmp_path / "copy"
    connection = sqlite3.connect(folder / FILE, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")  # so that changes reach the file before they are committed
    connection.execute("BEGIN")
    connection.execute("UPDATE rows SET error = 'half a change'")
    connection.execute("UPDATE rows SET result = '{}'")
    shutil.copytree(folder, copy)
    connection.close()
    assert (copy / f"{FILE}-journal").stat().st_size > 0
    with Store.read(copy) as reader:
        assert reader.rows() == {**ROWS, FAILED.key: FAILED}
        with pytest.raises(sqlite3.OperationalError):
            reader._connection.execute("DELETE FROM rows")


# -- folders where nobody may write ------------------------------------------------------------------


def as_nobody(act):
    """The exit code of ``act`` in a forked process that may not write where root may."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.getuid() == 0:
                os.setuid(65534)
            code = act() or 0
        except BaseException as error:
            os.write(2, f"{error!r}\n".encode())
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def public(folder):
    """A folder that other users can reach, with a copy of the store; pytest may close its own at any time."""
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        place.chmod(0o755)
        shutil.copytree(folder, place / "out")
        yield place
        for each in place.rglob("*"):
            each.chmod(0o755 if each.is_dir() else 0o644)


def leftovers(folder, target):
    """A copy of a store as a killed writer leaves it, with rows that were not merged yet."""
    with Store.open(folder) as store:
        store.put(row(trial(m=77)), 0.1)
        shutil.copytree(folder, target)
    assert (target / f"{FILE}-wal").stat().st_size > 0


def forbid_writing(folder):
    for path in (*folder.iterdir(), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)


def test_a_read_only_folder_can_be_read(public):
    leftovers(public / "out", public / "killed")

    def count(place):
        with Store.read(place) as store:
            return 99 if store.verify() else len(store.rows())

    for place in (public / "out", public / "killed"):
        forbid_writing(place)
        before = contents(place)
        assert as_nobody(lambda place=place: count(place)) == 42
        assert contents(place) == before


def test_a_read_only_folder_with_rows_that_cannot_be_merged_is_refused(public):
    leftovers(public / "out", public / "copy")
    (public / "copy" / f"{FILE}-shm").unlink()
    forbid_writing(public / "copy")

    def act():
        try:
            Store.read(public / "copy")
        except UserError as error:
            return 0 if "copy the folder to where you can write" in str(error) else 2

    assert as_nobody(act) == 0


def test_a_read_only_folder_cannot_be_written(public):
    folder = public / "out"
    forbid_writing(folder)

    def act(place):
        try:
            Store.open(place)
        except UserError as error:
            return 0 if "cannot be written; choose a folder of your own" in str(error) else 2
        return 3

    before = contents(folder)
    assert as_nobody(lambda: act(folder)) == 0
    assert as_nobody(lambda: act(folder / "new" / "deeper")) == 0
    assert contents(folder) == before


# -- full disks and killed writers -------------------------------------------------------------------


def test_a_full_database_is_told_and_loses_nothing(folder):
    with Store.open(folder) as store:
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        kept = []
        with pytest.raises(UserError, match="is full; every row acknowledged so far is kept"):
            for m in range(100, 300):
                store.put(row(trial(m=m)), 0.1)
                kept.append(trial(m=m).key)
        assert kept
        assert set(store.rows()) == {*ROWS, FAILED.key, *kept}
    with Store.read(folder) as store:
        assert set(store.rows()) == {*ROWS, FAILED.key, *kept}
        assert store.verify() == []


WRITER = """
import resource, sys
from runner_fakes import row, trial
from whyconv.errors import UserError
from whyconv.runner.store import Store
if sys.argv[2] != "0":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    with Store.open(sys.argv[1]) as store:
        m = 1 + len(store.rows())
        while True:
            store.put(row(trial(m=m)), 0.1)
            print(trial(m=m).key, flush=True)
            m += 1
except UserError as error:
    print(error)
"""


def start_writer(folder, limit=0):
    command = [sys.executable, "-c", WRITER, str(folder), str(limit)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HERE)


def test_a_limit_of_the_file_system_is_told_and_loses_nothing(tmp_path):
    with start_writer(tmp_path, 200_000) as writer:
        *keys, last = writer.stdout.read().splitlines()
    assert writer.returncode == 0
    assert "every row acknowledged so far is kept" in last
    with Store.read(tmp_path) as store:
        assert len(keys) > 10
        assert set(keys) <= set(store.rows())
        assert store.verify() == []


def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path):
    acknowledged = set()
    for kill in range(4):
        with start_writer(tmp_path) as writer:
            for _ in range(1 + 20 * kill):
                acknowledged.add(writer.stdout.readline().strip())
            writer.send_signal(signal.SIGKILL)
            acknowledged.update(line.strip() for line in writer.stdout if line.endswith("\n"))
        with Store.read(tmp_path) as store:
            assert acknowledged <= set(store.rows())
            assert store.verify() == []


# -- old stores --------------------------------------------------------------------------------------


def test_a_store_of_the_first_version_opens(tmp_path):
    """Written by :func:`write_asset` once, and never again: old stores keep opening."""
    asset = HERE.parent / "assets" / "store-v1"
    with Store.read(asset) as store:
        rows = store.rows()
        assert store.verify() == []
        (remark,) = store.contents().remarks()
        assert remark.startswith(
            "Sealed in part: an older whyconv wrote durations: 5, tracebacks: 1, runs: 1 "
        )
        assert sorted(each.status for each in rows.values()) == ["failed", "ok", "ok", "ok", "ok"]
        assert len(store.contents().durations()) == 5
        assert sorted(each.seconds for each in rows.values()) == [0.125, 0.25, 0.25, 0.25, 0.25]
        assert len(store.contents().environments()) == 1
        assert [run.study for run in store.contents().runs()] == ["fake-grid"]
    assert {path.name for path in asset.iterdir()} == {FILE}
    shutil.copytree(asset, tmp_path / "copy")
    with Store.open(tmp_path / "copy") as store:
        store.put(row(trial(m=5)), 0.1)
        assert {**rows, trial(m=5).key: row(trial(m=5))} == store.rows()
        assert store.verify() == []
        store.record_run(FakeGrid(does=("work", "raise")), "quick", [], "whyconv run fake-grid")
        assert [run.sealed for run in store.contents().runs()] == [True]
        assert store.contents().tracebacks()[trial("raise").key].startswith("Traceback")


def write_asset(folder):
    """How the asset was made: ``python -c "from test_runner_store import *; write_asset(...)"``."""
    with Store.open(folder) as store:
        name = store.record_environment({"python": "3.11.7", "packages": {"jax": "0.10.2"}})
        for seed in range(4):
            store.put(row(trial(seed=seed), environment=name), 0.25)
        failed = row(
            trial("raise"), status="failed", result={}, trace={}, error="ValueError: no", environment=name
        )
        store.put(failed, 0.125, "Traceback (most recent call last): ...")
        store.record_run(FakeGrid(does=("work", "raise")), "quick", [], "whyconv run fake-grid")
    (Path(folder) / "lock").unlink()


def test_a_kill_may_leave_one_transaction_unlisted_and_no_more(tmp_path):
    """Rows are committed together, then listed; between the two a kill leaves no row that was reported."""
    first, second, third = (list(ROWS.values())[part : part + 5] for part in (0, 5, 10))
    with Store.open(tmp_path) as store:
        for part in (first, second, third):
            store.put_all((each, 0.5, "") for each in part)
    listed = (tmp_path / "acknowledged").read_text().splitlines(keepends=True)
    for kept, says in ((10, []), (12, []), (9, ["the list of acknowledged rows: it lacks 6 stored rows."])):
        (tmp_path / "acknowledged").write_text("".join(listed[:kept]))
        with Store.read(tmp_path) as store:
            assert store.verify() == says
            assert len(store.rows()) == 15
    with Store.open(tmp_path):
        pass
    assert len((tmp_path / "acknowledged").read_text().splitlines()) == 15
