"""Writes the frozen criteria of studies: ``python -m whyconv.criteria freeze STUDY|PAPER...``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from whyconv import criteria, registry
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


def main(words: Sequence[str]) -> int:
    if len(words) < 2 or words[0] != "freeze":
        print("usage: python -m whyconv.criteria freeze STUDY|PAPER...", file=sys.stderr)
        return 2
    try:
        for name in dict.fromkeys(name for word in words[1:] for name in chosen_studies(word)):
            print(freeze(name))
    except UserError as error:
        print(f"whyconv: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
