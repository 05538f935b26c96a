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
SMALL = ["--set", "m=[20]", "--set", "test_size=100", "--workers", "2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("own")
    for name, text in FILES.items():
        (place / name).write_text(text)
    return place


def whyconv(folder, *words):
    done = subprocess.run(
        [sys.executable, "-c", "from whyconv.cli.main import main; main()", *words],
        cwd=folder, capture_output=True, text=True, env={**os.environ, "COLUMNS": "80"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def command(*words):
    """The one command of the page that starts so."""
    (found,) = [each for each in COMMANDS if each[: len(words)] == list(words)]
    return found


def test_each_piece_is_a_file_of_less_than_sixty_lines():
    assert len(FILES) == 6
    assert all(len(text.splitlines()) < 60 for text in FILES.values())


def test_task_network_learner_and_loss_in_one_run(folder):
    """The four commands in one, at a smaller size, by real workers."""
    given = [each[2:] for each in COMMANDS if each[:2] == ["run", "brutzkus.fig3a"]]
    assert len(given) == 4
    words = [word for each in given for word in each[: each.index("--seeds")]]
    found = json.loads(whyconv(folder, "run", "brutzkus.fig3a", *words, *SMALL, "--seeds", "2", "--json"))
    assert not found["failed"] and found["verdict"] == "undecided"
    rows = {
        row.spec["learner"]["name"]: row
        for row in api.open_runs(folder / "whyconv-runs", load=[folder / name for name in FILES])[
            0
        ].rows.values()
    }
    assert rows["own.perceptron"].result["norm"] > 0
    assert rows["gradient"].spec["task"]["name"] == "own.bump"


def test_the_study_is_judged_and_reported(folder):
    study = command("run", "own.pool-or-margin")
    found = json.loads(whyconv(folder, *study, *SMALL, "--seeds", "3", "--json"))
    assert found["verdict"] in ("consistent", "undecided") and not found["failed"]
    assert found["numbers"]["svm - pool, m=20"]["count"] == 3
    whyconv(folder, *command("report"))
    assert "Max-pooling against a hard margin" in (folder / "own-rows" / "report.html").read_text("utf-8")


def test_the_claim_holds_and_its_control_fails(folder):
    (claim,) = json.loads(whyconv(folder, *command("check"), "--json"))
    assert (claim["verdict"], claim["control_verdict"]) == ("holds", "fails")
