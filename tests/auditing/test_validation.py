"""Experiments on the audit: resumable, tables from lines, designs as they are described."""

import json
from pathlib import Path

import numpy as np
import pytest

from whyconv.auditing import coverage_run, order_run, permuted_run, planted_run, shuffled_run
from whyconv.auditing.arms import ARMS
from whyconv.auditing.phases import ORDER
from whyconv.auditing.validation import Experiment, add, into_page, kept, main

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def counted(tmp_path):
    """An experiment that only notes what was run, and its command in the test's folder."""
    run = []

    def one(kind, seed, folder):
        run.append((kind, seed))
        folder.mkdir(parents=True)
        if (kind, seed) == ("b", 4) and len(run) < 5:
            raise KeyboardInterrupt
        return {"found": seed % 2}

    made = Experiment("tried", ("a", "b"), 3, 2, one, lambda lines: f"{len(lines)} of 4")
    places = [
        "--lines",
        str(tmp_path / "l.jsonl"),
        "--page",
        str(tmp_path / "p.md"),
        "--rows",
        str(tmp_path / "r"),
    ]
    return run, lambda *more: main(made, [*places, *more])


def test_an_experiment_goes_on_where_it_was_stopped(tmp_path, counted, capsys):
    run, command = counted
    page = tmp_path / "p.md"
    page.write_text("before\n<!-- tried -->\nold\n<!-- end of tried -->\nafter\n")
    with pytest.raises(KeyboardInterrupt):
        command()
    assert run == [("a", 3), ("b", 3), ("a", 4), ("b", 4)]
    assert "old" in page.read_text() and (tmp_path / "r" / "tried-b-4").exists()
    with (tmp_path / "l.jsonl").open("a") as file:
        file.write('{"experiment": "tried", "ki')  # a kill in the middle of a line
    run.append("again")
    (tmp_path / "r" / "tried-b-4").rmdir()
    command()
    assert run[5:] == [("b", 4)] and page.read_text().splitlines()[2] == "4 of 4"
    assert len(kept(tmp_path / "l.jsonl")) == 4 and not any((tmp_path / "r").iterdir())
    assert page.read_text().startswith("before") and page.read_text().endswith("after\n")
    command("--first", "1", "--seeds", "1", "--kind", "a")
    assert page.read_text().splitlines()[2] == "4 of 4", "seeds for building do not count"
    assert "4 of 4" in capsys.readouterr().out


def test_a_page_without_marks_is_left_alone(tmp_path):
    page = tmp_path / "p.md"
    page.write_text("no marks")
    into_page(page, "tried", "table")
    into_page(tmp_path / "none.md", "tried", "table")
    assert page.read_text() == "no marks" and not (tmp_path / "none.md").exists()


def test_the_docs_have_the_tables_of_all_lines():
    lines = kept(DOCS / "audit-planted.jsonl")
    text = (DOCS / "audit-planted.md").read_text("utf-8")
    runs = {
        "planted": planted_run,
        "shuffled": shuffled_run,
        "permuted": permuted_run,
        "coverage": coverage_run,
        "order": order_run,
    }
    for name, module in runs.items():
        own = [line for line in lines if line["experiment"] == name]
        shown = text.partition(f"<!-- {name} -->\n")[2].partition(f"\n<!-- end of {name} -->")[0]
        assert shown == (module.table(own) if own else "Not run yet.")


def test_lines_are_whole(tmp_path):
    add(tmp_path / "d" / "l.jsonl", {"a": 1})
    add(tmp_path / "d" / "l.jsonl", {"a": 2})
    assert [json.loads(text)["a"] for text in (tmp_path / "d" / "l.jsonl").read_text().splitlines()] == [1, 2]


@pytest.mark.parametrize("kind", planted_run.KINDS)
def test_what_is_run_for_planted_truths(kind):
    _, study = planted_run.study_of(kind, 1)
    phases = {point.labels["phase"] for point in study.plan({})}
    assert study.arms == ("FCN", "LCN", "CNN", "CNN + max", "CNN + global max") and set(study.arms) < set(
        ARMS
    )
    if kind == "bag":
        assert phases == {ORDER} and study.orders == 39
    else:
        assert len(study.sizes) == 4 and study.seeds == 10 and (study.orders, study.growths) == (0, 0)


def test_shuffled_tables_are_tables_of_the_same_numbers():
    one, other = (shuffled_run.table_of("wine", seed) for seed in (1, 2))
    assert one.x.shape == (133, 1, 13, 1) and one.grid == "table"
    columns = [{round(float(each), 3) for each in found.x[0, 0].mean(axis=1)} for found in (one, other)]
    assert columns[0] != columns[1]
    assert shuffled_run.table_of("diabetes", 1).classes == ()


def test_coverage_is_counted_by_the_mean_of_all_others():
    chance = np.random.default_rng(0)
    sizes, lines = [50, 100, 200], []
    for seed in range(40):
        own = 0.01 * chance.standard_normal((1, 3))
        noise = 0.02 * chance.standard_normal((2, 5, 3))
        means = np.array([[0.4, 0.3, 0.2], [0.35, 0.25, 0.15]])[:, None, :]
        first, second = means + own + noise
        errors = {coverage_run.ARMS[0]: first.tolist(), coverage_run.ARMS[1]: second.tolist()}
        lines.append(
            {"kind": "plain", "seed": seed, "errors": errors, "sizes": sizes, "ratio": 1 / 3, "grain": 0}
        )
    found = coverage_run.covered(lines)
    assert {each.given for each in found.values()} == {40}
    assert all(34 <= found[name].hits <= 40 for name in ("error", "difference", "factor", "gap"))
    far = [
        {
            **line,
            "errors": {
                arm: (np.array(e) + 0.5 * (line["seed"] == 7)).tolist() for arm, e in line["errors"].items()
            },
        }
        for line in lines
    ]
    assert coverage_run.covered(far)["error"].hits < 40
    assert "| error | 40 plain |" in coverage_run.table(lines)


def test_a_gap_that_does_not_exist_is_counted_apart():
    one, other = [[0.4, 0.3, 0.2]], [[0.35, 0.25, 0.15]]
    apart = [[0.9, 0.9, 0.8]]  # no error in common with the other
    lines = []
    for first in [apart] + 9 * [one]:
        errors = {coverage_run.ARMS[0]: 5 * first, coverage_run.ARMS[1]: 5 * other}
        lines.append(
            {"kind": "plain", "errors": errors, "sizes": [50, 100, 200], "ratio": 1 / 3, "grain": 0.01}
        )
    assert coverage_run.covered(lines)["gap"].given == 9
    assert "| 9 | " in coverage_run.table(lines).splitlines()[-1]


def test_tables_count_and_have_intervals():
    lines = [{"kind": "wine", "verdict": "matters"}, *({"kind": "wine", "verdict": "not seen"},) * 9]
    assert "| wine | 1 of 10 [0.00, 0.45] |" in shuffled_run.table(lines)
    held = [
        {"kind": "bag", "fine": None, "low": None, "high": None},
        {"kind": "bag", "fine": False, "low": 0.9, "high": None},
        {"kind": "noise", "fine": True, "low": 1.1, "high": None},
    ]
    found = permuted_run.table(held)
    assert "| all | 2 of 3 [" in found and "| bag | 2 of 2 [" in found, "by the interval, not by the check"
    assert "| noise | 0 of 1 [" in found


def test_coverage_meets_its_criterion_where_the_intervals_overlap():
    assert [coverage_run.met(hits, 200) for hits in (153, 192, 200)] == [False, True, True]
    assert not coverage_run.met(1000, 1000), "too careful for certain"
    text = (DOCS / "audit-planted.md").read_text("utf-8")
    assert [text.count(f" | {word} | ") for word in ("met", "missed")] == [5, 3]
