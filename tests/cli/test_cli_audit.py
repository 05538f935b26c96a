"""The command ``whyconv audit``: what it reads, prints, keeps and forgets."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from audit_results import digits, results
from command_line import process

from whyconv.auditing import run as running
from whyconv.auditing.planted import planted
from whyconv.auditing.result import PRIORS
from whyconv.cli.audit import Ahead
from whyconv.runner.database import FILE
from whyconv.runner.store import Store

KEYS = [
    "data", "order", "savings", "window", "arms", "best", "references", "forecast", "controls", "warnings",
    "rounds", "seconds", "out",
]  # fmt: skip


@pytest.fixture
def series(tmp_path, monkeypatch):
    """A folder with a small file of series, in which the test works."""
    monkeypatch.chdir(tmp_path)
    made = planted("shift", 160, 24, 5, 7)
    np.savez(tmp_path / "waves.npz", X=made.x[:, 0, :, 0], y=made.y, who=np.arange(160) // 4)
    return tmp_path


@pytest.mark.parametrize("name", results())
def test_json_has_the_keys_that_are_promised(name):
    told = results()[name].to_json()
    assert list(told) == KEYS
    assert list(told["data"]) == ["name", "examples", "shape", "classes", "metric"]
    assert list(told["order"]) == ["verdict", "p", "here", "permuted"]
    assert [each["prior"] for each in told["savings"]] == list(PRIORS)
    for each in told["savings"]:
        assert list(each) == ["prior", "factor", "low", "high", "verdict"]
    for each in (*told["arms"], *told["references"]):
        assert list(each) == ["name", "error", "low", "high"]
    json.dumps(told, allow_nan=False)


def test_what_is_not_finite_is_null():
    open_end = replace(digits().savings[0], high=float("inf"))
    assert replace(digits(), savings=(open_end,)).to_json()["savings"][0]["high"] is None


def test_a_dry_run_tells_what_was_read_and_writes_nothing(whyconv, series):
    done = whyconv("audit", "waves.npz", "--dry-run", "--groups", "who", "--minutes", "2")
    assert done.returncode == 0 and done.stderr == ""
    for words in (
        "waves: 160 series of 24 steps, 2 classes, error",
        "Groups: 40",
        "windows",
        "2 min are over",
        "Nothing was written.",
    ):
        assert words in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert [path.name for path in series.iterdir()] == ["waves.npz"]


def test_a_dry_run_as_json(whyconv, series):
    done = whyconv("audit", "waves.npz", "--dry-run", "--json", "--arms", "FCN,CNN + max")
    told = json.loads(done.stdout)
    assert told["data"] == {
        "name": "waves", "examples": 160, "shape": [1, 24, 1], "classes": 2, "metric": "error",
        "grid": "series", "groups": None,
    }  # fmt: skip
    assert told["plan"]["arms"] == ["FCN", "CNN + max"] and told["plan"]["sizes"][-1] == 120


def finished(folder):
    """An engine that ends at once, with a result whose rows are in the folder."""

    def audit(dataset, *, watch, **options):
        watch(running.Progress("round 1", 0.5, 30.0, digits()))
        folder.mkdir(exist_ok=True)
        return replace(digits(), out=str(folder), curves=())

    return audit


def test_json_stands_alone_on_standard_output(whyconv, series, monkeypatch):
    monkeypatch.setattr(running, "audit", finished(series / "out"))
    done = whyconv("audit", "waves.npz", "--json")
    assert done.returncode == 0
    assert list(json.loads(done.stdout)) == KEYS
    assert "round 1  50%, 30 s left: order matters" in done.stderr


def test_the_screen_names_the_report(whyconv, series, monkeypatch):
    monkeypatch.setattr(running, "audit", finished(series / "out"))
    done = whyconv("audit", "waves.npz")
    assert done.returncode == 0 and f"Report: {series / 'out' / 'report.html'}" in done.stdout
    page = (series / "out" / "report.html").read_text()
    assert "whyconv audit waves.npz" in page


def test_the_first_page_is_drawn_beside_the_run_not_after_it(monkeypatch):
    from whyconv.report import audit_page

    drawn = []
    monkeypatch.setattr(audit_page, "render", lambda result: drawn.append(result) or 1 / 0)
    ahead, whole = Ahead(), digits()
    for found in (None, replace(whole, curves=()), whole, whole):
        ahead(found)
    ahead.wait()
    assert drawn == [whole], "once, when there are curves; what fails there is left to the page itself"
    Ahead().wait()


def test_ctrl_c_is_one_sentence(whyconv, series, monkeypatch):
    def pressed(dataset, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "audit", pressed)
    done = whyconv("audit", "waves.npz")
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.count("\n") == 1 and "the same command goes on" in done.stderr


def test_an_audit_from_the_command_to_the_page_and_forgotten(whyconv, series):
    """One short audit: the screen, what is kept, the page from rows alone, --forget, and going on."""
    again = ("audit", "waves.npz", "--minutes", "0.08", "--arms", "FCN,CNN", "--out", "a")
    first = process(*again, "--json", cwd=series)
    assert first.returncode == 0, first.stderr
    told = json.loads(first.stdout)
    assert list(told) == KEYS and told["out"] == "a"
    (copy,) = (series / "a" / "data").iterdir()
    assert copy.suffix == ".npz" and (series / "a" / FILE).exists()
    assert (series / "a" / "report.html").stat().st_size > 10_000

    (series / "a" / "data" / ("0" * 32 + ".npz")).write_bytes(b"the user's own")
    forgotten = whyconv("audit", "--forget", "a")
    assert forgotten.returncode == 0 and copy.name in forgotten.stdout
    assert [path.name for path in (series / "a" / "data").iterdir()] == ["0" * 32 + ".npz"]
    assert whyconv("audit", "a", "--forget").stdout == "a keeps no copy of data.\n"

    shown = whyconv("report", "a", "--out", "page.html")
    assert shown.returncode == 0 and "waves: 160 series of 24 steps" in shown.stdout
    assert "Does the order of features matter?" in (series / "page.html").read_text()

    rows = (series / "a" / FILE).stat().st_size
    second = process(*again[:-4], "--arms", "FCN", "--target", "0.3", "--out", "a", cwd=series)
    assert second.returncode == 0 and copy.exists()
    assert (series / "a" / FILE).stat().st_size >= rows

    both = whyconv("report", "a", "--out", "page.html")
    assert both.stdout.count("waves: 160 series of 24 steps") == 2, "of both audits in the folder"
    page = (series / "page.html").read_text()
    assert page.count("Does the order of features matter?") == 2 and page.count("<h1>") == 2
    worth = whyconv("worth", "a")
    assert worth.returncode == 0 and worth.stdout.count("not judged  waves") == 2 * len(PRIORS)
    assert [each["prior"] for each in json.loads(whyconv("worth", "a", "--json").stdout)] == [*PRIORS] * 2
    with Store.read(series / "a") as store:
        assert [run.settings.get("target") for run in store.contents().runs()] == [None, 0.3]


def test_links_and_other_folders_are_not_forgotten(whyconv, series):
    (series / "other").mkdir()
    shutil.copy(series / "waves.npz", series / "other" / "waves.npz")
    done = whyconv("audit", "--forget", "other")
    assert done.returncode == 2 and "not the folder of an audit" in done.stderr
    assert (series / "other" / "waves.npz").exists()
