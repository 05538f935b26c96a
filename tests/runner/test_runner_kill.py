"""kill -9 at any moment: nothing acknowledged is lost, nothing runs on, and the same command resumes."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from runner_fakes import FakeGrid, completed, options, trial

from whyconv.runner.coordinator import complete
from whyconv.runner.export import export
from whyconv.runner.store import Store

HERE = Path(__file__).parent
MARK = "WHYCONV_TEST_MARK"


def start(folder, *settings, **variables):
    """The fake study in a process of its own, marked so that its workers can be found."""
    command = [sys.executable, str(HERE / "run_fake_study.py"), str(folder), *settings]
    environ = {**os.environ, MARK: str(folder), **variables}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ, cwd=folder.parent
    )


def marked(folder):
    """The processes that carry the folder's mark."""
    mark = f"{MARK}={folder}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def assert_vanished(folder, seconds=2.0):
    end = time.monotonic() + seconds
    while marked(folder):
        assert time.monotonic() < end, "workers were left behind"
        time.sleep(0.02)


def tables(folder):
    """The exported bytes, without what a run took."""
    return {path.name: path.read_bytes() for path in export(folder).paths if path.name != "durations.csv"}


@pytest.mark.parametrize("kills", [6, pytest.param(25, marks=pytest.mark.long)])
def test_kills_lose_nothing(tmp_path, kills):
    settings = ("seeds=75", "sleep=0.002")
    complete(FakeGrid(seeds=75, sleep=0.002), tmp_path / "reference", options())
    wanted = tables(tmp_path / "reference")
    chance = random.Random(0)
    folders, acknowledged, hits = [tmp_path / "out0"], set(), 0
    for kill in range(kills):
        folder = folders[-1]
        process = start(folder, *settings, f"workers={1 + kill // 2 % 2}")
        lines = []
        if kill % 2:  # half of them after the first row, when rows come thick and fast
            lines.append(process.stdout.readline())
            time.sleep(chance.uniform(0, 0.2))
        else:
            time.sleep(chance.uniform(0.05, 0.6))
        process.send_signal(signal.SIGKILL)
        out, _ = process.communicate()
        lines += out.splitlines(keepends=True)
        acknowledged |= {line.decode().strip() for line in lines if line.endswith(b"\n") and len(line) == 33}
        hits += bool(lines) and process.returncode == -signal.SIGKILL
        assert_vanished(folder)
        if not (folder / "whyconv.sqlite").exists():
            assert not acknowledged
            continue
        with Store.read(folder) as store:
            rows = store.rows()
            assert store.verify() == []
        assert acknowledged <= set(rows)
        if len(rows) == 150:
            folders.append(tmp_path / f"out{len(folders)}")
            acknowledged = set()
    assert hits > 0.3 * kills
    for folder in folders:
        complete(FakeGrid(seeds=75, sleep=0.002), folder, options())
        assert tables(folder) == wanted
        assert {path.name for path in folder.iterdir()} == {
            "whyconv.sqlite",
            "lock",
            "acknowledged",
            "export",
        }


def test_a_long_trial_goes_on_from_its_checkpoint(tmp_path):
    steps = tmp_path / "steps"
    variables = {"FAKE_STEPS": str(steps), "WHYCONV_CHECKPOINT_SECONDS": "0.1"}
    settings = ('does=["steps"]', "ms=[10]", "seeds=1")
    process = start(tmp_path / "out", *settings, **variables)
    while not steps.exists() or len(steps.read_text().splitlines()) < 60:
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert_vanished(tmp_path / "out")
    assert 60 <= len(steps.read_text().splitlines()) < 200
    process = start(tmp_path / "out", *settings, **variables)
    assert process.communicate()[0].endswith(b"complete 1 0\n")
    done = [int(line) for line in steps.read_text().splitlines()]
    assert set(done) == set(range(200))
    assert done.count(0) == 1
    assert 200 <= len(done) < 260  # 200 if a checkpoint was written just before the kill
    steps.unlink()
    process = start(tmp_path / "whole", *settings, **variables)
    process.communicate()
    assert len(steps.read_text().splitlines()) == 200
    assert tables(tmp_path / "out") == tables(tmp_path / "whole")
    assert not (tmp_path / "out" / "checkpoints").exists()


def test_a_damaged_checkpoint_costs_time_only(tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_STEPS", str(tmp_path / "steps"))
    folder = tmp_path / "out"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "checkpoints" / f"{trial('steps').key}.npz").write_bytes(b"PK nonsense")
    (folder / "checkpoints" / "half.npz.123.tmp").write_bytes(b"half")
    summary = completed(FakeGrid(does=("steps",), ms=(10,), seeds=1), folder, options())
    assert summary.failed == 0
    assert not (folder / "checkpoints").exists()


def test_a_checkpoint_whose_row_is_there_goes_with_the_next_run(tmp_path):
    """Of a run that was killed after a row was kept and before its checkpoint was removed."""
    folder = tmp_path / "out"
    study = FakeGrid(ms=(10,), seeds=1)
    complete(study, folder, options())
    (folder / "checkpoints").mkdir()
    (folder / "checkpoints" / f"{trial().key}.npz").write_bytes(b"old")
    (folder / "checkpoints" / f"{trial().key}.npz.77.tmp").write_bytes(b"older")
    assert completed(study, folder, options()).ran == 0
    assert {path.name for path in folder.iterdir()} == {"whyconv.sqlite", "lock", "acknowledged"}


@pytest.mark.parametrize("behind", ["link", "fifo", "file"])
def test_the_log_of_workers_is_a_file_of_its_own(tmp_path, behind):
    folder, mine = tmp_path / "out", tmp_path / "mine"
    folder.mkdir()
    mine.write_text("dear to me")
    log = folder / "workers.log"
    {"link": lambda: log.symlink_to(mine), "fifo": lambda: os.mkfifo(log), "file": log.touch}[behind]()
    complete(FakeGrid(does=("print",), ms=(10,), seeds=1), folder, options())
    assert mine.read_text() == "dear to me"
    assert "noise" in log.read_text()
    open_files = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.exists()]
    assert not [path for path in open_files if path.is_relative_to(folder)]


def test_no_worker_survives_in_compiled_code_that_notices_nothing(tmp_path):
    process = start(tmp_path / "out", 'does=["work","grip"]', "ms=[10]", "seeds=1", "workers=1")
    process.stdout.readline()  # the worker goes on to the second trial now
    time.sleep(0.5)
    assert len(marked(tmp_path / "out")) == 2
    process.kill()
    process.communicate()
    assert_vanished(tmp_path / "out")


def test_seconds_between_checkpoints_are_read_before_anything_starts(tmp_path):
    process = start(tmp_path / "out", WHYCONV_CHECKPOINT_SECONDS="abc")
    assert process.communicate()[1].startswith(b"refused: WHYCONV_CHECKPOINT_SECONDS=abc was given;")
    assert not (tmp_path / "out").exists()


def test_a_second_run_is_refused_while_readers_work(tmp_path):
    folder = tmp_path / "out"
    first = start(folder, 'does=["work","hang"]', "ms=[10]", "seeds=2")
    first.stdout.readline()
    second = start(folder, "seeds=2")
    _, said = second.communicate()
    assert second.returncode == 1
    assert f"is being written by another run (process {first.pid})" in said.decode()
    with Store.read(folder) as store:
        assert store.rows()
    first.kill()
    first.communicate()
    assert_vanished(folder)
    third = start(folder, "seeds=2")
    assert third.communicate()[0].endswith(b"complete 4 0\n")


@pytest.mark.parametrize("presses", [1, 3])
def test_interrupting_the_command_stops_at_once_and_leaves_nothing_running(tmp_path, presses):
    process = start(tmp_path / "out", 'does=["work","hang"]', "ms=[10]", "seeds=2")
    process.stdout.readline()
    process.stdout.readline()
    began = time.monotonic()
    for _ in range(presses):
        process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert time.monotonic() - began < 2
    assert said.decode().strip().startswith("stopped: interrupted: 2 of 4 trials are done and kept")
    assert_vanished(tmp_path / "out")


def test_a_script_needs_no_main_guard(tmp_path):
    process = start(tmp_path / "out", "seeds=2")
    out, said = process.communicate()
    assert out.endswith(b"complete 4 0\n")
    assert len(out.splitlines()) == 5
    assert said == b""


def test_a_full_disk_in_the_middle_of_a_run_is_told(tmp_path):
    program = (
        "import resource, runpy, sys; sys.path.insert(0, '.'); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (600_000,) * 2); runpy.run_path('run_fake_study.py')"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "out"), "seeds=700", "sleep=0.002", "workers=1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE)
    assert done.returncode == 1
    assert done.stderr.startswith("refused: ")
    assert "every row acknowledged so far is kept" in done.stderr
    assert done.stderr.count("\n") == 1
    acknowledged = set(done.stdout.split())
    assert len(acknowledged) > 10
    with Store.read(tmp_path / "out") as store:
        assert acknowledged <= set(store.rows())
    study = FakeGrid(seeds=700, sleep=0.002)
    assert completed(study, tmp_path / "out", options()).reused >= len(acknowledged)
