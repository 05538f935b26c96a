"""What ``--json`` prints: a run as data, and JSON that any program reads."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

from whyconv.measure.estimate import Estimate
from whyconv.runs import Run


def run_as_data(done: Run) -> dict[str, Any]:
    """A run with its answers, verdict, means and tables."""
    judgement = done.judgement
    return {
        "study": done.study.name,
        "answer": done.answer,
        "answers": [answer.record() for answer in done.answers],
        "verdict": done.verdict,
        "conclusion": done.conclusion,
        "control_verdict": judgement.control.verdict if judgement else None,
        "numbers": dict(judgement.evidence.numbers) if judgement else {},
        "criterion_frozen": done.standing.data() if done.standing else None,
        "outcome": done.study.outcome,
        "means": _records(done.summary),
        "tables": {title: _records(frame) for title, frame in done.tables.items()},
        "failed": done.failed,
        "out": str(done.out),
        "command": done.command,
    }


def json_text(value: Any) -> str:
    """JSON text; numbers that are not finite become null."""
    return json.dumps(_finite(value), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Estimate):
        return value.data()
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _records(frame: Any) -> list[dict[str, Any]]:
    """The rows of a data frame; missing values are None."""
    return [dict(zip(frame.columns, line, strict=True)) for line in _plain(frame)]


def _plain(frame: Any) -> list[list[Any]]:
    """The values of a data frame as Python objects, row by row."""
    return frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
