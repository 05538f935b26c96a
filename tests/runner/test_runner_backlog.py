"""The next trial for a worker: of a kind that it has compiled, else that no other has, else any."""

from hypothesis import given
from hypothesis import strategies as st

from whyconv.runner.backlog import Backlog


def filled(*kinds):
    backlog = Backlog()
    for number, kind in enumerate(kinds):
        backlog.add({"kind": kind, "key": number})
    return backlog


def taken(backlog, *workers):
    return [backlog.take(worker)["key"] for worker in workers]


def test_a_worker_keeps_to_its_kind_and_another_takes_a_fresh_one():
    assert taken(filled("a", "a", "b", "a", "b"), "X", "Y", "X", "Y", "X") == [0, 2, 1, 4, 3]


def test_without_own_and_fresh_kinds_it_takes_any():
    backlog = filled("a", "a", "a")
    assert taken(backlog, "X", "Y", "X") == [0, 1, 2]
    assert len(backlog) == 0


def test_what_was_compiled_is_remembered_after_the_kind_ran_out():
    backlog = filled("a", "b")
    assert taken(backlog, "X", "Y") == [0, 1]
    for number, kind in enumerate("ba"):
        backlog.add({"kind": kind, "key": number})
    assert taken(backlog, "X", "Y") == [1, 0]


def test_the_kinds_of_a_worker_that_ended_are_fresh_again():
    backlog = filled("a", "a", "b", "b")
    assert taken(backlog, "X", "Y") == [0, 2]
    backlog.forget("X")
    assert taken(backlog, "Z", "Y") == [1, 3]


def test_a_new_worker_takes_what_nobody_has_compiled_any_more():
    backlog = filled("b", "b", "a", "a")
    assert taken(backlog, "Y", "X") == [0, 2]
    backlog.forget("X")
    assert taken(backlog, "Z") == [3], "b is compiled by Y"


def test_a_job_put_back_comes_first_among_its_kind():
    backlog = filled("a", "a")
    job = backlog.take("X")
    backlog.add(job, first=True)
    assert taken(backlog, "X", "X") == [0, 1]


def test_clearing_keeps_what_was_compiled():
    backlog = filled("a", "b", "a")
    assert taken(backlog, "X") == [0]
    backlog.clear()
    assert len(backlog) == 0
    for number, kind in enumerate("ba"):
        backlog.add({"kind": kind, "key": number})
    assert taken(backlog, "X") == [1]


@given(st.lists(st.tuples(st.sampled_from(["add", "take", "forget"]), st.integers(0, 3)), max_size=60))
def test_every_job_is_handed_out_once_and_by_the_rule(acts):
    """Against a scan of all waiting jobs."""
    backlog, waiting, compiled = Backlog(), [], {}
    for number, (act, which) in enumerate(acts):
        if act == "add":
            job = {"kind": which, "key": number}
            backlog.add(job)
            waiting.append(job)
        elif act == "forget":
            backlog.forget(which)
            compiled.pop(which, None)
        elif waiting:
            job = backlog.take(which)
            waiting.remove(job)
            own = compiled.setdefault(which, set())
            others = set().union(*(kinds for worker, kinds in compiled.items() if worker != which))
            before = {each["kind"] for each in (*waiting, job)}
            best = before & own or before - others or before
            assert job["kind"] in best
            assert all(each["key"] > job["key"] for each in waiting if each["kind"] == job["kind"])
            own.add(job["kind"])
        assert len(backlog) == len(waiting)
