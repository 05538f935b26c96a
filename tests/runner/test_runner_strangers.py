"""Opening a stranger's folder: no code of theirs runs, nothing is written elsewhere, no change is shown."""

import json
import os
import re
import sqlite3
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from command_line import one_process
from runner_fakes import FakeGrid, completed, options, row, trial

from whyconv.api import open_runs
from whyconv.errors import UserError
from whyconv.report.assemble import assemble
from whyconv.report.html import Page, write
from whyconv.runner import environment
from whyconv.runner.coordinator import complete
from whyconv.runner.database import FILE
from whyconv.runner.export import export
from whyconv.runner.opened import open_folder
from whyconv.runner.seal import environment_id, run_id, sealed
from whyconv.runner.store import Store
from whyconv.runner.verify import verify
from whyconv.runs import runs_of
from whyconv.spec import to_json

STUDY = FakeGrid(seeds=2)


@pytest.fixture
def folder(tmp_path):
    """A finished study."""
    with Store.open(tmp_path / "theirs") as store:
        name = store.record_environment(environment.describe())
        for point in STUDY.plan({}):
            store.put(row(point.trial, environment=name), 0.5)
        store.record_run(STUDY, "quick", [], "whyconv run fake-grid")
    return tmp_path / "theirs"


def execute(folder, *statements):
    connection = sqlite3.connect(folder / FILE)
    for statement, values in statements:
        connection.execute(statement, values)
    connection.commit()
    connection.close()


def forge_run(folder, **changes):
    """A run as a stranger can write one: with digests that fit, whatever it says."""
    names = ("study", "preset", "settings", "seeds", "loads", "command", "first", "last")
    values = {
        "study": "fake-grid",
        "preset": "quick",
        "settings": to_json(STUDY.canonical()),
        "seeds": 2,
        "loads": "[]",
        "command": "whyconv run fake-grid",
        "first": "2026-01-01",
        "last": "2026-01-01",
        **changes,
    }
    identity = run_id(values["study"], values["preset"], values["settings"])
    record = sealed("runs", identity, *(values[name] for name in names))
    execute(
        folder,
        ("DELETE FROM runs", ()),
        (f"INSERT INTO runs VALUES ({', '.join('?' * len(record))})", record),
    )


EVIL = "open('executed', 'w').write('yes')\n"


@pytest.mark.parametrize("form", [["evil.py"], [{"file": "theirs/evil.py", "digest": "0" * 12}]])
def test_files_that_a_folder_names_are_never_executed(tmp_path, form):
    with Store.open(tmp_path / "theirs") as store:
        store.put(row(trial()), 0.5)
    (tmp_path / "theirs" / "evil.py").write_text(EVIL)
    (tmp_path / "evil.py").write_text(EVIL)
    forge_run(tmp_path / "theirs", loads=to_json(form))
    verified, *shown = one_process(
        *([command, "theirs"] for command in ("verify", "report", "export")), cwd=tmp_path
    )
    assert [done.returncode for done in (verified, *shown)] == [0, 0, 0]
    assert not (tmp_path / "executed").exists()
    assert not (tmp_path / "theirs" / "executed").exists()
    for done in shown:  # the study is not known to that process: its rows are shown alone
        assert "is shown as rows alone" in done.stderr
        assert "give evil.py with --load if you trust it" in done.stderr


def test_rows_without_their_pieces_are_on_the_page_and_in_the_export(folder, tmp_path):
    forge_run(folder, study="not-here", settings='{"name":"not-here"}')
    found = open_folder(folder)
    assert [run.study for run in found.unplanned] == ["not-here"]
    assert len(found.loose()) == 4
    page = assemble(found, runs_of(found), tmp_path / "page.html", [], "").read_text()
    assert "Rows whose study is not here" in page and "is shown as rows alone" in page
    assert str(round(row(trial()).result["value"], 4))[:5] in page
    done = export(folder)
    assert [path.name for path in done.paths] == ["rows.csv", "durations.csv", "environments.json"]
    assert not done.problems
    with pytest.warns(UserWarning, match="rows alone"):
        assert open_runs(folder) == []


def test_a_file_given_now_is_compared_with_the_one_of_then(folder, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text("")
    forge_run(folder, loads=to_json([{"file": "mine.py", "digest": "0" * 12}]))
    (remark,) = open_folder(folder, [mine]).remarks
    assert "mine.py is not the file that" in remark and "(digest 000000000000)" in remark
    from whyconv import registry

    forge_run(folder, loads=to_json([{"file": "mine.py", "digest": registry.file_digest(mine)}]))
    assert open_folder(folder, [mine]).remarks == ()


def test_a_run_notes_the_digest_of_its_files(tmp_path):
    from whyconv import registry

    mine = tmp_path / "mine.py"
    mine.write_text("'nothing'\n")
    complete(STUDY, tmp_path / "out", options(loads=(str(mine),)))
    with Store.read(tmp_path / "out") as store:
        assert store.contents().runs()[0].loads == (
            {"file": "mine.py", "digest": registry.file_digest(mine)},
        )


@pytest.mark.parametrize("column", ["command", "loads", "first", "last", "seeds", "digest"])
def test_a_changed_column_of_a_run_is_named_and_not_shown(folder, column):
    new = {"seeds": 7, "loads": '["x.py"]'}.get(column, "task.positions='7'")
    execute(folder, (f"UPDATE runs SET {column} = ?", (new,)))
    found = open_folder(folder)
    assert len(found.problems) == 1 and "its command, times or list of files was changed" in found.problems[0]
    (run,) = found.runs
    assert (run.record.command, run.record.sealed, run.record.loads) == ("", False, ())
    assert len(run.points) == 4


def test_a_title_comes_from_the_settings_and_not_from_the_command(folder):
    settings = to_json(FakeGrid(seeds=2, ms=(10,)).canonical())
    forge_run(folder, settings=settings, command="whyconv run fake-grid --set ms=77 --set 'sleep=")
    (run,) = runs_of(open_folder(folder))
    assert run.variant == "ms=[10]"
    forge_run(folder, command="'")
    (run,) = runs_of(open_folder(folder))
    assert run.variant == ""


def test_durations_and_tracebacks_are_sealed(folder):
    failed = row(trial("raise"), status="failed", result={}, trace={}, error="no")
    with Store.open(folder) as store:
        store.put(failed, 0.5, "Traceback: mine")
    execute(folder, ("UPDATE tracebacks SET traceback = 'theirs'", ()))
    execute(folder, ("UPDATE durations SET finished_at = 'never' WHERE key = ?", (failed.key,)))
    with Store.read(folder) as store:
        first, second = store.verify()
        assert (first.split()[0], second.split()[0]) == ("duration", "traceback")
        assert failed.key not in store.contents().tracebacks()


def test_the_report_shows_where_trials_failed(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(FakeGrid, "figures", lambda self, table: {})
    failing = FakeGrid(does=("raise",), ms=(10,), seeds=3)
    with Store.open(folder) as store:
        for point, text in zip(failing.plan({}), ("T: <one>", "T: <one>", "T: two"), strict=True):
            broken = row(point.trial, status="failed", result={}, trace={}, error=f"seed {point.trial.seed}")
            store.put(broken, 0.5, text)
        store.record_run(failing, "quick", [], "whyconv run fake-grid")
    found = open_folder(folder)
    page = assemble(found, runs_of(found), tmp_path / "page.html", [], "").read_text()
    (items,) = re.findall(r'<details class="failed">.*?<ul>(.*?)</ul>', page, re.S)
    first, second, third = items.split("<li>")[1:]
    assert "seed 0" in first and "<pre>T: &lt;one&gt;</pre>" in first
    assert "seed 1" in second and "<pre>" not in second, "one that several share is shown once"
    assert "seed 2" in third and "<pre>T: two</pre>" in third


def test_a_damaged_environment_makes_an_export_fail(folder):
    execute(folder, ("UPDATE environments SET json = replace(json, 'numpy', 'munpy')", ()))
    (done,) = one_process(["export", "theirs"], cwd=folder.parent)
    assert done.returncode == 1
    assert "its description was changed" in done.stderr
    assert json.loads((folder / "export" / "environments.json").read_text()) == {}


@pytest.mark.parametrize("name", ["../../x", "/tmp/x", "a/b", "..", "x\0y", "=1+1"])
def test_names_of_files_never_come_from_stored_text(folder, name):
    before = set(folder.parent.rglob("*"))
    forge_run(folder, preset=name)
    paths = export(folder).paths
    assert {path.parent for path in paths} == {folder / "export"}
    assert paths[0].name.startswith("fake-grid-") and paths[0].name.count("-") == 2
    assert set(folder.parent.rglob("*")) - before == {folder / "export", *paths}


# -- links, pipes and devices --------------------------------------------------------------------------


@pytest.mark.parametrize("name", [FILE, f"{FILE}-wal", "lock", "acknowledged", "workers.log"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_run_follows_no_link_and_waits_for_no_pipe(tmp_path, name, kind):
    folder, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.write_text("precious")
    if kind == "link":
        (folder / name).symlink_to(elsewhere)
    else:
        os.mkfifo(folder / name)
    if name == "workers.log":  # made anew by every run
        assert completed(STUDY, folder, options()).failed == 0
    else:
        with pytest.raises(UserError, match=name):
            complete(STUDY, folder, options())
    assert elsewhere.read_text() == "precious"


def test_reading_waits_for_no_pipe(tmp_path):
    os.mkfifo(tmp_path / FILE)
    with pytest.raises(UserError, match="there is no store"):
        open_folder(tmp_path)


@pytest.mark.parametrize("name", ["report.html", "export", "export/rows.csv", "checkpoints"])
def test_nothing_is_written_through_a_link(folder, tmp_path, name):
    target = tmp_path / "precious"
    if name in ("export", "checkpoints"):
        target.mkdir()
    else:
        target.write_text("mine")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(target)
    with pytest.raises(UserError, match="is a link"):
        if name == "report.html":
            write(Page("a page"), folder / name)
        elif name == "checkpoints":
            complete(FakeGrid(seeds=3), folder, options())
        else:
            export(folder)
    assert list(target.iterdir()) == [] if target.is_dir() else target.read_text() == "mine"


def test_a_device_is_not_replaced(folder):
    if not Path("/dev/null").is_char_device():
        pytest.skip("there is no /dev/null here")
    with pytest.raises(UserError, match="not a plain file"):
        write(Page("a page"), Path("/dev/null"))
    assert Path("/dev/null").is_char_device()


def test_a_page_that_cannot_be_written_leaves_the_old_one(folder, monkeypatch):
    page = folder / "report.html"
    page.write_text("old")
    monkeypatch.setattr(Path, "replace", lambda self, target: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(UserError, match="full"):
        write(Page("a page"), page)
    assert page.read_text() == "old"
    assert not list(folder.glob("*.tmp"))


def test_words_where_numbers_belong_leave_a_page_and_a_sentence(folder, tmp_path, monkeypatch):
    with Store.open(folder) as store:
        store.put(row(trial("work", 10, 0), result={"value": "hello"}), 0.5)
    monkeypatch.setattr(FakeGrid, "judge", lambda self, table: table["value"].sum() / 2)
    found = open_folder(folder)
    page = assemble(found, runs_of(found), tmp_path / "page.html", [], "").read_text()
    assert "fake-grid cannot be judged or drawn from these rows (TypeError" in page


def test_failed_rows_do_not_steer_the_plan_of_a_reader(tmp_path):
    from runner_fakes import FakeSearch

    study = FakeSearch(seeds=1)
    (first,) = study.plan({})
    with Store.open(tmp_path / "out") as store:
        store.put(row(first.trial, status="failed", result={}, trace={}, error="no"), 0.5)
        store.record_run(study, "quick", [], "")
    (run,) = open_folder(tmp_path / "out").runs
    assert [point.trial.key for point in run.points] == [first.trial.key]


FORGED = {
    "a list for a result": {"result": "[1,2]"},
    "a dictionary inside": {"result": '{"value":{"a":1}}'},
    "no number": {"result": '{"value":NaN}'},
    "a number beyond floats": {"result": '{"value":1e999}'},
    "an integer of 400 digits": {"result": f'{{"value":{"9" * 400}}}'},
    "a number for a trace": {"trace": "7"},
    "a word for a status": {"status": "weird"},
    "a list for a spec": {"spec": "[1,2]"},
    "a text for a task": {"spec": '{"task":"x"}'},
}


@pytest.mark.parametrize("case", FORGED)
def test_a_row_that_no_trial_leaves_is_damage_whatever_its_digest(folder, case):
    from whyconv.runner.seal import COLUMNS, seal
    from whyconv.spec import digest

    texts = dict(zip(COLUMNS, seal(row(trial("work", 10, 0))), strict=False)) | FORGED[case]
    if "spec" in FORGED[case]:
        spec = json.loads(texts["spec"])
        texts["stem"] = digest(spec)[:32]
        texts["key"] = digest({"spec": spec, "versions": json.loads(texts["versions"])})[:32]
    record = [*texts.values(), digest(list(texts.values()))]
    execute(folder, (f"INSERT OR REPLACE INTO rows VALUES ({', '.join('?' * 10)})", record))
    found = open_folder(folder)
    assert any("values that no trial produces" in each or "not JSON" in each for each in found.problems)
    assert texts["key"] not in found.rows
    export(folder)


@pytest.mark.parametrize("loads", ["[1,2]", "[[1]]", '[{"file":1,"digest":"x"}]', "{}"])
def test_loads_that_are_no_files_are_damage(folder, loads):
    forge_run(folder, loads=loads)
    assert "its list of files was changed" in open_folder(folder).problems[0]


def test_an_environment_that_is_no_description_is_damage(folder):
    execute(folder, ("INSERT INTO environments VALUES (?, ?)", (environment_id("[1,2]"), "[1,2]")))
    assert "it is not a description" in open_folder(folder).problems[0]


def test_what_is_printed_holds_no_escape_sequences(folder):
    with Store.open(folder) as store:
        name = store.record_environment({"cpu": "\x1b]0;evil\x07"})
        store.put(row(trial("work", 10, 0), environment=name), 0.5)
        store.put(row(trial("work", 20, 0), environment="\x1b[31mred"), 0.5)
    commands = ([command, "theirs"] for command in ("verify", "report", "export"))
    for done in one_process(*commands, cwd=folder.parent):
        assert done.returncode == 0, done.stderr
        assert "\x1b" not in done.stdout + done.stderr and "environments" in done.stdout + done.stderr


def test_only_files_of_our_own_are_swept(folder):
    names = ("notes.2024.tmp", "a.\u00b2.tmp", "x.1-2.tmp", f"report.html.{os.getpid()}-{'a' * 8}.tmp")
    for name in (*names, f"report.html.999999999-{'b' * 8}.tmp"):
        (folder / name).write_text("mine")
    Store.open(folder).close()
    write(Page("a page"), folder / "report.html")
    assert sorted(path.name for path in folder.glob("*.tmp")) == sorted(names)


# -- spreadsheets --------------------------------------------------------------------------------------


def test_text_that_a_spreadsheet_would_compute_is_made_harmless(folder):
    texts = ["=1+1", "+1", "-1", "@x", "\tx", "plain", "1-1"]
    labels = {f"={i}": text for i, text in enumerate(texts)}
    evil = row(trial("work", 10, 0), result={**labels, "value": -1.5})
    with Store.open(folder) as store:
        store.put(evil, 0.5)
    lines = export(folder).paths[0].read_text().splitlines()
    assert lines[0].startswith("does,m,seed,'=0,'=1,")
    assert "'=1+1,'+1,'-1,'@x,'\tx,plain,1-1,-1.5" in lines[1]


# -- environments ---------------------------------------------------------------------------------------


def test_rows_of_two_environments_in_one_folder_are_announced(folder):
    with Store.open(folder) as store:
        name = store.record_environment({**environment.describe(), "blas": {"numpy": "another kernel"}})
        store.put(row(trial("work", 10, 0), environment=name), 0.5)
    (remark,) = open_folder(folder).remarks
    assert remark.startswith("Rows were computed in 2 environments (blas numpy, blas scipy differ) and may")
    assert f"3 from {environment.identity(environment.describe())}, 1 from {name}" in remark
    assert verify(folder).remarks == (remark,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(open_runs(folder)) == 1


def test_what_changes_bytes_changes_the_environment():
    program = "from whyconv.runner import environment as e; print(e.identity(e.describe()), e._kernels())"
    seen = {}
    for name, value in (
        ("", ""),
        ("OPENBLAS_CORETYPE", "Prescott"),
        ("XLA_FLAGS", "--xla_cpu_max_isa=SSE4_2"),
        ("JAX_THREEFRY_PARTITIONABLE", "0"),
        ("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false"),
        ("JAX_COMPILATION_CACHE_DIR", "elsewhere"),
    ):
        ours = ("XLA_FLAGS", "OPENBLAS_CORETYPE")
        environ = {key: each for key, each in os.environ.items() if key not in ours}
        environ.update({name: value} if name else {})
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
        seen[name, value] = done.stdout.split()[0]
    plain, *others, flag, cache = seen.values()
    assert len({plain, *others}) == 4
    assert flag == cache == plain


def test_differences_of_environments_in_words():
    here, there = {"blas": {"numpy": "a"}, "cpu": "x"}, {"blas": {"numpy": "b"}}
    assert environment.differences(here, there) == {
        "blas numpy": "b, here a",
        "cpu": "not recorded, here x",
    }
    assert environment.differences(here, here) == {}
