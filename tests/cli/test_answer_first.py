"""The answer first: worth, compare, dry runs, and a run in a notebook."""

import json
import re

import pytest
from made_rows import fill

import whyconv as notebook
from whyconv.cli import main as cli
from whyconv.settings import configure

TINY = {
    "m": [4, 8], "arms.ConvPool.network.channels": 4, "arms.ConvPool.learner.epochs": 5,
    "arms.MLP.learner.epochs": 5, "arms.ConvPool, scrambled input.learner.epochs": 5,
}  # fmt: skip


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answer") / "rows"
    fill(folder, configure("brutzkus.fig3a", "quick", TINY, 2))
    return folder, notebook.run("brutzkus.fig3a", set=TINY, seeds=2, out=folder, workers=1)


def test_worth_gives_objects_from_the_rows(rows, whyconv):
    folder, run = rows
    found = json.loads(whyconv("worth", folder, "--json").stdout)
    assert found and {"prior", "factor", "low", "high", "data", "study", "command"} <= found[0].keys()
    differences = [each for each in found if each["kind"] == "difference"]
    assert all(each["factor"] is None and each["difference"] is not None for each in differences)
    assert {each["sentence"] for each in found} == {answer.sentence for answer in run.answers}
    head, *lines = whyconv("worth", folder).stdout.splitlines()
    assert head.split() == ["prior", "worth", "where", "study"]
    assert lines[0].rstrip().endswith("brutzkus.fig3a (other settings)") and "; detection" in lines[0]


def test_a_run_shows_itself_in_a_notebook(rows):
    folder, run = rows
    assert len(repr(run)) < 400 and run.study.name in repr(run)
    shown = run._repr_html_()
    assert "<svg" in shown and "<script" not in shown and run.verdict in shown
    chart = run.figure()
    for each in (chart, chart.properties(width=200)):
        drawn = each._repr_mimebundle_(None, None)["text/html"]
        assert (
            "vegaEmbed(" in drawn
            and "<svg" in drawn
            and not re.search(r"""(src|import)\s*[=(]?\s*["']http""", drawn)
        )
    assert chart.to_dict() == super(type(run), run).figure().to_dict()
    assert run.report().read_text("utf-8").count('class="answer"') == 1
    assert run.uncarried.startswith("Changed: ConvPool (")
    assert run.uncarried.endswith("Not carried over to: SVM.")
    same = run.compare(notebook.open_runs(folder)[0])
    assert (same["first"] == same["second"]).all() and len(same) > 5
    assert notebook.list()["studies"]


def test_two_folders_are_compared(rows, whyconv, tmp_path):
    folder, _ = rows
    found = json.loads(whyconv("compare", folder, folder, "--json").stdout)
    assert found[0]["study"] == "brutzkus.fig3a"
    same = whyconv("compare", folder, folder).stdout
    assert same.startswith("\nbrutzkus.fig3a\n") and same.count(str(folder)) == 2
    assert whyconv("compare", folder, tmp_path / "none").returncode == 2


def test_a_dry_run_writes_nothing(whyconv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = json.loads(whyconv("run", "brutzkus.fig3a", "--set", "m=40", "--dry-run", "--json").stdout)
    assert plan["trials"] == 20 and plan["grid"]["m"] == [40] and plan["settings"] == ["m=[40]"]
    assert len(json.loads(whyconv("run", "brutzkus", "--dry-run", "--json").stdout)) > 5
    both = whyconv("run", "brutzkus.fig3a", "brutzkus.fig3b", "--set", "m=40", "--dry-run").stdout
    assert re.search(r"^In all: about (\d+) trials, about \d+ ", both, re.M)[1] == "32"
    changed = whyconv("run", "brutzkus.fig3a", "--set", "arms.ConvPool.network.stride=10", "--dry-run").stdout
    assert "ConvPool, scrambled input (stride=10)" in " ".join(changed.split())
    assert "Not carried over to: MLP; SVM." in " ".join(changed.split())
    wrong = whyconv("run", "brutzkus.fig3a", "--set", "arms.ConvPool.network.strid=1", "--dry-run").stderr
    assert "there is no setting 'arms.ConvPool.network.strid'" in wrong
    assert list(tmp_path.iterdir()) == []


def test_whyconv_alone_says_where_to_start(whyconv):
    assert whyconv().stdout.startswith("Start with\n") and len(cli.START.splitlines()) == 5
    for words in ((), ("exact", "--help"), ("data", "--help")):
        assert "..." not in whyconv(*words).stdout.partition("Commands:")[2], (
            "what a command does fits into its line"
        )
    near = whyconv("run", "brutzkus.fig3z").stderr
    assert near.count("brutzkus.fig") >= 3
