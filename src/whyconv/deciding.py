"""Decides claims with their controls: many of them in worker processes, on all cores.

Claims of one module share a worker, since they often share computations. A claim that runs trials is decided
in this process, because its trials use the workers; so is one that a worker could not import.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

from whyconv import registry, system
from whyconv.errors import said
from whyconv.measure.estimate import Estimate
from whyconv.runner.places import local
from whyconv.runner.pool import Errand, Outcome
from whyconv.spec import Spec
from whyconv.verdict import Evidence, Number, Verdict, nearest_to_passing

Decided = dict[str, Any]
HOMES = ("whyconv", "whyconv_papers")
"""Packages whose claims every process finds."""


def decide_all(
    claims: list[Any], loads: Iterable[str | Path], watch: Callable[[str], None]
) -> Iterator[Decided]:
    """Decide the claims; yields them in order, as dictionaries. ``watch`` gets names as they are taken up."""
    files = tuple(str(Path(file).resolve()) for file in loads)
    origins = {registry.file_digest(file) for file in files}
    sent = [claim for claim in claims if not claim.trials and _is_found(claim, origins)]
    if len(sent) < 2:
        sent = []
    found = {}
    for claim in claims:
        if claim not in sent:
            watch(claim.name)
            found[claim.name] = decide(claim)
    found |= _elsewhere(sent, files, watch)
    return (found[claim.name] for claim in claims)


def decide(claim: Any) -> Decided:
    """Decide a claim and its controls, as ``whyconv.check`` returns it."""
    begin = time.monotonic()
    decided, raised = _evidence(claim, "check")
    broken = {word: _evidence(claim, "control", word) for word in claim.controls()}
    return _described(claim, decided, broken, raised, time.monotonic() - begin)


def _described(
    claim: Any, decided: Evidence, broken: Mapping[str, tuple[Evidence, str]], raised: str, seconds: float
) -> Decided:
    verdicts = {word: evidence.verdict for word, (evidence, _) in broken.items()}
    nearest = nearest_to_passing(decided.verdict, verdicts, claim.expected)
    numbers = dict(decided.numbers)
    if verdicts[nearest] == "error" and "error" in broken[nearest][0].numbers:
        numbers["error in the control"] = broken[nearest][0].numbers["error"]
    return {
        "claim": claim.name,
        "paper": claim.name.partition(".")[0],
        "statement": claim.summary(),
        "source": f"{claim.reference} ({claim.provenance})",
        "verdict": decided.verdict,
        "expected": claim.expected,
        "control": claim.controls()[nearest],
        "control_verdict": verdicts[nearest],
        "numbers": numbers,
        "rows": claim.origin_of_rows() if decided.verdict != "error" else "computed",
        "seconds": round(seconds, 3),
        "reference": claim.reference,
        "provenance": claim.provenance,
        "erratum": claim.erratum.data() if claim.erratum else None,
        "traceback": "\n".join(filter(None, (raised, *(trace for _, trace in broken.values())))),
        "controls": [
            {"control": line, "verdict": verdicts[word], "numbers": dict(broken[word][0].numbers)}
            for word, line in claim.controls().items()
        ],
    }


def _evidence(claim: type, part: str, *word: str) -> tuple[Evidence, str]:
    """What a claim's ``check`` or ``control`` returns; *error* and a traceback if that fails.

    Neither an exception nor a wrong return value may keep other claims from being decided.
    """
    try:
        found = getattr(claim(), part)(*word)
        if not isinstance(found, Evidence) or found.verdict not in get_args(Verdict):
            raise TypeError(f"{part} returned {found!r}, but must return Evidence with a known verdict")
        if wrong := [name for name, value in found.numbers.items() if not isinstance(value, Number)]:
            raise TypeError(f"{part} returned a {type(found.numbers[wrong[0]]).__name__} for {wrong[0]!r}")
        return found, ""
    except (Exception, SystemExit) as error:
        return Evidence("error", {"error": said(error)}), traceback.format_exc()


def _is_found(claim: Any, origins: set[str]) -> bool:
    """Whether a worker that loads files of these digests finds this very claim."""
    at_home = claim.__module__.partition(".")[0] in HOMES or claim.origin in origins
    return at_home and registry.known("claim", claim.name) is claim


# -- in workers ---------------------------------------------------------------------------------------


class Question(Spec):
    """A claim to be decided, as it is sent to a worker."""

    claim: str

    @property
    def key(self) -> str:
        return self.claim


def answer(question: Question, *_: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """Decide a claim in a worker; what was decided is one text of JSON."""
    return {"decided": packed(decide(registry.find("claim", question.claim)))}, {}


def _elsewhere(
    claims: list[Any], files: tuple[str, ...], watch: Callable[[str], None]
) -> Iterator[tuple[str, Decided]]:
    if not claims:
        return
    by_name, seen = {claim.name: claim for claim in claims}, set[str]()
    with TemporaryDirectory(prefix="whyconv-check-") as folder, local() as place:
        errand = Errand(Path(folder), inf, files, f"{__name__}:answer", f"{__name__}:Question")
        place.begin(errand, min(system.cores(), len(claims)))
        for claim in claims:
            place.submit(claim.name, {"claim": claim.name}, claim.__module__)
        while place.unfinished:
            for outcome in place.wait(0.1):
                if outcome.status != "put back":
                    yield outcome.key, _received(by_name[outcome.key], outcome)
            for name in place.running().keys() - seen:
                seen.add(name)
                watch(name)


def _received(claim: Any, outcome: Outcome) -> Decided:
    """What a worker decided; *error* if it died of it."""
    if outcome.status == "ok":
        return unpacked(outcome.result["decided"])
    error = Evidence("error", {"error": outcome.error})
    return _described(
        claim, error, dict.fromkeys(claim.controls(), (error, "")), outcome.traceback, outcome.seconds
    )


def packed(decided: Decided) -> str:
    """JSON that keeps estimates and numbers that are not finite."""

    def plain(value: Any) -> Any:
        if isinstance(value, Estimate):
            return {"estimate": type(value).__name__, "fields": asdict(value)}  # type: ignore[reportArgumentType]
        raise TypeError(f"a {type(value).__name__} in the evidence of {decided['claim']}")

    return json.dumps(decided, default=plain)


def unpacked(text: str) -> Decided:
    """The inverse of :func:`packed`."""
    kinds = {kind.__name__: kind for kind in Estimate.__subclasses__()}

    def rebuilt(value: dict[str, Any]) -> Any:
        if value.keys() != {"estimate", "fields"}:
            return value
        fields = {
            name: tuple(item) if isinstance(item, list) else item for name, item in value["fields"].items()
        }
        return kinds[value["estimate"]](**fields)

    return json.loads(text, object_hook=rebuilt)
