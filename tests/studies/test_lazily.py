"""Plans of cells: the same points, keys and costs as a plan that is made at once."""

import tracemalloc
from dataclasses import replace

import pytest

from whyconv.runner.forecast import footprint, forecast
from whyconv.runner.stored import Remembered
from whyconv.settings import configure
from whyconv.studies import Cell
from whyconv.studies.lazily import ByKey, CellPlan, Keys, Trials
from whyconv.trial import Row

ROW = Row("", "", {}, {}, "ok", {"test_error": 0.5}, environment="here")


@pytest.fixture(scope="module", params=["brutzkus.fig3a", "malach.fig1", "lahoti.alignment"])
def study(request):
    return configure(request.param, "quick", seeds=3)


def test_points_are_those_of_the_plan(study):
    whole, lazy = [point for cell in study.cells() for point in cell.points()], CellPlan(study.cells())
    assert len(lazy) == len(whole) > 5
    assert list(lazy) == whole
    assert lazy.keys == [point.trial.key for point in whole]
    assert [point.trial.key for point in lazy] == lazy.keys
    for mine, theirs in zip(lazy, whole, strict=True):
        assert mine.trial.canonical() == theirs.trial.canonical()
        assert (mine.trial.stem, mine.trial.versions) == (theirs.trial.stem, theirs.trial.versions)
        assert (mine.trial.program, mine.trial.form) == (theirs.trial.program, theirs.trial.form)
        assert mine.trial.model_copy().key == theirs.trial.key


def test_it_is_a_sequence(study):
    lazy = CellPlan(study.cells())
    assert lazy[-1] == lazy[len(lazy) - 1] and list(lazy[1:4]) == [lazy[1], lazy[2], lazy[3]]
    with pytest.raises(IndexError):
        lazy[len(lazy)]
    assert [point.trial.task for point in lazy.samples()] == [
        lazy[i].trial.task for i in range(2, len(lazy), 3)
    ]


def test_by_key_and_what_is_missing(study):
    lazy = CellPlan(study.cells())
    points = ByKey(lazy)
    assert list(points) == lazy.keys and len(points) == len(lazy) and "x" not in points
    assert all(points[key].trial.key == key for key in points)
    rest = points.without(dict.fromkeys(lazy.keys[:4]))
    assert [point.trial.key for point in rest] == lazy.keys[4:]
    assert [number for _, number in rest.counted()] == [2] + [3] * (len(lazy) // 3 - 2)


def test_costs_are_those_of_all_trials(study):
    trials = Trials(ByKey(CellPlan(study.cells())).without({}))
    everything = [point.trial for cell in study.cells() for point in cell.points()]
    mine, theirs = forecast(trials, 4), forecast(everything, 4)
    assert (mine.trials, mine.workers, mine.memory) == (theirs.trials, theirs.workers, theirs.memory)
    assert mine.seconds == pytest.approx(theirs.seconds) and mine.seconds_limit == pytest.approx(
        theirs.seconds_limit
    )
    assert footprint(trials) == footprint(everything)
    assert len(trials[:2]) == 2 and trials[0] == everything[0]


def test_rows_on_disk_are_remembered_by_status_and_environment(study):
    points = CellPlan(study.cells()).by_key
    first, second, *_ = points
    failed = replace(ROW, status="failed", environment="there")
    rows = Remembered(points, {first: ROW, "f" * 32: failed})
    assert first in rows and second not in rows and rows.get(second) is None
    rows[second] = failed
    rows[first] = ROW
    assert list(rows) == [first, second, "f" * 32] and len(rows) == 3
    assert [(row.status, row.environment) for row in rows.values()] == [
        ("ok", "here"), ("failed", "there"), ("failed", "there"),
    ]  # fmt: skip
    left = [point.trial.key for point in points.without(rows)]
    assert left == [point.trial.key for point in rows.missing()] == list(points)[2:]


def test_rows_of_very_many_environments_are_told_apart(study):
    """More than fit into two bytes; a run that cannot count them could never go on."""
    points = CellPlan(study.cells()).by_key
    first, second, *_ = points
    rows = Remembered(points, {first: ROW})
    for number in range(2**16):
        rows[second] = replace(ROW, environment=str(number))
    assert (rows[first].environment, rows[second].environment) == ("here", "65535")
    assert len(rows) == 2 and len(rows.missing()) == len(points) - 2


def test_keys_that_begin_alike_are_told_apart():
    packed = [bytes([1] * 8 + [end] * 8) for end in (250, 3, 250, 5)]
    keys = Keys(b"".join(packed))
    assert [keys.place(each.hex()) for each in packed] == [0, 1, 0, 3] and keys.alike
    one = packed[0].hex()
    strangers = ["", "xy", "01" * 8, "01" * 16, bytes([1] * 8 + [4] * 8).hex(), one.upper(), f"{one} ", None]
    assert {keys.place(each) for each in strangers} == {None}


def test_a_trial_that_two_cells_ask_for_is_one(study):
    cells = list(study.cells())
    twice = ByKey(CellPlan([*cells, *cells]))
    once = list(twice)
    assert len(twice) == len(once) == len(CellPlan(cells))
    assert len(twice.without({})) == len(twice)
    rows = Remembered(twice, {once[1]: ROW})
    assert [point.trial.key for point in rows.missing()] == [once[0], *once[2:]]
    rows[once[0]] = rows[once[-1]] = ROW
    assert [point.trial.key for point in rows.missing()] == once[2:-1] and len(rows) == 3


def test_a_point_takes_little_memory_and_a_bad_cell_is_refused():
    cell = next(iter(configure("brutzkus.fig3a").cells()))
    many = CellPlan([Cell(**{**vars(cell), "seeds": range(100_000)})])
    many.keys.place("")  # numpy is there
    tracemalloc.start()
    many = CellPlan([Cell(**{**vars(cell), "seeds": range(100_000)})])
    points = many.by_key
    rest, rows = points.without({}), Remembered(points, {many.keys[7]: ROW})
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 40 * len(many) == 40 * len(rest) and len(rows) == 1
    assert many[99_999].trial.seed == 99_999
    with pytest.raises(Exception, match="seed"):
        CellPlan([Cell(**{**vars(cell), "seeds": range(2**31 - 1, 2**31 + 1)})])
    assert len(CellPlan([])) == 0 and not CellPlan([])
