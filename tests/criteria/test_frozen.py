"""Criteria are frozen in dated files: the code is as frozen, changes are seen, older rows are exploratory."""

import json
from dataclasses import replace
from importlib.resources import files

import pytest
import runner_fakes
from made_rows import fill

from whyconv import criteria, registry
from whyconv.criteria.__main__ import freeze, main
from whyconv.errors import UserError
from whyconv.runner import store as store_module
from whyconv.runner.store import Store
from whyconv.runs import Run
from whyconv.settings import configure
from whyconv.spec import digest
from whyconv.trial import Row

STUDIES = [study for study in registry.pieces("study") if study.__module__.startswith("whyconv.papers.")]
FIG4 = registry.find("study", "brutzkus.fig4")


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_every_study_is_as_frozen(study):
    assert not list(criteria.differences(study)), f"python -m whyconv.criteria freeze {study.name}"
    frozen = criteria.frozen(study)
    assert frozen is not None and digest(frozen.content) == frozen.digest
    dates = [each["frozen"] for each in frozen.history] + [frozen.date]
    assert dates == sorted(dates)
    assert all(preset["seeds"]["count"] >= 1 for preset in frozen.content["presets"].values())


def test_no_file_is_left_over():
    for paper in files("whyconv.papers").iterdir():
        folder = paper.joinpath("criteria")
        for each in folder.iterdir() if folder.is_dir() else ():
            stored = json.loads(each.read_text("utf-8"))
            assert each.name == f"{registry.find('study', stored['study']).name.partition('.')[2]}.json"


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """Frozen criteria are written elsewhere."""
    monkeypatch.setattr(criteria, "file", lambda study: tmp_path / "criteria" / f"{study.name}.json")
    return tmp_path / "criteria"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("thresholds", {**FIG4.thresholds, "rise": 0.04}),
        ("criterion", FIG4.criterion + " Or not."),
        ("broken", "nothing"),
        ("says", "another sentence"),
        ("presets", {**FIG4.presets, "quick": {**FIG4.presets["quick"], "seeds": 4}}),
        ("presets", {**FIG4.presets, "paper": {"first_seed": 100}}),
    ],
)
def test_each_part_of_a_criterion_is_covered(shelf, monkeypatch, name, value):
    assert "frozen, " in freeze("brutzkus.fig4")
    first = criteria.frozen(FIG4)
    assert first is not None and not first.changed(FIG4)
    monkeypatch.setattr(FIG4, name, value)
    part = {"broken": "control"}.get(name, name)
    assert first.changed(FIG4) == [part]
    assert f"{part} changed" in freeze("brutzkus.fig4")
    second = criteria.frozen(FIG4)
    assert second is not None and second.digest != first.digest and not second.changed(FIG4)
    assert second.history == ({"digest": first.digest, "frozen": first.date},)


def test_freezing_again_changes_nothing_and_a_new_setting_is_no_change(shelf):
    freeze("brutzkus.fig4")
    before = (shelf / "brutzkus.fig4.json").read_text()
    assert "as frozen" in freeze("brutzkus.fig4") and (shelf / "brutzkus.fig4.json").read_text() == before
    frozen = criteria.frozen(FIG4)
    assert frozen is not None
    known = {name: value for name, value in frozen.content["settings"].items() if name != "test_size"}
    assert not replace(frozen, content={**frozen.content, "settings": known}).changed(FIG4)
    assert replace(frozen, content={**frozen.content, "settings": {**known, "m": [100]}}).changed(FIG4)


def test_a_file_that_was_edited_by_hand_does_not_count(shelf):
    freeze("brutzkus.fig4")
    path = shelf / "brutzkus.fig4.json"
    path.write_text(path.read_text().replace('"rise": 0.05', '"rise": 0.04'))
    assert criteria.frozen(FIG4) is None
    path.write_text("{")
    assert criteria.frozen(FIG4) is None


def test_only_a_study_with_a_paper_and_its_sentence_can_be_frozen(shelf, monkeypatch, capsys):
    monkeypatch.setattr(FIG4, "says", "")
    with pytest.raises(UserError, match="which sentence"):
        freeze("brutzkus.fig4")
    assert main(["freeze", "no.study"]) == 2
    assert "there is no study 'no.study'" in capsys.readouterr().err


def finished(study, *times):
    """A run whose rows ended at these times, one after the other."""
    points = study.plan({})[: len(times)]
    rows = {
        p.trial.key: Row(p.trial.key, p.trial.stem, {}, {}, "ok", first_at=at)
        for p, at in zip(points, times, strict=True)
    }
    return Run(study, points, rows, out=None, command="", preset="quick")  # pyright: ignore


def test_rows_older_than_the_criterion_are_exploratory(shelf):
    study = configure("brutzkus.fig4")
    assert finished(study, "").standing is None
    assert finished(study, "").said_of_criterion == "Criterion not frozen."
    freeze("brutzkus.fig4")
    frozen = criteria.frozen(FIG4)
    assert frozen is not None
    year = int(frozen.date[:4])
    old, new = frozen.date.replace(str(year), str(year - 1)), frozen.date.replace(str(year), str(year + 1))
    all_new = finished(study, new, new, frozen.date)
    assert all_new.standing is not None
    assert all_new.standing.data() == {
        "digest": frozen.digest, "date": frozen.date, "rows_before": 0, "rows_after": 3, "changed": [],
        "other_settings": [],
    }  # fmt: skip
    assert all_new.said_of_criterion.endswith(f"digest {frozen.digest[:12]}; 3 rows, all newer.")
    mixed = finished(study, new, old, "", "no time")
    assert mixed.said_of_criterion.endswith("3 of 4 rows are older than the criterion: exploratory.")
    zoned = finished(study, frozen.date.replace("+00:00", "+05:00"), frozen.date.replace("+00:00", ""))
    assert zoned.standing is not None and (zoned.standing.before, zoned.standing.after) == (1, 1)


def test_the_time_of_a_row_is_that_of_the_first_attempt(tmp_path, monkeypatch):
    trial = runner_fakes.trial()
    with Store.open(tmp_path) as store:
        for year in (2024, 2025, 2026):
            monkeypatch.setattr(store_module, "_now", lambda *_, year=year: f"{year}-01-01T00:00:00+00:00")
            assert store.put(runner_fakes.row(trial), 1.0) == "2024-01-01T00:00:00+00:00"
    with Store.read(tmp_path) as store:
        assert store.rows()[trial.key].first_at == "2024-01-01T00:00:00+00:00"


def test_run_and_report_say_it(whyconv, tmp_path):
    """A quick study of ours that was frozen before this run; its criterion is as old as its file."""
    fill(tmp_path / "rows", configure("brutzkus.fig4", "quick", {"positions": [5, 10], "m": 4}, 1))
    code, out, _ = whyconv(
        "run", "brutzkus.fig4", "--set", "positions=5,10", "--seeds", "1", "--set", "m=4",
        "--out", tmp_path / "rows", "--json",
    )  # fmt: skip
    told = json.loads(out)["criterion_frozen"]
    frozen = criteria.frozen(FIG4)
    assert code == 0 and frozen is not None
    assert (told["digest"], told["date"], told["rows_before"]) == (frozen.digest, frozen.date, 0)
    assert told["rows_after"] == 8 and "seeds=1" in told["other_settings"] and told["changed"] == []
    code, out, _ = whyconv("report", tmp_path / "rows")
    page = (tmp_path / "rows" / "report.html").read_text("utf-8")
    for text in (out, page):
        assert f"digest {frozen.digest[:12]}; 8 rows, all newer" in " ".join(text.split())


def test_other_settings_and_a_changed_criterion_are_said(shelf, monkeypatch):
    freeze("brutzkus.fig4")
    other = configure("brutzkus.fig4", "quick", {"positions": [5, 40]}, seeds=7)
    said = finished(other, "").said_of_criterion
    assert "settings other than frozen: positions=[5,40], seeds=7" in said
    monkeypatch.setattr(FIG4, "thresholds", {"rise": 0.0})
    assert "changed since without freezing it again: thresholds" in finished(other, "").said_of_criterion
