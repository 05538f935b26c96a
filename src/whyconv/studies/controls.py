"""Controls that oppose a verdict (what must fail if it passes, what must pass if not), and sanity checks."""

from __future__ import annotations

from whyconv.studies import Judgement
from whyconv.verdict import Evidence, nearest_to_passing, worst


def opposed(evidence: Evidence, failing: Evidence, passing: Evidence) -> Judgement:
    """A criterion that is met must be able to fail, one that is not met must be able to pass.

    The control is ``failing``, which breaks the statement, if the study is *consistent*, and ``passing``,
    where the same criterion must be met, otherwise. Which one it is depends on the verdict alone.
    """
    return Judgement(evidence, failing if evidence.verdict == "consistent" else passing)


def nearest(evidence: Evidence, controls: dict[str, Evidence]) -> Judgement:
    """Of several controls, by name, the one that comes nearest to passing."""
    verdicts = {name: control.verdict for name, control in controls.items()}
    return Judgement(evidence, controls[nearest_to_passing(evidence.verdict, verdicts)])


def sanity(*checks: Evidence) -> Evidence:
    """Checks of our own instruments: one that fails leaves a study *undecided*, and refutes no paper."""
    found = worst(*checks)
    if found.verdict != "fails":
        return found
    return Evidence("undecided", found.numbers, "a check of our own instruments failed")
