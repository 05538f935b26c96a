"""Claims as a whole: each is asked in one file, and listing them is quick."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from every_claim import EveryClaim
from made_claims import FAILS, HOLDS, choose, made

from whyconv import api, registry
from whyconv.claims import Claim
from whyconv.errors import UserError
from whyconv.verdict import Evidence


def test_every_registered_claim_is_asked_in_one_file():
    for file in Path(__file__).parent.glob("papers/*/test_*_claims.py"):
        import_module(file.stem)
    asked = [name for group in EveryClaim.__subclasses__() for name in group.names()]
    ours = [piece.name for piece in registry.pieces("claim") if piece.__module__.startswith("whyconv.")]
    assert sorted(asked) == sorted(ours) and len(ours) >= 30


def test_check_and_control_are_one_procedure():
    seen = []

    class Watched(made("own.watched")):
        def decide(self, broken):
            seen.append(broken)
            return super().decide(broken)

    claim = Watched()
    assert (claim.check(), claim.control("control")) == (HOLDS, FAILS) and seen == ["", "control"]


def test_of_several_controls_the_one_nearest_to_passing_counts(monkeypatch):
    verdicts = {"": "holds", "far": "fails", "near": "undecided", "nearest": "holds"}

    class Several(made("own.several")):
        """A statement."""

        broken = {word: f"what {word} breaks" for word in ("far", "near", "nearest")}  # noqa: RUF012

        def decide(self, broken):
            return Evidence(verdicts[broken], {"n": len(broken)})

    def decided():
        choose(monkeypatch, Several)
        (found,) = api.check()
        return found["control"], found["control_verdict"], api.as_expected(found)

    assert decided() == ("what nearest breaks", "holds", False)
    verdicts["nearest"] = "fails"
    assert decided() == ("what near breaks", "undecided", False)
    verdicts["near"] = "vacuous"
    assert decided() == ("what near breaks", "vacuous", True)
    verdicts["far"] = "error"
    assert decided() == ("what far breaks", "error", False)
    (found,) = api.check()
    assert [each["verdict"] for each in found["controls"]] == ["error", "vacuous", "fails"]
    assert found["controls"][2]["numbers"] == {"n": 7}


@pytest.mark.parametrize("part", ["check", "control"])
def test_a_control_of_its_own_is_refused(part):
    """Whatever else there is: a control that is another computation is none."""
    with pytest.raises(
        UserError, match=rf"'own.two' of .* defines {part}; define decide\(self, broken\) alone"
    ):
        type("Two", (made("own.one"),), {part: lambda self: HOLDS, "__module__": "own"}, name="own.two")
    assert "own.two" not in [piece.name for piece in registry.pieces("claim")]


def test_a_claim_without_its_procedure_is_refused():
    with pytest.raises(UserError, match=r"the claim 'own.none' of .* lacks decide, expected, broken\."):

        class Nothing(Claim, name="own.none"):
            """A statement."""


def test_listing_the_claims_imports_no_array_library():
    code = (
        "import sys\nfrom whyconv import registry\n"
        "print(len(registry.pieces('claim')))\n"
        "print([name for name in ('numpy', 'scipy', 'jax', 'sklearn') if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, imported = answer.stdout.splitlines()
    assert int(count) >= 30 and imported == "[]"
