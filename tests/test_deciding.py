"""Claims are decided in workers exactly as in this process, and nothing that happens there is lost."""

import os
from math import inf, nan

import pytest
from made_claims import choose, made

from whyconv import api, registry
from whyconv.deciding import decide, decide_all, packed, unpacked
from whyconv.measure.complexity import Ratio, SampleComplexity
from whyconv.measure.intervals import Interval
from whyconv.measure.scaling import Exponent
from whyconv.runner import child, places

OWN = '''
import os
from typing import Any, ClassVar
from whyconv.claims import Claim
from whyconv.verdict import Evidence

class Here(Claim, name="own.{name}"):
    """A statement."""
    reference: ClassVar[str] = "A paper, Lemma 1"
    expected: ClassVar[Any] = "holds"
    broken: ClassVar = "all"
    trials: ClassVar = {trials}

    def decide(self, broken):
        {act}
        return Evidence("fails" if broken else "holds", {{"process": os.getpid(), "low": float("-inf")}})
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Write files of claims; they are forgotten afterwards."""
    monkeypatch.setattr(registry, "_pieces", dict(registry._pieces))

    def write(trials=False, **acts):
        files = []
        for name, act in acts.items():
            files.append(tmp_path / f"{name}.py")
            files[-1].write_text(
                f"# {tmp_path}\n{OWN.format(name=name, act=act, trials=trials)}"
            )  # new to the registry
        return files

    return write


def test_workers_decide_as_this_process_does():
    claims = [registry.find("claim", name) for name in ("malach.nas", "brutzkus.lemma5.2", "malach.thm4-eta")]
    there = list(decide_all(claims, (), lambda name: None))
    here = [decide(claim) for claim in claims]
    for decided in (*there, *here):
        assert decided.pop("seconds") >= 0
    assert there == here


def test_several_claims_are_decided_in_other_processes_and_in_order(own):
    seen = []
    files = own(b="pass", a="pass", c="pass")
    found = api.check("own", files, seen.append)
    assert [each["claim"] for each in found] == ["own.a", "own.b", "own.c"]
    assert {each["verdict"] for each in found} == {"holds"}
    assert {each["control_verdict"] for each in found} == {"fails"}
    assert os.getpid() not in {each["numbers"]["process"] for each in found}
    assert all(each["numbers"]["low"] == -inf for each in found)
    assert sorted(seen[:-1]) == ["own.a", "own.b", "own.c"] and seen[-1] == ""


def test_a_single_claim_starts_no_worker(own, monkeypatch):
    monkeypatch.setattr(child, "Child", None)
    places.close()
    (found,) = api.check("own.alone", own(alone="pass"))
    assert found["verdict"] == "holds"


def test_a_claim_that_kills_its_process_is_an_error_and_the_others_are_decided(own):
    found = api.check("own", own(a="pass", b="os._exit(7)", c="pass"))
    assert [each["verdict"] for each in found] == ["holds", "error", "holds"]
    assert found[1]["numbers"]["error"] == "worker died: exit code 7"
    assert not api.as_expected(found[1])


def test_claims_that_no_worker_can_import_are_decided_here(monkeypatch):
    seen = []

    def noting():
        seen.append(1)
        return made("own.x")().check()

    choose(monkeypatch, made("own.a", noting), made("own.b", noting))
    assert [each["verdict"] for each in api.check("own")] == ["holds", "holds"]
    assert len(seen) == 2


def test_claims_of_a_file_that_workers_are_not_given_are_decided_here(own):
    for file in own(a="pass", b="pass"):
        registry.load(file)
    assert {each["numbers"]["process"] for each in api.check("own")} == {os.getpid()}


def test_claims_that_run_trials_are_decided_here(own):
    found = api.check("own", own(trials=True, a="pass", b="pass"))
    assert {each["numbers"]["process"] for each in found} == {os.getpid()}


def test_which_claims_run_trials(monkeypatch):
    running = [claim.name for claim in registry.pieces("claim") if claim.trials]
    assert running == [
        f"lahoti.{name}" for name in ("cnn-upper", "fcn-lower", "lcn-lower", "lcn-upper", "ordering")
    ]


@pytest.mark.parametrize(
    "estimate",
    [
        Interval(0.5, -inf, inf, 3),
        Ratio(nan, 0.0, 2.0, 5),
        Exponent(1.0, 0.5, 1.5, 0.9, 0.1, 3, 0, 5, 1),
        SampleComplexity(None, 20, nan, 30.0, inf, 40, 3, 0.95, (0, 1, 2), (1.0, inf, 2.5)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_estimates_arrive_whole(estimate):
    (back,) = unpacked(packed({"claim": "own", "numbers": {"x": estimate}}))["numbers"].values()
    assert type(back) is type(estimate)
    assert repr(back) == repr(estimate)  # nan differs from itself
