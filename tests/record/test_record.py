"""The record: kept rows are intact, name no machine, serve claims, and are what the gallery shows."""

import gzip
import json
import random
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from in_process import Here

from whyconv import record, registry
from whyconv.criteria import FRESH
from whyconv.criteria import file as criterion_file
from whyconv.errors import UserError
from whyconv.record import gallery, making, serving
from whyconv.runner.coordinator import complete
from whyconv.settings import configure

ROOT = Path(__file__).parents[2]
TINY = {
    "m": [8, 40], "seeds": 2, "test_size": 50, "arms.ConvPool.network.channels": 4,
    "arms.ConvPool.learner.epochs": 5, "arms.MLP.learner.epochs": 5,
}  # fmt: skip


@pytest.fixture(scope="module")
def here():
    return Here()


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """An empty shelf."""
    place = tmp_path / "shelf"
    place.mkdir()
    monkeypatch.setattr(record, "shelf", lambda: place)
    return place


@pytest.fixture
def made(here, shelf, tmp_path, monkeypatch):
    """A tiny run, made and kept as ``make record`` does it."""
    monkeypatch.setattr(making, "complete", partial(complete, place=here))
    wanted = making.Wanted(configure("brutzkus.fig3a", "quick", TINY), "quick")
    monkeypatch.setattr(making, "all_wanted", lambda only=(): [wanted])
    said = []
    making.make(tmp_path / "runs", shelf, 5, 1, said.append)
    return wanted, said


def test_what_is_made_is_kept_and_not_made_again(made, shelf, tmp_path):
    wanted, said = made
    kept = record.find("brutzkus.fig3a", "quick")
    assert len(kept.rows) == 16 and kept.serves(wanted.study) and "kept: 16 rows" in said[-1]
    assert kept.command == "whyconv run brutzkus.fig3a --preset quick"
    assert (shelf / "brutzkus.fig3a.quick.gz").read_bytes() == kept.packed()
    again = []
    making.make(tmp_path / "runs", shelf, 5, 1, again.append)
    assert again == []


def test_kept_rows_are_put_back_before_a_run(made, shelf, tmp_path, here):
    before = dict(here.known)
    here.known.clear()
    try:
        making.make(tmp_path / "other", shelf, 5, 1, [].append)
        kept = making._run(made[0], tmp_path / "third", 60, 1)
        assert here.known == {} and len(kept.rows) == 16
        first = record.find("brutzkus.fig3a", "quick")
        assert kept.digest == first.digest, "times, too, are those of the first attempt"
    finally:
        here.known.update(before)


def test_damage_is_named(made, shelf):
    file = shelf / "brutzkus.fig3a.quick.gz"
    whole = file.read_bytes()
    lines = gzip.decompress(whole).decode().split("\n")
    columns = json.loads(lines[1])
    other = [*columns[:1], columns[1] + 1, *columns[2:]]
    for content in (
        whole[:-40], b"", whole[:60] + bytes([whole[60] ^ 1]) + whole[61:],
        gzip.compress("\n".join(lines[:-1]).encode()),
        gzip.compress("\n".join([lines[0], json.dumps(other), *lines[2:]]).encode()),
    ):  # fmt: skip
        file.write_bytes(content)
        with pytest.raises(UserError, match="damaged"):
            record.find("brutzkus.fig3a", "quick")


def for_claims(shelf, **changes):
    """Put what was made where claims look for it, with changes."""
    kept = replace(record.find("brutzkus.fig3a", "quick"), preset=record.CHECK, **changes)
    (shelf / "brutzkus.fig3a.check.gz").write_bytes(kept.packed())
    return kept


def test_claims_take_kept_rows_and_compute_a_few_again(made, shelf, here):
    study = made[0].study
    for_claims(shelf)
    here.known.clear()
    found = serving.measured(study, random.Random(0), here)
    assert found.origin == "kept" and len(here.known) == 4 and len(found.table) == 16
    other = configure("brutzkus.fig3a", "quick", {**TINY, "first_seed": 50})
    assert serving.measured(other, random.Random(0), here).origin == "computed"


def test_kept_rows_that_come_out_otherwise_are_not_used(made, shelf, here):
    kept = record.find("brutzkus.fig3a", "quick")
    rows = {
        key: replace(row, result={**row.result, "test_error": row.result["test_error"] + 0.25})
        for key, row in kept.rows.items()
    }
    for_claims(shelf, rows=rows)
    found = serving.measured(made[0].study, random.Random(0), here)
    assert found.origin == "computed" and found.table["test_error"].max() <= 1


def test_kept_rows_with_a_failed_one_serve_nothing(made, shelf, here):
    kept = record.find("brutzkus.fig3a", "quick")
    one = next(iter(kept.rows))
    failed = replace(kept.rows[one], status="failed", result={}, error="out of memory")
    kept = for_claims(shelf, rows={**kept.rows, one: failed})
    assert not kept.serves(made[0].study)
    found = serving.measured(made[0].study, random.Random(0), here)
    assert found.origin == "computed" and len(found.table) == 16


@pytest.mark.parametrize("preset", ["broad", record.CHECK])
def test_a_damaged_file_decides_nothing(made, shelf, here, preset):
    """Claims read no file but their own, and compute where that one is damaged."""
    for_claims(shelf)
    (shelf / f"brutzkus.fig3a.{preset}.gz").write_bytes(b"damaged")
    found = serving.measured(made[0].study, random.Random(0), here)
    assert found.origin == ("computed" if preset == record.CHECK else "kept") and len(found.table) == 16


@pytest.mark.parametrize("lost", ["all that were chosen", "one that was chosen", "the choice"])
def test_rows_that_were_not_computed_again_prove_nothing(made, shelf, here, monkeypatch, lost):
    for_claims(shelf)
    completed = serving._completed

    def incomplete(study, kept, again, place):
        table, rows = completed(study, kept, again, place)
        gone = {"all that were chosen": again, "one that was chosen": set(list(again)[:1])}.get(lost, set())
        return table, {key: row for key, row in rows.items() if kept is None or key not in gone}

    monkeypatch.setattr(serving, "_completed", incomplete)
    if lost == "the choice":
        monkeypatch.setattr(serving, "_chosen", lambda *given: set())
    assert serving.measured(made[0].study, random.Random(0), here).origin == "computed"


@pytest.mark.parametrize("kept", record.everything(), ids=lambda kept: f"{kept.study}.{kept.preset}")
def test_the_record_names_no_machine(kept):
    text = gzip.decompress(kept.packed()).decode()
    assert not re.search(r'"[^"]*(/home/|/root|/tmp|/work/|/Users/|[A-Z]:\\\\)', text)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", kept.made) and kept.seconds > 0


def test_the_record_is_small():
    assert sum(len(file.read_bytes()) for file in record.shelf().iterdir()) <= record.LARGEST


NAMES = [s.name for s in registry.pieces("study") if criterion_file(s)]


@pytest.mark.parametrize("name", NAMES)
def test_every_study_has_a_page_made_from_its_kept_rows(name):
    page = (ROOT / gallery.FOLDER / f"{name}.md").read_text("utf-8")
    assert len(re.findall(r"!\[The problem\]\(.*\)\n\n\*.+\.\*\n", page)) == page.count("![The problem]"), (
        "a caption"
    )
    study = registry.find("study", name)
    assert study.title in page and study.criterion in page and f"whyconv run {name}" in page
    shown, unseen = record.best(study), record.find(name, record.UNSEEN)
    if shown is None:
        assert "No rows of this study are recorded yet" in page
        return
    assert shown.digest[:16] in page and f"{name}-1.svg" in page
    again = unseen is not None and unseen.digest != shown.digest
    assert ("On seeds that no run had used before" in page) == again
    if again:
        run = record.run_of(unseen)
        assert run.conclusion in page and run.answer in page
    assert (ROOT / gallery.FOLDER / f"{name}-1.svg").read_text("utf-8").startswith("<svg")


def test_readme_has_the_table_of_worths():
    readme = (ROOT / "README.md").read_text("utf-8")
    recorded = [entry for entry in gallery.entries() if entry.run]
    assert gallery.with_table(readme, gallery.worths(recorded)) == readme, "run make gallery"
    index = (ROOT / gallery.FOLDER / "README.md").read_text("utf-8")
    for entry in recorded:
        assert entry.run.answer.replace("|", "\\|") in index


def test_the_table_shows_priors_of_the_three_that_were_judged_with_a_control_that_flips():
    table = gallery.worths(list(gallery.entries()))
    shown, _, rest = table.partition("<details>")
    for line in shown.splitlines()[2:]:
        prior, *_, verdict, _ = line.strip("| ").split(" | ") if line else ("sharing", gallery.MET, "")
        assert gallery._of_the_three(prior) and verdict == gallery.MET, line
    assert len(shown.splitlines()) > 4 and "[`brutzkus.fig3a`]" in shown
    lines = {name: line for line in rest.splitlines() if (name := line.rpartition("[`")[2].partition("`")[0])}
    assert "| *fails* | " in lines["brutzkus.conjunction"]
    said = gallery._verdict_word(record.run_of(record.find("brutzkus.fig4", "quick")))
    assert said == "*consistent*, but the control did not flip: *undecided*"
    assert "a second layer" not in shown and "a second layer" in rest and "the theorem's start" in rest
    assert table.count("| verdict | on unseen seeds |") == 2


def test_pages_say_that_newer_rows_on_seeds_seen_before_confirm_nothing_new(made):
    kept = record.find("brutzkus.fig3a", "quick")
    run = record.run_of(kept)
    assert run.standing.before == 0 and min(point.trial.seed for point in run.points) < FRESH
    said = gallery._source(run, kept)
    assert "; 16 rows, all newer" in said and ". But earlier code had run these seeds before" in said
    assert "confirm nothing new ([fresh seeds](../fresh-seeds.md))" in said
    later = run.study.model_copy(update={"first_seed": FRESH})
    fresh = replace(run, study=later, points=later.plan({}))
    assert gallery._seen(fresh, [FRESH]).startswith(" No run had used these seeds before")
    old = {key: replace(row, first_at="2020-01-01T00:00:00+00:00") for key, row in run.rows.items()}
    said = gallery._source(replace(run, rows=old), kept)
    assert "exploratory" in said and "earlier code" not in said and "No run had" not in said


def test_what_a_figure_says_is_not_rounded():
    svg = '<path d="M1.234,5.678L0.04 2" opacity="0.15" transform="translate(0.333,4) scale(0.05)"/>'
    small = '<path d="M1.2,5.7L0 2" opacity="0.15" transform="translate(0.3,4) scale(0.05)"/>'
    assert gallery._small(f"{svg}<text>0.25 of 1.005</text>") == f"{small}<text>0.25 of 1.005</text>\n"


def test_rows_to_show_are_judged_then_of_the_papers_sizes_then_on_unseen_seeds(made, monkeypatch):
    study = registry.find("study", "brutzkus.fig3a")
    kept = {"quick": record.find("brutzkus.fig3a", "quick")}
    monkeypatch.setattr(record, "find", lambda name, label: kept.get(label))
    assert record.best(study) is kept["quick"]
    kept[record.UNSEEN] = replace(kept["quick"], rows=dict([*kept["quick"].rows.items()][:3]))
    assert record.best(study) is kept[record.UNSEEN]
    kept["paper"] = replace(kept["quick"], preset="paper")
    assert record.best(study) is kept["paper"]
    monkeypatch.setattr(record.Kept, "judged", property(lambda self: self is kept["quick"]))
    assert record.best(study) is kept["quick"]


def test_every_study_is_wanted_on_unseen_seeds_once():
    wanted = [each for each in making.all_wanted(["brutzkus.fig3a"]) if each.label == record.UNSEEN]
    assert [each.command for each in wanted] == [f"whyconv run brutzkus.fig3a --set first_seed={FRESH}"]
    assert min(point.trial.seed for point in wanted[0].study.plan({})) == FRESH
    own = [each.label for each in making.all_wanted(["lahoti.two-iterations"])]
    assert record.UNSEEN not in own, "its presets have such seeds"


def test_images_that_are_not_here_are_not_replaced_in_the_record():
    embedded = configure("malach.fig1", "quick", {"task.images": "digits"})
    assert making.Wanted(embedded, "quick").lacks_images
    assert not making.Wanted(configure("malach.fig3", "quick"), "quick").lacks_images
    assert not making.Wanted(configure("brutzkus.fig3a", "quick"), "quick").lacks_images


def test_rows_of_an_earlier_version_are_shown_as_such_and_serve_no_claim(made, monkeypatch):
    kept = record.find("brutzkus.fig3a", "quick")
    assert record.aged(record.run_of(kept)) == []
    monkeypatch.setattr(registry.find("learner", "svm"), "version", 99)
    run = record.run_of(kept)
    assert run.finished and run.answers and record.aged(run)[0].endswith("now 99")
    assert not kept.serves(run.study)
