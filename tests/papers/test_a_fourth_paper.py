"""Adding a paper is adding a folder: one on Python's path is found by every command, and by workers."""

import json
import os

import pytest
from command_line import one_process

CLAIM = '''
from whyconv.claims import Claim
from whyconv.verdict import Evidence


class Sum(Claim, name="fourth.sum"):
    """Two and two are four."""

    reference = "Fourth & Paper, Lemma 1"
    expected = "holds"
    broken = "one of them is three"

    def decide(self, broken):
        total = 2 + (3 if broken else 2)
        return Evidence("holds" if total == 4 else "fails", {"sum": total})
'''
LEARNER = '''
from whyconv.learners.margin import LinearSVM


class Pupil(LinearSVM, name="fourth.pupil"):
    """An SVM by another name, which workers know only if they know the paper."""

    reference = "Fourth & Paper, Algorithm 1"
'''
STUDY = '''
from pydantic import Field

from whyconv.studies import Judgement
from whyconv.studies.grid import Arm, GridStudy
from whyconv.tasks import TaskField
from whyconv.verdict import Evidence


class Figure(GridStudy, name="fourth.figure"):
    """How often a pupil errs."""

    reference = "Fourth & Paper, Figure 1"
    title = "A pupil errs less often than a coin"
    criterion = "The largest error is below 0.5."
    broken = "every error is replaced by 1"
    presets = {"quick": {}}

    task: TaskField = Field("detection", validate_default=True)
    arms: dict[str, Arm] = Field({"Pupil": {"learner": "fourth.pupil"}}, validate_default=True)
    m: tuple[int, ...] = (20, 40)
    seeds: int = 2

    def judge(self, table):
        def judged(errors):
            return Evidence("consistent" if errors.max() < 0.5 else "fails", {"largest": float(errors.max())})

        return Judgement(judged(table["test_error"]), judged(0 * table["test_error"] + 1))

    def figures(self, table):
        from whyconv.report.charts import curves

        return {"Figure 1": curves(table, "m", "test_error", title=self.title, x_title="m", y_title="error")}
'''
FILES = {"claims": CLAIM, "learners": LEARNER, "studies": STUDY}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A folder for Python's path that holds one paper."""
    place = tmp_path_factory.mktemp("shelf")
    for room, source in FILES.items():
        folder = place / "whyconv_papers" / "fourth" / room
        folder.mkdir(parents=True)
        for empty in (folder.parent, folder):
            (empty / "__init__.py").touch()
        (folder / "only.py").write_text(source)
    return place


def whyconv(*commands, path):
    """The command line with that folder on the path, in it."""
    return one_process(
        *commands, cwd=path, PYTHONPATH=os.pathsep.join([str(path), os.environ.get("PYTHONPATH", "")])
    )


def test_a_folder_on_the_path_is_found_by_every_command(shelf):
    listed, checked, run, reported = whyconv(
        ["list"],
        ["check", "fourth", "--json"],
        ["run", "fourth", "--workers", "1", "--out", "rows", "--json"],
        ["report", "rows", "--check", "fourth"],
        path=shelf,
    )
    listed = listed.stdout
    assert "fourth.sum" in listed and "fourth.figure" in listed and "fourth: Fourth & Paper" in listed

    (claim,) = json.loads(checked.stdout)
    assert checked.returncode == 0 and claim["paper"] == "fourth"
    assert (claim["verdict"], claim["control_verdict"], claim["numbers"]) == ("holds", "fails", {"sum": 4})

    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert (told["study"], told["verdict"], told["failed"]) == ("fourth.figure", "consistent", [])
    assert [line["count"] for line in told["means"]] == [2, 2] and told["criterion_frozen"] is None

    page = (shelf / "rows" / "report.html").read_text()
    assert reported.returncode == 0, reported.stderr
    assert "A pupil errs less often than a coin" in page and "Two and two are four." in page
    assert "Criterion not frozen." in page and "fourth.figure: Criterion not frozen." in reported.stdout


def test_a_paper_that_cannot_be_imported_is_named_in_a_sentence(tmp_path):
    folder = tmp_path / "whyconv_papers" / "broken"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("nonsense_name\n")
    (done,) = whyconv(["list"], path=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "the papers in whyconv_papers could not be loaded: NameError" in done.stderr
