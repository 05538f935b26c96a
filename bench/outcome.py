"""What a bench found, in one shape for all: rows of name, goal, measured value, and whether it was met."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from machine import describe, processor

BUILD = Path("build/bench")
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Outcome:
    """``met`` is None if there is no judgement: a part of another row, or a ``reason`` says why."""

    name: str
    goal: str
    measured: str
    met: bool | None
    reason: str = ""

    @property
    def word(self) -> str:
        return {True: "met", False: "MISSED", None: "skipped" if self.reason else ""}[self.met]


def at_least(name: str, goal: float, value: float, disturbed: bool = False) -> Outcome:
    """A ratio that should not be smaller; not judged if others used the processors meanwhile."""
    reason = "others used the processors" if disturbed else ""
    return Outcome(name, f">= {goal:g}x", f"{value:,.3g}x", None if disturbed else value >= goal, reason)


def skipped(name: str, reason: str) -> Outcome:
    return Outcome(name, "", "", None, reason)


def write(bench: str, rows: Sequence[Outcome], told: Any = None) -> None:
    """Leave the rows, and all that was told, where the runner of all benches looks."""
    BUILD.mkdir(parents=True, exist_ok=True)
    content = {"rows": [asdict(row) for row in rows], "told": told}
    (BUILD / f"{bench}.rows.json").write_text(json.dumps(content, indent=2, default=str) + "\n")


def keep(result: dict[str, Any]) -> Path:
    """Append to the file of the day and the processor, which is always whole."""
    now = datetime.now(UTC)
    RESULTS.mkdir(exist_ok=True)
    slug = re.sub("[^a-z0-9]+", "-", processor().lower()).strip("-")
    file = RESULTS / f"{now:%Y-%m-%d}-{slug}.json"
    kept = json.loads(file.read_text()) if file.exists() else []
    kept.append({"at": now.isoformat(timespec="seconds"), "machine": describe(), **result})
    part = file.with_suffix(".new")
    part.write_text(json.dumps(kept, indent=1, default=str) + "\n")
    part.replace(file)
    return file


def table(rows: Sequence[Outcome]) -> str:
    """At most 80 columns; a reason has a line of its own."""
    lines = [f"{'':40} {'goal':>12} {'measured':>14}"]
    for row in rows:
        lines.append(f"{row.name[:40]:40} {row.goal[:12]:>12} {row.measured[:14]:>14}  {row.word}".rstrip())
        if row.reason:
            lines.append(f"    {row.reason[:76]}")
    return "\n".join(lines)
