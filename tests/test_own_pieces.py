"""The files that docs/own-pieces.md shows are complete and short, and the commands beside them work."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from whyconv import api

PAGE = (Path(__file__).parent.parent / "docs" / "own-pieces.md").read_text("utf-8")
FILES = dict(re.findall(r"^```python (own_\w+\.py)\n(.*?)^```", PAGE, re.M | re.S))
COMMANDS = [shlex.split(line) for line in re.findall(r"^    whyconv (.*)$", PAGE, re.M)]
PAPER = re.findall(r"^```python (whyconv_papers/\S+)\n(.*?)^```", PAGE, re.M | re.S)
MAIN = "from whyconv.cli.main import main; main()"
SMALL = ["--set", "m=[20]", "--set", "test_size=100", "--workers", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("own")
    for name, text in FILES.items():
        (place / name).write_text(text)
    return place


@pytest.fixture
def told(whyconv, folder, monkeypatch):
    """What a command prints in the folder of the files; trials are run by real workers."""
    monkeypatch.chdir(folder)

    def call(*words):
        done = whyconv(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def command(*words):
    """The one command of the page that starts so."""
    (found,) = [each for each in COMMANDS if each[: len(words)] == list(words)]
    return found


def test_each_piece_is_a_file_of_less_than_sixty_lines():
    assert len(FILES) == 6
    assert all(len(text.splitlines()) < 60 for text in FILES.values())


@pytest.mark.long
def test_task_network_learner_and_loss_in_one_run(folder, told):
    """The four commands in one, at a smaller size, by real workers."""
    given = [each[2:] for each in COMMANDS if each[:2] == ["run", "brutzkus.fig3a"]]
    assert len(given) == 4
    words = [word for each in given for word in each[: each.index("--seeds")]]
    found = json.loads(told("run", "brutzkus.fig3a", *words, *SMALL, "--seeds", "2", "--json"))
    assert not found["failed"] and found["verdict"] == "undecided"
    rows = {
        row.spec["learner"]["name"]: row
        for row in api.open_runs(folder / "whyconv-runs", load=[folder / name for name in FILES])[
            0
        ].rows.values()
    }
    assert rows["own.perceptron"].result["norm"] > 0
    assert rows["gradient"].spec["task"]["name"] == "own.bump"


def test_the_study_is_judged_and_reported(folder, told):
    study = command("run", "own.pool-or-margin")
    found = json.loads(told(*study, *SMALL, "--seeds", "3", "--json"))
    assert found["verdict"] in ("consistent", "undecided") and not found["failed"]
    assert found["numbers"]["svm - pool, m=20"]["count"] == 3
    told(*command("report"))
    assert "fewer examples than a hard margin?" in (folder / "own-rows" / "report.html").read_text("utf-8")


def test_a_paper_is_a_folder_on_the_path(folder):
    ((place, text),) = PAPER
    (folder / place).parent.mkdir(parents=True)
    for room in list((folder / place).parents)[:2]:
        (room / "__init__.py").touch()
    (folder / place).write_text(text)
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *command("check", "coins"), "--json"],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (claim,) = json.loads(done.stdout)
    assert (claim["claim"], claim["verdict"], claim["control_verdict"]) == ("coins.fair", "holds", "fails")


def test_the_claim_holds_and_its_control_fails(told):
    (claim,) = json.loads(told(*command("check", "own.majority"), "--json"))
    assert (claim["verdict"], claim["control_verdict"]) == ("holds", "fails")
