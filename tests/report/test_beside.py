"""A report of several runs of a study compares them; one of another study is left alone."""

from dataclasses import replace

import pytest

from whyconv import record
from whyconv.report.assemble import beside
from whyconv.report.html import Page, Section, render
from whyconv.worths import apart, shown


@pytest.fixture(scope="module")
def runs():
    return [record.run_of(record.find("brutzkus.fig3a", preset)) for preset in ("paper", "quick")]


def test_two_runs_of_a_study_are_side_by_side(runs):
    paper, quick = runs
    assert (paper.preset, quick.preset) == ("paper", "quick")
    made = beside(Section("brutzkus.fig3a", "Two"), quick, [paper])
    table = made.tables["Two runs side by side"]
    assert list(table.columns) == ["what", "first run", "this run"]
    said = dict(zip(table["what"], table["this run"], strict=True))
    assert said["trials"] == "60 of 60" and said["verdict"] == "consistent"
    assert said["preset"] == "quick" and list(table["first run"])[1] == "paper"
    page = render(Page("A page", sections=[made]))
    assert 'data-label="this run"' in page


def test_runs_of_a_study_are_told_apart_and_each_worth_leads_to_its_run(runs):
    made = [
        Section(run.study.name, run.study.title, apart=remark, worths=lines)
        for run, remark, lines in zip(runs, apart(runs), shown(runs), strict=True)
    ]
    assert [section.apart for section in made] == ["paper", "quick"] and apart(runs[:1]) == [""]
    page = render(Page("A page", sections=made))
    assert page.count('<a href="#study-brutzkus-fig3a">brutzkus.fig3a (paper)</a>') == len(made[0].worths)
    assert page.count('<a href="#study-brutzkus-fig3a-2">brutzkus.fig3a (quick)</a>') == len(made[1].worths)
    assert f"{runs[0].study.title} (quick)" in page and "2 runs of 1 study with" in page
    assert "<h2>What each prior is worth</h2>" not in render(Page("A page", sections=made[:1]))


def test_the_first_run_and_another_study_stay_alone(runs):
    section = Section("brutzkus.fig3a", "One")
    assert beside(section, runs[0], []) == section
    study = type("Other", (), {"name": "own.other"})()
    assert beside(section, runs[0], [replace(runs[1], study=study)]) == section
