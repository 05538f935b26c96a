"""The script that decides claims as other processors would fails when it should."""

import json
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

import kernels


def process(good=(True, True), code=0):
    claims = [
        {
            "claim": f"own.{n}",
            "verdict": "holds" if each else "error",
            "control_verdict": "fails",
            "good": each,
        }
        for n, each in enumerate(good)
    ]
    return SimpleNamespace(communicate=lambda: ("\n".join(map(json.dumps, claims)), None), returncode=code)


@pytest.mark.parametrize(
    ("second", "code"),
    [(process(), 0), (process((True, False)), 1), (process((True,), code=1), 1), (process((), code=-9), 1)],
)
def test_a_claim_that_is_not_as_recorded_or_not_decided_fails(second, code, monkeypatch, capsys):
    started = {"Haswell": process(), "Prescott, SSE4_2": second}
    monkeypatch.setattr(kernels, "start", lambda name, slow: started[name])
    assert kernels.main([]) == code
    told = capsys.readouterr().out
    assert "| own.0 | holds / fails |" in told and ("(!)" in told) == bool(code)


def test_an_unknown_setting_is_told(capsys):
    assert kernels.main(["Pentium"]) == 2
    assert "no setting 'Pentium'; choose --all or some of: Haswell; " in capsys.readouterr().out


def test_claims_run_under_their_setting(monkeypatch):
    monkeypatch.setattr(kernels, "DECIDE", "import os; print(os.environ['OPENBLAS_CORETYPE'])")
    assert kernels.start("Haswell", ()).communicate()[0] == "Haswell\n"


def test_what_is_left_out_as_slow_is_a_claim():
    from whyconv import registry

    assert set(kernels.SLOW) < {claim.name for claim in registry.pieces("claim")}


def test_every_claim_that_other_tests_leave_out_as_slow_is_decided():
    files = sorted((Path(__file__).parent / "papers").glob("*/test_*_claims.py"))
    slow = {name for file in files for name in import_module(file.stem).TestEveryClaim.slow}
    assert len(slow) >= 10 and not slow & set(kernels.SLOW)
