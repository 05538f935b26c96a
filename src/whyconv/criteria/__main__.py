"""Criteria of studies: freezes them, or simulates their power.

``python -m whyconv.criteria freeze STUDY|PAPER...``
``python -m whyconv.criteria power [--runs 200] [STUDY|PAPER...]`` prints docs/power.md, for all by default.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from whyconv import criteria, registry
from whyconv.criteria import power
from whyconv.errors import UserError
from whyconv.settings import chosen_studies
from whyconv.spec import digest


def freeze(name: str) -> str:
    """Write the file of a study, unless it is already as frozen; returns a sentence."""
    study = registry.find("study", name)
    where = criteria.file(study)
    if where is None:
        raise UserError(f"{name} belongs to no paper; only studies in the folder of a paper are frozen.")
    if not study.says:
        raise UserError(f"{name} does not say which sentence of the paper it judges; give it says = '...'.")
    before = criteria.frozen(study)
    if before is not None and not before.changed(study):
        return f"{name}: as frozen {before.date}, {before.digest[: criteria.SHORT]}"
    now = datetime.now(UTC).isoformat(timespec="seconds")
    content = criteria.content(study)
    history = [*before.history, {"digest": before.digest, "frozen": before.date}] if before else []
    stored = {"study": name, "frozen": now, "digest": digest(content), "content": content, "history": history}
    path = Path(str(where))
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", "utf-8")
    what = f"frozen again ({', '.join(before.changed(study))} changed)" if before else "frozen"
    return f"{name}: {what}, {stored['digest'][: criteria.SHORT]}"


def simulate(names: Sequence[str], runs: int) -> str:
    """The page of power and false alarms; progress goes to stderr."""
    found, missing = [], []
    for name in names:
        world = power.world_of(registry.find("study", name))
        if world is None:
            missing.append(name)
            continue
        for preset, study in power.judged_presets(name):
            print(f"{name}, {preset}", file=sys.stderr, flush=True)
            found.append(power.simulated(study, preset, world, runs))
    return power.page(found, missing, runs)


def main(words: Sequence[str]) -> int:
    parser = ArgumentParser(prog="python -m whyconv.criteria", description="Criteria of studies.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("freeze").add_argument("study", nargs="+")
    simulation = commands.add_parser("power")
    simulation.add_argument("--runs", type=int, default=200, help="tables at the threshold")
    simulation.add_argument("study", nargs="*")
    given = parser.parse_args(words)
    try:
        wanted = given.study or [study.name for study in registry.pieces("study")]
        names = list(dict.fromkeys(name for word in wanted for name in chosen_studies(word)))
        if given.command == "power":
            print(simulate(names, given.runs), end="")
        for name in names if given.command == "freeze" else ():
            print(freeze(name))
    except UserError as error:
        print(f"whyconv: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
