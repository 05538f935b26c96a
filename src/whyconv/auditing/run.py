"""Runs an audit: rows in a folder until the time is up or every question is decided, and the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from whyconv.auditing.dataset import Dataset
from whyconv.auditing.result import Result


@dataclass(frozen=True)
class Progress:
    """How far an audit is, about twice per second.

    ``phase``: checks, order, tuning, round 1, round 2, ...; ``fraction`` of this phase from 0 to 1;
    ``seconds_left`` to the deadline; ``result``: the answer so far, None before there is any.
    """

    phase: str
    fraction: float
    seconds_left: float
    result: Result | None


def audit(
    dataset: Dataset,
    *,
    metric: str = "auto",
    target: float | None = None,
    minutes: float = 5.0,
    out: str | Path | None = None,
    workers: int | None = None,
    memory: float | None = None,
    arms: Sequence[str] | None = None,
    random_state: int = 0,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> Result:
    """What locality, sharing and pooling would save on these data; see :mod:`whyconv.auditing`.

    ``metric``: auto, error, balanced, logloss or mse. ``target``: an error for the forecast. ``out``: the
    folder of rows and of the copy of the data; None: a folder in ``whyconv-audits`` named by the data.
    ``memory``: gigabytes. ``arms``: names from :data:`whyconv.auditing.arms.ARMS`; None: the usual ones.
    The same call resumes; with more ``minutes`` it goes on from there.
    """
    raise NotImplementedError
