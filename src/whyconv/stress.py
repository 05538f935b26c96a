"""The search for counterexamples: rounds of every claim's ``stress``, continued where the last search ended.

Each round is a pure function of its number, so that what a file holds can be found again. The file keeps, for
every inequality, the case nearest to its bound; if the code of a claim's paper has changed since, its rounds
count as not made.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import cycle
from math import isfinite
from pathlib import Path
from typing import Any

from whyconv.claims import Claim, Instance
from whyconv.errors import UserError
from whyconv.measure.estimate import Estimate
from whyconv.runner.folder import Lock, as_user_error, prepare, refuse_odd, write_whole

FILE = "stress.json"
ROUNDING = 1 + 1e-9
"""A ratio above this contradicts a bound; a little above 1 is rounding."""


@dataclass
class Found:
    """A claim's rounds so far, and for each inequality the round and the case nearest to its bound."""

    digest: str
    rounds: int = 0
    largest: dict[str, tuple[int, Instance]] = field(default_factory=dict)
    error: str = ""
    """Why the next round failed; it is tried again by the next search."""

    def add(self, found: Mapping[str, Instance]) -> None:
        """The next round."""
        if wrong := [name for name, case in found.items() if not isfinite(case.ratio)]:
            raise ValueError(f"round {self.rounds} gave the ratio {found[wrong[0]].ratio} for {wrong[0]!r}")
        for name, case in found.items():
            if name not in self.largest or case.ratio > self.largest[name][1].ratio:
                self.largest[name] = (self.rounds, case)
        self.rounds += 1

    def data(self) -> dict[str, Any]:
        cases = {
            name: {"ratio": case.ratio, "round": number, "settings": _plain(case.settings)}
            for name, (number, case) in self.largest.items()
        }
        return {"digest": self.digest, "rounds": self.rounds, "largest": cases}

    @property
    def contradicted(self) -> list[str]:
        """The inequalities that a case found violates."""
        return [name for name, (_, case) in self.largest.items() if case.ratio > ROUNDING]


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each.data() if isinstance(each, Estimate) else each for name, each in settings.items()}


def search(
    claims: Iterable[type[Claim]],
    folder: Path,
    minutes: float,
    watch: Callable[[str, int, float], None] = lambda claim, rounds, left: None,
) -> dict[str, Found]:
    """Go on searching for ``minutes``, one round of every claim in turn; at least one round each.

    ``watch`` gets the claim, the rounds made so far and the seconds left. What was found is written about
    once a second and at the end, also if interrupted.
    """
    claims = list(claims)
    bounded = [claim for claim in claims if claim.stress is not Claim.stress]
    if not bounded:
        why = "; ".join(f"{name}: {reason}" for name, reason in unsearched(claims).items())
        raise UserError(
            f"none of these claims has a bound to search{f' ({why})' * bool(why)}; "
            "try whyconv check all --stress."
        )
    prepare(folder)
    lock = Lock(folder)
    try:
        kept = read(folder)
        every = {claim.name: _resumed(kept.get(claim.name), code_digest(claim)) for claim in bounded}
        begin = saved = time.monotonic()
        made, due = 0, begin + 60 * minutes
        try:
            for claim in cycle(bounded):
                if made >= len(bounded) and time.monotonic() >= due:
                    break
                watch(claim.name, made, max(0.0, due - time.monotonic()))
                found = every[claim.name]
                if not found.error:
                    try:
                        found.add(claim().stress(found.rounds))
                    except Exception as error:  # one broken search must not end the others
                        found.error = f"round {found.rounds} failed: {type(error).__name__}: {error}"
                made += 1
                if all(each.error for each in every.values()):
                    break
                if time.monotonic() > saved + 1:
                    _write(folder, kept | every)
                    saved = time.monotonic()
        finally:
            _write(folder, kept | every)
    finally:
        lock.release()
    return every


def unsearched(claims: Iterable[type[Claim]]) -> dict[str, str]:
    """Why claims are not searched, by name."""
    return {claim.name: claim.unsearched for claim in claims if claim.unsearched}


def read(folder: Path) -> dict[str, Found]:
    """What earlier searches in this folder found, by claim."""
    path = folder / FILE
    if not path.exists():
        return {}
    refuse_odd(path)
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return {name: _found(each) for name, each in stored["claims"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path} cannot be read as the record of a search; move it away or choose another folder."
        ) from error


def _found(stored: Mapping[str, Any]) -> Found:
    largest = {
        name: (int(case["round"]), Instance(float(case["ratio"]), dict(case["settings"])))
        for name, case in stored["largest"].items()
    }
    return Found(str(stored["digest"]), int(stored["rounds"]), largest)


def _resumed(kept: Found | None, digest: str) -> Found:
    return kept if kept is not None and kept.digest == digest else Found(digest)


def _write(folder: Path, found: Mapping[str, Found]) -> None:
    claims = {name: found[name].data() for name in sorted(found)}
    with as_user_error(folder):
        write_whole(folder / FILE, (json.dumps({"claims": claims}, indent=1) + "\n").encode())


def code_digest(claim: type[Claim]) -> str:
    """Of all exact mathematics and the claims of the claim's paper, or of the file that defines it."""
    file = Path(str(sys.modules[claim.__module__].__file__))
    if file.parent.name != "claims":
        return _digest_of((file,))
    return _digest_of(
        tuple(
            sorted(
                path
                for room in (file.parent, file.parents[1] / "exact", Path(__file__).parent / "exact")
                for path in room.rglob("*.py")
            )
        )
    )


@cache
def _digest_of(files: tuple[Path, ...]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def written(found: Mapping[str, Found], claims: Iterable[type[Claim]]) -> str:
    """A table in Markdown: how near the search came to each bound, by paper."""
    lines = []
    for claim in claims:
        if claim.name not in found or found[claim.name].digest != code_digest(claim):
            continue
        for name, (place, case) in found[claim.name].largest.items():
            where = ", ".join(f"{key} = {_short(value)}" for key, value in _plain(case.settings).items())
            cells = (claim.reference, f"`{claim.name}`", name, f"{case.ratio:.3g}", _loose(case.ratio), where)
            rounds = f"{place:,} of {found[claim.name].rounds:,}"
            lines.append(" | ".join(cell.replace("|", "\\|") for cell in (*cells, rounds)))
    head = "statement | claim | inequality | measured / bound | the bound is | at | round"
    return "\n".join(f"| {line} |" for line in (head, " | ".join(["---"] * 7), *lines)) + "\n"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _loose(ratio: float) -> str:
    """
    >>> _loose(1.0), _loose(0.5), _loose(0.04)
    ('attained', 'loose by 2', 'loose by 25')
    """
    return "attained" if ratio > 0.999 else f"loose by {1 / ratio:.2g}" if ratio > 0 else "not touched"
