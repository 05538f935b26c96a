"""What the coordinator does with what comes back from a cluster, and a node with its data; Dask is a stub."""

import json
import os
import time
import zlib
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from runner_fakes import EXECUTE, FakeTask, trial

from whyconv.errors import UserError
from whyconv.runner.cluster import nodes, seats
from whyconv.runner.cluster.chunks import MOST
from whyconv.runner.cluster.members import SILENT_SECONDS, Members
from whyconv.runner.cluster.place import AGAIN_SECONDS, DaskPlace
from whyconv.runner.cluster.results import Results
from whyconv.runner.pool import LOG, Errand

GOOD, BAD = "tcp://good:1", "tcp://bad:1"


class Client:
    """A scheduler with two workers; nothing that is submitted ends by itself."""

    def __init__(self):
        about = {"nthreads": 1, "status": "running", "last_seen": 1000.0}
        self.workers = {GOOD: dict(about), BAD: dict(about)}
        self.sent, self.bytes, self.questions = [], 0, []

    def scheduler_info(self, n_workers):
        return {"services": {}}

    def asked(self):
        answer = Future()
        answer.set_result({"workers": self.workers})
        return answer

    def submit(self, function, order, cargo, *, key, workers, **_):
        future = SimpleNamespace(
            key=key, status="pending", add_done_callback=lambda call: None, cancel=lambda force: None
        )
        trials = json.loads(zlib.decompress(order))["trials"]
        self.sent.append((key, workers[0], [each["key"] for each in trials]))
        self.bytes += len(order)
        return future

    def fetch(self, names):
        """Asked for results; the test answers."""
        self.questions.append((names, answer := Future()))
        return answer

    def cancel(self, futures, force):
        pass

    def subscribe_topic(self, topic, hear):
        pass


@pytest.fixture
def client():
    return Client()


@pytest.fixture
def place(client, tmp_path, monkeypatch):
    monkeypatch.setattr(Members, "_ask", lambda self: client.asked())
    monkeypatch.setattr(Results, "_ask", lambda self, names: client.fetch(names))
    place = DaskPlace(client, "tcp://scheduler:1")
    place.begin(Errand(tmp_path, 10.0, execute=EXECUTE), 1)
    place._members.look()
    return place


def chunk(place, *keys, address=GOOD):
    """A chunk of these trials that is at a worker."""
    for key in keys:
        place._open.add(key)
    return place._dispatch([{"key": key, "spec": {}, "kind": "a"} for key in keys], address)


def result(*ended, printed=""):
    outcomes = [{"key": key, "status": status, "seconds": 0.1} for key, status in ended]
    return {"outcomes": outcomes, "seconds": 0.2, "printed": printed}


REFUSED = {"refused": "lacks data"}


def end(place, *chunks):
    for each in chunks:
        each.future.status = "finished"
        place._ended.put(each.name)


def answer(client, results):
    """Answer the only question that asks for these chunks."""
    (found,) = [found for names, found in client.questions if set(names) == set(results) and not found.done()]
    found.set_result({"status": "OK", "data": results})


def waiting(place):
    return {place._backlog.take("anyone")["key"] for _ in range(len(place._backlog))}


def test_trials_that_a_chunk_comes_back_without_are_tried_again(place):
    found = place._received(chunk(place, "a", "b", "c"), result(("a", "ok"), ("b", "put back")))
    assert [(each.key, each.status) for each in found] == [("a", "ok"), ("b", "put back")]
    assert place.unfinished == 2 and waiting(place) == {"b", "c"}
    found = place._received(chunk(place, "b", "c"), result(("b", "put back"), ("b", "ok"), ("c", "failed")))
    assert len(found) == 3 and place.unfinished == 0 and not place._backlog


def test_a_full_chunk_is_a_small_message(place, client):
    """The scheduler keeps the last thousand messages to a worker, and this process its own."""
    jobs = [
        {"key": of.key, "spec": of.canonical(), "kind": of.program}
        for of in (trial(seed=n) for n in range(MOST))
    ]
    place._dispatch(jobs, GOOD)
    assert client.sent[0][2] == [job["key"] for job in jobs]
    assert client.bytes < 40 * MOST < len(json.dumps(jobs)) / 5


def test_all_chunks_of_a_worker_that_refuses_are_put_back(place, client):
    """Also those whose results came together with the first refusal."""
    chunks = [chunk(place, key, address=BAD) for key in "ab"]
    end(place, *chunks)
    assert place._collect(0.0) == []
    answer(client, {each.name: REFUSED for each in chunks})
    assert place._collect(0.0) == []
    assert place._members.threads == {GOOD: 1} and waiting(place) == {"a", "b"}
    (note,) = place.standing().notes
    assert "bad:1 lacks data" in note


def test_a_worker_that_does_not_answer_holds_up_no_other(place, client):
    stuck, good = chunk(place, "a", address=BAD), chunk(place, "b")
    end(place, stuck, good)
    assert place.wait(0.0) == []
    answer(client, {good.name: result(("b", "ok"))})
    began = time.monotonic()
    assert [each.key for each in place.wait(10.0)] == ["b"]  # woken by the answer
    later, behind = chunk(place, "c"), chunk(place, "d", address=BAD)
    end(place, later, behind)
    assert place.wait(0.0) == []
    assert [names for names, _ in client.questions] == [[stuck.name], [good.name], [later.name]]
    answer(client, {later.name: result(("c", "ok"))})
    assert [each.key for each in place.wait(0.0)] == ["c"]
    del client.workers[BAD]
    place._members._looked = 0
    client.sent.clear()
    assert place.wait(0.0) == [] and time.monotonic() - began < 5.0
    assert client.questions[0][1].cancelled() and len(client.questions) == 3
    (sent,) = client.sent
    assert sent[1] == GOOD and sent[2][0] in "ad" and place.unfinished == 2


@pytest.mark.parametrize("how", ["told", "raised"])
def test_only_the_chunks_of_a_worker_that_could_not_be_asked_are_asked_for_again(place, client, how):
    lost, good = chunk(place, "a", address=BAD), chunk(place, "b")
    end(place, lost, good)
    assert place._collect(0.0) == []
    if how == "told":
        client.questions[0][1].set_result({"status": "error", "keys": [lost.name]})
    else:
        client.questions[0][1].set_exception(OSError("closed"))
    assert place._collect(0.0) == [] and place._again == [lost.name] and not place._backlog
    place._asked = 0.0
    assert place._collect(0.0) == []
    answer(client, {lost.name: result(("a", "ok"))})
    answer(client, {good.name: result(("b", "ok"))})
    assert {each.key for each in place._collect(0.0)} == {"a", "b"}


def test_outcomes_that_came_before_an_error_are_given_out_first(place, client):
    """Whatever ends the run: a refusal, a chunk that cannot be run, a result that cannot be read."""
    del client.workers[BAD]
    place._members._looked = 0
    place._members.look()
    cannot, refused, good = chunk(place, "a"), chunk(place, "b"), chunk(place, "c")
    end(place, refused, good)
    assert place._collect(0.0) == []
    cannot.future.status, cannot.future.exception = "error", lambda: RuntimeError("no such function")
    place._ended.put(cannot.name)
    answer(client, {refused.name: REFUSED, good.name: result(("c", "ok"))})
    assert [each.key for each in place.wait(0.0)] == ["c"]
    for _ in range(2):
        with pytest.raises(UserError, match=r"could not run trials \(.*no such function\); every row ack"):
            place.wait(0.0)
    place.clear()
    assert place.wait(0.0) == []


def test_a_result_that_cannot_be_read_is_an_error(place, client):
    end(place, chunk(place, "a"))
    assert place.wait(0.0) == []
    client.questions[0][1].set_exception(ValueError("no pickle"))
    with pytest.raises(
        UserError, match=r"could not be fetched from tcp://scheduler:1 \(.*no pickle\); every row"
    ):
        place.wait(0.0)


def test_a_trial_that_a_worker_died_of_travels_alone(place, client):
    """Also as the second one: nothing else is to die with it."""
    for _ in range(2):
        place._pace.learn("a", 0.01)
    lost = chunk(place, "x", address=BAD)
    place._drop(lost)
    place._lost(lost)
    back = chunk(place, *"abc", address=BAD)
    place._drop(back)
    place._put_back(back)
    for key in "defgh":
        place.submit(key, {}, "a")
    client.sent.clear()
    while place._backlog:
        place._send(GOOD)
    assert [keys for _, _, keys in client.sent if "x" in keys] == [["x"]]
    assert client.sent[0][2] == ["a", "b", "c"]


def test_a_worker_that_fails_again_and_again_is_used_no_more(place):
    """What a node cannot do for the moment, such as start a process, does not end the run of all others."""
    error = {"error": "3 workers in a row ended while starting."}
    for _ in range(2):
        assert place._received(chunk(place, "a", address=BAD), error) == []
    place._received(chunk(place, "b", address=BAD), result(("b", "ok")))
    for _ in range(2):
        place._received(chunk(place, "a", address=BAD), error)
    assert place._members.threads == {GOOD: 1, BAD: 1} and not place.standing().notes
    place._received(chunk(place, "c", address=BAD), error)
    assert place._members.threads == {GOOD: 1} and waiting(place) == {"a", "c"}
    assert "bad:1 failed 3 times (3 workers in a row ended while starting)" in place.standing().notes[0]
    for _ in range(2):
        place._received(chunk(place, "a"), error)
    with pytest.raises(UserError, match=r"good:1 failed 3 times \(3 workers .*\); no other worker"):
        place._received(chunk(place, "a"), error)


def test_a_trial_that_no_worker_was_heard_to_run_is_tried_longer(place):
    """Workers may die while they start, all of them before the trial began."""
    for key, most, word in (("a", 8, "while"), ("b", 40, "before")):
        for _ in range(most):
            lost = chunk(place, key)
            if key == "a":
                place._hear((0.0, {lost.name: {"a": 0.5}}))
                place._hear((0.0, {lost.name: {}}))
            place._drop(lost)
            assert place._lost(lost) == [] and place._suspect(key)
        lost = chunk(place, key)
        lost.heard = key == "a"
        (outcome,) = place._lost(lost)
        assert (outcome.status, outcome.error) == ("failed", f"{most + 1} Dask workers died {word} it ran")
    assert place.unfinished == 0


def test_a_silent_worker_is_waited_for_and_no_other_worker_is_an_error(place, client):
    client.workers[BAD]["last_seen"] += SILENT_SECONDS
    place._members._looked = 0
    assert place._members.look() == {GOOD: False}
    place._received(chunk(place, "a", address=BAD), REFUSED)
    assert not place._members.threads and waiting(place) == {"a"}
    with pytest.raises(UserError, match="good:1 has jax 9; no other worker of tcp"):
        place._members.refuse(GOOD, "has jax 9")


def test_results_that_are_made_again_are_asked_for_now_and_then(place):
    name, asked = chunk(place, "a").name, []
    place._chunks[name].future = type(
        "Future", (), {"status": property(lambda self: asked.append(1) or "pending")}
    )()
    place._ended.put(name)
    began = time.monotonic()
    while time.monotonic() - began < 4 * AGAIN_SECONDS:
        place._ended.put("another")  # does not hurry it
        assert place._collect(1.0) == []
    assert 3 <= len(asked) <= 7
    del place._chunks[name]


def test_what_trials_print_goes_to_a_file_and_never_through_a_link(place, tmp_path):
    place._received(chunk(place, "a"), result(("a", "ok"), printed="noise \udc80\n"))
    place._received(chunk(place, "b"), result(("b", "ok"), printed="more\n"))
    assert (tmp_path / LOG).read_text() == "noise ?\nmore\n"
    (tmp_path / "other").write_text("precious")
    (tmp_path / LOG).unlink()
    (tmp_path / LOG).symlink_to(tmp_path / "other")
    place._received(chunk(place, "c"), result(("c", "ok"), printed="noise\n"))
    assert (tmp_path / "other").read_text() == "precious"


def test_trials_of_a_second_are_told_while_they_run(monkeypatch):
    """One message a second must not always come when a trial has just ended."""
    clock, told, beats = [10.0], [], seats._Beats()
    monkeypatch.setattr(seats, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    worker = SimpleNamespace(log_event=lambda topic, chunks: told.append(chunks))
    for chunk in "abcde":
        for running in ({chunk: 0.0}, {chunk: 0.0}, {chunk: 0.0}, {}):
            clock[0] += 0.251
            beats.tell(worker, "topic", chunk, running)
        beats.forget(chunk)
    assert told == [{chunk: {chunk: 0.0}} for chunk in "abcde"]


@pytest.fixture
def node(monkeypatch, tmp_path):
    """A node without data of its own: what was done there, and what it lacks."""
    found = SimpleNamespace(folders=[], lacks="")

    class Task(FakeTask):
        def absent(self):
            found.folders.append(os.environ.get(nodes.VARIABLE))
            return found.lacks

        def fetch(self):
            if found.lacks == "":
                return
            raise UserError(found.lacks)

    monkeypatch.delenv(nodes.VARIABLE, raising=False)
    monkeypatch.setattr(nodes, "build", lambda *_: Task())
    monkeypatch.setattr(nodes, "_usable", set())
    return found


def test_data_that_came_are_found_and_checked_once(node, tmp_path):
    node.lacks = "MNIST is not here"
    assert nodes.lacking(("{}",), str(tmp_path)) == "lacks data: MNIST is not here"
    node.lacks = ""
    assert [nodes.lacking(("{}",), str(tmp_path)) for _ in range(3)] == [""] * 3
    assert node.folders == [str(tmp_path)] * 2
    assert nodes.lacking((), str(tmp_path)) == "" and len(node.folders) == 2


def test_the_folder_of_one_run_is_not_that_of_the_next(node, tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        nodes.lacking(("{}",), str(tmp_path / name))
        assert nodes.VARIABLE not in os.environ
    assert node.folders == [str(tmp_path / "one"), str(tmp_path / "two")]
    with nodes.searching(str(tmp_path / "absent")):
        assert nodes.VARIABLE not in os.environ
    monkeypatch.setenv(nodes.VARIABLE, "own")
    with nodes.searching(str(tmp_path / "one")):
        assert os.environ[nodes.VARIABLE] == "own"
    assert os.environ[nodes.VARIABLE] == "own"


def test_a_folder_without_images_is_a_clause(tmp_path, monkeypatch):
    monkeypatch.delenv(nodes.VARIABLE, raising=False)
    need = json.dumps({"name": "image-classes", "images": "mnist"})
    try:
        why = nodes.lacking((need,), str(tmp_path))
    finally:
        assert nodes.VARIABLE not in os.environ
    assert why.startswith(f"cannot use its data: the data folder {tmp_path} has no file of")
