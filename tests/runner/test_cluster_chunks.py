"""How trials are cut into chunks, and what the coordinator's queue gives to whom."""

from whyconv.runner.backlog import Backlog
from whyconv.runner.cluster.chunks import MOST, Pace
from whyconv.runner.cluster.nodes import differing, versions


def job(key, kind):
    return {"key": key, "kind": kind}


def test_a_chunk_takes_about_a_second():
    pace = Pace()
    assert pace.size("a", 1000, 2) == 1, "nobody knows how long one takes"
    pace.learn("a", 0.005)
    assert pace.size("a", 1000, 2) == 200
    assert pace.size("a", 100, 4) == 25, "the last ones are dealt out evenly"
    assert pace.size("a", 3, 4) == 1
    pace.learn("a", 1e-9)
    assert pace.size("a", 10**6, 2) == MOST
    assert pace.size("b", 1000, 2) == 1


def test_faster_trials_are_believed_at_once_and_slower_ones_by_and_by():
    pace = Pace()
    pace.learn("a", 4.0)  # compiled first
    assert pace.size("a", 1000, 2) == 1
    pace.learn("a", 0.01)
    assert pace.size("a", 1000, 2) == 100
    pace.learn("a", 4.0)
    assert pace.size("a", 1000, 2) == 50


def test_only_short_chunks_wait_at_a_worker():
    pace = Pace()
    assert not pace.short("a", 1)
    pace.learn("a", 0.1)
    assert pace.short("a", 10) and not pace.short("a", 100)


def test_further_jobs_are_of_the_same_kind_in_order():
    backlog = Backlog()
    for number in range(6):
        backlog.add(job(f"a{number}", "a"))
        backlog.add(job(f"b{number}", "b"))
    first = backlog.take("worker")
    assert first["key"] == "a0"
    assert [each["key"] for each in backlog.further("worker", "a", 3)] == ["a1", "a2", "a3"]
    assert [each["key"] for each in backlog.further("worker", "a", 9)] == ["a4", "a5"]
    assert backlog.further("worker", "a", 9) == []
    assert len(backlog) == 6
    assert backlog.take("other")["key"] == "b0"
    assert [each["key"] for each in backlog.further("other", "b", 0)] == []
    assert backlog.take("worker")["key"] == "b1", "there is nothing else"


def test_every_worker_keeps_to_its_kinds():
    backlog = Backlog()
    for kind in "ab":
        for number in range(4):
            backlog.add(job(f"{kind}{number}", kind))
    assert [backlog.take(worker)["key"] for worker in ("one", "two")] == ["a0", "b0"]
    assert [each["key"] for each in backlog.further("two", "b", 1)] == ["b1"]
    assert [backlog.take(worker)["key"] for worker in ("one", "two")] == ["a1", "b2"]


def test_versions_that_differ_are_named():
    mine = versions()
    assert differing(mine, mine) == ""
    assert differing(mine, {**mine, "jax": "9.9"}) == f"has jax 9.9, here it is {mine['jax']}"
    assert "whyconv absent" in differing(mine, {})
    assert differing(mine, {**mine, "more": "1"}) == ""
    assert "(source " in mine["whyconv"]
