"""How often a claim that draws gets its recorded verdict on seeds that nobody has seen.

``python -m whyconv.seeds [--sets 20] [--first 1] [--out FILE] [PAPER|CLAIM...]`` decides claims and their
controls on other sets of seeds (:mod:`whyconv.claims.seeds`), keeps a line of JSON for each in FILE, goes on
where an earlier run ended, and prints docs/seeds.md from all that FILE has (``make seeds`` keeps them in
docs/seeds.jsonl). A claim that was mended after a run needs sets that nobody has seen: ``--first 21``. What
was decided by other code stays in the table.

The rule, fixed before the first run: a claim is stable if at most one set in twenty, so none of fewer than
twenty, gives another verdict or leaves a control without effect. Verdicts hang on 95 % intervals where they
hang on chance at all.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

from whyconv import api, registry
from whyconv.claims import Claim, seeds
from whyconv.errors import UserError
from whyconv.measure.intervals import rate_interval
from whyconv.stress import code_digest

SPARED = 20
"""Of so many sets one may differ."""
FILE = Path(api.RUNS, "seeds.jsonl")


@dataclass(frozen=True)
class Decided:
    """A claim on one set of seeds; ``digest`` is that of the code, ``draws`` whether it asked for seeds."""

    claim: str
    set: int
    verdict: str
    control_verdict: str
    good: bool
    draws: bool
    seconds: float
    digest: str


def decide(claims: Iterable[str], number: int, path: Path) -> None:
    """Decide claims on one set of seeds in this process; each line is written as soon as it is known."""
    for name in claims:
        with seeds.chosen(number) as draws:
            (found,) = api.check(name)
        digest = code_digest(registry.find("claim", name))
        verdicts = found["verdict"], found["control_verdict"]
        line = Decided(name, number, *verdicts, api.as_expected(found), draws.asked, found["seconds"], digest)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(line)) + "\n")


def kept(path: Path) -> list[Decided]:
    """What was decided, by whatever code; a line cut off by a kill is skipped."""
    found = []
    for text in path.read_text("utf-8").splitlines() if path.exists() else ():
        try:
            found.append(Decided(**json.loads(text)))
        except (ValueError, TypeError):
            continue
    return found


def complete(claims: Sequence[type[Claim]], sets: range, path: Path) -> None:
    """Decide what is missing; every set in a process of its own, which frees its caches."""
    path.parent.mkdir(parents=True, exist_ok=True)
    now = {claim.name: code_digest(claim) for claim in claims}
    for number in sets:
        done = [line for line in kept(path) if line.digest == now.get(line.claim)]
        decided = {line.claim for line in done if line.set == number or not line.draws}
        if missing := [name for name in now if name not in decided]:
            print(f"set {number} of {sets[-1]}: {len(missing)} claims", file=sys.stderr, flush=True)
            with ProcessPoolExecutor(1, get_context("spawn")) as process:
                process.submit(decide, missing, number, path).result()


def page(lines: Sequence[Decided]) -> str:
    """docs/seeds.md."""
    recorded = {claim.name: claim.expected for claim in registry.pieces("claim")}
    present = {claim.name: code_digest(claim) for claim in registry.pieces("claim")}
    groups: dict[tuple[str, str], dict[int, Decided]] = {}
    for line in lines:
        groups.setdefault((line.claim, line.digest), {})[line.set] = line
    drawing = {line.claim for line in lines if line.draws}
    exact = sorted({line.claim for line in lines} - drawing)
    rows = [
        _row(recorded[name], list(found.values()), digest == present[name])
        for (name, digest), found in sorted(groups.items(), key=lambda group: group[0][0])
        if name in drawing and name in recorded
    ]
    head = [
        "# Verdicts on other seeds", "",
        "Made by `make seeds`. Every claim that draws is decided again, with its controls, on sets of seeds "
        "that share none with the recorded ones nor with each other. *As recorded*: the sets that gave the "
        "recorded verdict, with the interval of Clopper & Pearson for how often that happens; *controls*: "
        "those of them in which every control was decided and flipped it. *Stable*, by a rule fixed before "
        "the first run: at most one set in twenty, so none of fewer than twenty, failed in either. Seconds: "
        "one set, controls included; claims share computations, so that the first of a family pays for the "
        "others. *Code*: a digest of the paper's claims and exact mathematics; a claim that was mended has a "
        "line for each, the last one on sets that the mend had not seen. A claim that is recorded as "
        "*undecided* is stable in a weak sense: it was undecided again, from which nothing follows about its "
        "statement. In brackets: the code of the paper's claims has changed since, in this claim or in "
        "others.", "",
        "| claim | recorded | code | sets | as recorded | interval | controls | others | seconds | |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    return "\n".join([*head, *rows, *_rest(exact, {line.claim for line in lines})]) + "\n"


def _rest(exact: Sequence[str], decided: Collection[str]) -> list[str]:
    """Below the table: claims that draw nothing, and those that nobody has decided on other seeds."""
    missing = [claim for claim in registry.pieces("claim") if claim.name not in decided]
    parts = {
        "Draw nothing": exact,
        "Not decided on other seeds": [claim.name for claim in missing if not claim.trials],
        "Not decided on other seeds, since they run trials of a study": [
            claim.name for claim in missing if claim.trials
        ],
    }
    return [
        line
        for words, names in parts.items()
        if names
        for line in ("", f"{words}: {', '.join(f'`{name}`' for name in sorted(names))}.")
    ]


def _row(recorded: str, lines: Sequence[Decided], present: bool) -> str:
    count, same = len(lines), sum(line.verdict == recorded for line in lines)
    rate = rate_interval(same, count)
    others = Counter(line.verdict for line in lines if line.verdict != recorded)
    controls = Counter(
        f"control {line.control_verdict}" for line in lines if not line.good and line.verdict == recorded
    )
    code = lines[0].digest[:6] if present else f"({lines[0].digest[:6]})"
    cells = [
        f"`{lines[0].claim}`", recorded, code, _numbers(lines), str(same),
        f"{rate.low:.2f} to {rate.high:.2f}", str(sum(line.good for line in lines)),
        ", ".join(f"{word} ({number})" for word, number in (others + controls).items()),
        f"{sum(line.seconds for line in lines) / count:.1f}", "stable" if stable(lines) else "**not stable**",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _numbers(lines: Sequence[Decided]) -> str:
    """How many sets, and from which to which."""
    numbers = sorted(line.set for line in lines)
    return f"{len(numbers)} ({numbers[0]}-{numbers[-1]})"


def stable(lines: Sequence[Decided]) -> bool:
    """At most one set in twenty is not as recorded; none of fewer."""
    return sum(not line.good for line in lines) <= len(lines) // SPARED


def main(words: Sequence[str]) -> int:
    parser = ArgumentParser(prog="python -m whyconv.seeds", description="Claims on other seeds.")
    parser.add_argument("--sets", type=int, default=20, help="how many sets of seeds for each claim")
    parser.add_argument("--first", type=int, default=1, help="number of the first set; 0 is the recorded one")
    parser.add_argument("--out", type=Path, default=FILE, help="the file that keeps what was decided")
    parser.add_argument("which", nargs="*", metavar="PAPER|CLAIM")
    given = parser.parse_args(words)
    try:
        if min(given.sets, given.first) < 1:
            raise UserError("--sets and --first must be 1 or more; set 0 is what whyconv check decides.")
        claims = {claim.name: claim for word in given.which or ["all"] for claim in api.chosen_claims(word)}
        complete(list(claims.values()), range(given.first, given.first + given.sets), given.out)
        print(page(kept(given.out)), end="")
    except UserError as error:
        print(f"whyconv: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
