"""Runs an audit: rows in a folder until the time is up or every question is decided, and the result."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from whyconv.auditing.asking import allowed_workers, require_positive, require_target, require_time
from whyconv.auditing.bad_data import BadData
from whyconv.auditing.budget import core_seconds, reserve
from whyconv.auditing.dataset import Dataset
from whyconv.auditing.design import chosen_metric, designed
from whyconv.auditing.keeping import keep
from whyconv.auditing.outlook import Outlook, ahead, outlook
from whyconv.auditing.phases import ORDER
from whyconv.auditing.result import Result
from whyconv.auditing.results import result
from whyconv.auditing.rounds import FEWEST
from whyconv.auditing.study import Audit
from whyconv.errors import UserError
from whyconv.paths import given_path, use_run_folder
from whyconv.runner.coordinator import complete
from whyconv.runner.database import FILE
from whyconv.runner.events import Event, Finished, Options, Planned, Tick
from whyconv.runner.fit import ANYWAY
from whyconv.runner.places import Place
from whyconv.runner.store import Store
from whyconv.studies import Point
from whyconv.studies.tuned import MEASURED, TUNING
from whyconv.tasks.own_data import FOLDER
from whyconv.trial import Row

AUDITS = "whyconv-audits"


@dataclass(frozen=True)
class Progress:
    """How far an audit is, about twice per second.

    ``phase``: checks, order, tuning, round 1, round 2, ...; ``fraction`` of this phase from 0 to 1;
    ``seconds_left`` to the deadline; ``result``: the answer so far, None before there is any. The first
    one has the ``outlook``: what the time given is forecast to give.
    """

    phase: str
    fraction: float
    seconds_left: float
    result: Result | None
    outlook: Outlook | None = None


def audit(
    dataset: Dataset,
    *,
    metric: str = "auto",
    target: float | None = None,
    minutes: float = 5.0,
    out: str | Path | None = None,
    workers: int | None = None,
    memory: float | None = None,
    arms: Sequence[str] | str | None = None,
    random_state: int = 0,
    place: Place | None = None,
    since: float | None = None,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> Result:
    """What locality, sharing and pooling would save on these data; see :mod:`whyconv.auditing`.

    ``metric``: auto, error, balanced, logloss or mse. ``target``: an error for the forecast. ``out``: the
    folder of rows and of the copy of the data; None: a folder in ``whyconv-audits`` named by the data.
    ``memory``: gigabytes. ``arms``: names from :data:`whyconv.auditing.arms.ARMS`; None: the usual ones.
    ``place``: where trials run if not in processes of this machine (:mod:`whyconv.runner.places`). ``since``:
    when the minutes began, by :func:`time.monotonic`, if before this call. The same call resumes; with more
    ``minutes`` it goes on from there.
    """
    began = time.monotonic() if since is None else since
    require_positive(minutes=minutes, memory=memory)
    require_target(target, dataset, chosen_metric(dataset, metric))
    slots = allowed_workers(workers, memory) if place is None else place.standing().slots
    study = designed(
        dataset, metric=metric, arms=arms, random_state=random_state, target=target,
        budget=core_seconds(minutes, slots),
    )  # fmt: skip
    require_time(study, minutes, slots)
    folder = folder_of(dataset, study, out)
    made = [each for each in (folder / FOLDER, folder, *folder.parents) if not each.exists()]
    keep(dataset, folder, study.task.data)
    use_run_folder(folder.resolve())
    watcher = _Watcher(study, folder, began, 60 * minutes, watch)
    try:
        watcher.tell("checks", 0.0, outlook(study, minutes, slots, stored(study, folder)[1]))
        left = 60 * minutes - reserve(minutes) - (time.monotonic() - began)
        options = Options(
            workers=slots if place is None else workers, seconds=max(left, 1.0), preset="quick",
            retry_failed=True, command=f"whyconv audit (rows of {dataset.name})",
        )  # fmt: skip
        summary = complete(study, folder, options, watcher.watch, place)
    except BaseException as error:
        if not (folder / FILE).exists():  # refused: no copy of the data stays behind
            (folder / FOLDER / f"{study.task.data}.npz").unlink(missing_ok=True)
            for empty in made:
                with suppress(OSError):
                    empty.rmdir()
        if isinstance(error, UserError) and ANYWAY in str(error):  # an audit has no --force
            raise BadData(str(error).replace(f", {ANYWAY}", ".")) from None
        raise
    failed = [row for row in summary.rows.values() if row.status == "failed"]
    found = result(study, summary.points, summary.rows, seconds=time.monotonic() - began, out=str(folder))
    found = replace(found, ahead=ahead(study, summary.points, summary.rows, minutes, slots))
    if found.rounds < FEWEST:
        found = replace(found, warnings=(*found.warnings, found.ahead))
    if failed:
        lost = f"{len(failed)} trials failed ({failed[0].error}); their rounds do not count"
        found = replace(found, warnings=(*found.warnings, lost))
    watcher.result = found
    watcher.tell(watcher.phase, 1.0)
    return found


def folder_of(dataset: Dataset, study: Audit, out: str | Path | None) -> Path:
    """Where rows, the copy of the data and the page go: ``out``, or a folder named by the data."""
    name = re.sub(r"[/\\]", "-", f"{dataset.name}-{study.task.data[:8]}")
    return given_path(Path(AUDITS) / name if out is None else out)


class _Watcher:
    """Turns the events of a run into the progress of an audit."""

    def __init__(
        self,
        study: Audit,
        folder: Path,
        began: float,
        seconds: float,
        watch: Callable[[Progress], None],
    ) -> None:
        self._study, self._folder = study, folder
        self._began, self._seconds, self._watch = began, seconds, watch
        self.phase, self.result = "checks", None
        self._todo = self._done = 0
        self._tuned = False

    def tell(self, phase: str, fraction: float, outlook: Outlook | None = None) -> None:
        self.phase = phase
        left = max(0.0, self._seconds - (time.monotonic() - self._began))
        self._watch(Progress(phase, fraction, left, self.result, outlook))

    def watch(self, event: Event) -> None:
        if isinstance(event, Planned):
            self._todo, self._done = len(event.new), 0
            self._answer()
        elif isinstance(event, Finished):
            self._done += 1
            self.phase = self._phase(str(event.labels["phase"]))
        elif isinstance(event, Tick):
            self.tell(self.phase, min(1.0, self._done / max(1, self._todo)))

    def _phase(self, phase: str) -> str:
        if phase in (ORDER, TUNING):
            return phase
        done = self.result.rounds if self.result is not None else 0
        return f"round {done + 1}" if self._tuned else "checks"

    def _answer(self) -> None:
        """The answer from the rows on disk."""
        points, rows = stored(self._study, self._folder)
        self._tuned = any(point.labels["phase"] == MEASURED for point in points)
        if points:
            seconds = time.monotonic() - self._began
            self.result = result(self._study, points, rows, seconds=seconds, out=str(self._folder))


def stored(study: Audit, folder: Path) -> tuple[list[Point], dict[str, Row]]:
    """The plan of an audit and its rows on disk."""
    if not (folder / FILE).exists():
        return [], {}
    with Store.read(folder) as store:
        rows = dict(store.contents().rows())
    return (study.plan(rows), rows) if rows else ([], {})
