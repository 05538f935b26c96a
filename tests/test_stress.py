"""The search for counterexamples goes on where it ended, keeps the largest ratios, and says what it found."""

import json
from typing import Any, ClassVar

import pytest

from whyconv import registry, stress
from whyconv.claims import Claim, Instance
from whyconv.errors import UserError
from whyconv.verdict import Evidence


def bounded(name, ratio):
    class Bounded(Claim):
        """A statement."""

        reference: ClassVar[str] = "A paper, Lemma 1"
        expected: ClassVar[Any] = "holds"
        broken: ClassVar = "something"
        seen: ClassVar[list[int]] = []

        def decide(self, broken: str) -> Evidence:
            return Evidence("fails" if broken else "holds")

        def stress(self, seed: int) -> dict[str, Instance]:
            self.seen.append(seed)
            return {"x <= 1": Instance(ratio(seed), {"seed": seed})}

    Bounded.name, Bounded.seen = name, []
    return Bounded


def largest(found, claim="own.a"):
    place, case = found[claim].largest["x <= 1"]
    return place, case.ratio, dict(case.settings)


def test_a_second_search_goes_on_where_the_first_ended_and_keeps_the_largest_ratio(tmp_path):
    ratios = {0: 0.2, 1: 0.9, 2: 0.5}
    claim = bounded("own.a", lambda seed: ratios.get(seed, 0.1))
    for rounds in (1, 2, 3):
        found = stress.search([claim], tmp_path, 1e-9)
        assert found["own.a"].rounds == rounds
    assert claim.seen == [0, 1, 2] and largest(found) == (1, 0.9, {"seed": 1})
    assert stress.read(tmp_path)["own.a"].data() == found["own.a"].data()


def test_claims_take_turns_until_the_time_is_up(tmp_path, monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr(stress.time, "monotonic", lambda: float(next(clock)))
    claims = [bounded("own.a", float), bounded("own.b", float)]
    found = stress.search(claims, tmp_path, 1.0)
    assert abs(found["own.a"].rounds - found["own.b"].rounds) <= 1 < found["own.b"].rounds


def test_a_ratio_above_one_is_a_counterexample_and_rounding_is_none(tmp_path):
    claims = [bounded("own.a", lambda seed: 1 + 1e-12), bounded("own.b", lambda seed: 1 + 1e-6)]
    found = stress.search(claims, tmp_path, 1e-9)
    assert found["own.a"].contradicted == [] and found["own.b"].contradicted == ["x <= 1"]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_round_that_fails_is_named_stored_as_not_made_and_does_not_end_the_others(tmp_path, bad):
    found = stress.search(
        [bounded("own.a", lambda seed: bad), bounded("own.b", lambda seed: 0.5)], tmp_path, 1e-9
    )
    assert "round 0" in found["own.a"].error and found["own.b"].rounds == 1
    assert stress.read(tmp_path)["own.a"].rounds == 0


def test_rounds_of_code_that_changed_do_not_count(tmp_path, monkeypatch):
    claim = bounded("own.a", lambda seed: 0.9)
    stress.search([claim], tmp_path, 1e-9)
    monkeypatch.setattr(stress, "code_digest", lambda claim: "another")
    assert stress.search([claim], tmp_path, 1e-9)["own.a"].rounds == 1 and claim.seen == [0, 0]


def test_other_claims_stay_in_the_record(tmp_path):
    stress.search([bounded("own.a", float)], tmp_path, 1e-9)
    stress.search([bounded("own.b", float)], tmp_path, 1e-9)
    assert sorted(stress.read(tmp_path)) == ["own.a", "own.b"]


def test_an_interrupted_search_is_kept(tmp_path):
    def stop(seed):
        if seed == 3:
            raise KeyboardInterrupt
        return 0.5

    with pytest.raises(KeyboardInterrupt):
        stress.search([bounded("own.a", stop)], tmp_path, 1.0)
    assert stress.read(tmp_path)["own.a"].rounds == 3


@pytest.mark.parametrize("text", ["", "[]", '{"claims": {"a": {}}}', "\xff"])
def test_a_damaged_record_is_refused_and_left_alone(tmp_path, text):
    (tmp_path / stress.FILE).write_text(text, encoding="latin-1")
    with pytest.raises(UserError, match="cannot be read as the record of a search"):
        stress.search([bounded("own.a", float)], tmp_path, 1e-9)
    assert (tmp_path / stress.FILE).read_text(encoding="latin-1") == text


def test_the_command(tmp_path, monkeypatch, whyconv):
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "mine.py"
    own.write_text(
        "from whyconv.claims import Claim, Instance\nfrom whyconv.verdict import Evidence\n"
        "class Own(Claim, name='own.bound'):\n    'A statement.'\n"
        "    reference, expected, broken = 'A paper, Lemma 1', 'holds', 'something'\n"
        "    def decide(self, broken): return Evidence('fails' if broken else 'holds')\n"
        "    def stress(self, seed): return {'x <= 1': Instance(0.5 + seed, {'x': 0.25})}\n"
    )
    words = ("check", "own.bound", "--load", str(own), "--stress", "--minutes", "1e-9", "--out", "s")
    first = whyconv(*words)
    assert first.returncode == 0 and "no counterexample in 1 round" in first.stdout and "0.5" in first.stdout
    second = whyconv(*words, "--json")
    assert second.returncode == 1 and json.loads(second.stdout) == [
        {"claim": "own.bound", "inequality": "x <= 1", "error": "", "rounds": 2, "ratio": 1.5, "round": 1,
         "settings": {"x": 0.25}}
    ]  # fmt: skip
    for bad in ("0", "-1", "nan", "1e9"):
        refused = whyconv(*words[:6], bad)
        assert refused.returncode == 2 and "--minutes" in refused.stderr
    for alone in ("--out", "--minutes"):
        assert whyconv("check", "own.bound", "--load", str(own), alone, "1").returncode == 2


def test_the_written_table():
    claim = bounded("own.a", float)
    case = Instance(0.04, {"n": 3, "|x|": 0.123456})
    found = {"own.a": stress.Found(stress.code_digest(claim), 12, {"|x| <= 1": (7, case)})}
    lines = stress.written(found, [claim]).splitlines()
    cells = (
        "A paper, Lemma 1",
        "`own.a`",
        "\\|x\\| <= 1",
        "0.04",
        "loose by 25",
        "n = 3, \\|x\\| = 0.1235",
        "7 of 12",
    )
    assert lines[2] == f"| {' | '.join(cells)} |"


@pytest.mark.parametrize("name", [piece.name for piece in registry.pieces("claim")])
def test_every_claim_is_searched_or_says_why_not(name):
    claim = registry.find("claim", name)
    assert (claim.stress is not Claim.stress) != bool(claim.unsearched)


def test_what_is_not_searched_is_said(tmp_path, whyconv):
    own = tmp_path / "mine.py"
    own.write_text(
        "from whyconv.claims import Claim, Instance\nfrom whyconv.verdict import Evidence\n"
        "class Bare(Claim, name='own.bare'):\n    'A statement.'\n"
        "    reference, expected, broken = 'A paper, Lemma 1', 'holds', 'something'\n"
        "    unsearched = 'nothing is bounded'\n"
        "    def decide(self, broken): return Evidence('fails' if broken else 'holds')\n"
        "class Own(Bare, name='own.bound'):\n    'A statement.'\n"
        "    unsearched = ''\n"
        "    def stress(self, seed): return {'x <= 1': Instance(0.5, {})}\n"
    )
    words = ("--load", str(own), "--stress", "--minutes", "1e-9", "--out", str(tmp_path / "s"))
    both = whyconv("check", "own", *words)
    assert both.returncode == 0 and "own.bare  not searched: nothing is bounded" in both.stdout
    data = json.loads(whyconv("check", "own", *words, "--json").stdout)
    assert data[1] == {"claim": "own.bare", "inequality": "", "error": "", "rounds": 0,
                       "unsearched": "nothing is bounded"}  # fmt: skip
    alone = whyconv("check", "own.bare", *words)
    assert alone.returncode == 2 and "own.bare: nothing is bounded" in alone.stderr
