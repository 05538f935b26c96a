"""The coordinator: plan, run what is missing, keep every row as it comes, until nothing is missing.

Resuming is the same call again. Rows are the only state: whenever the process dies, the next one
reads the rows, makes the plan, and runs the trials that have none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyconv import registry, system
from whyconv.errors import UserError
from whyconv.runner import checkpoint, environment
from whyconv.runner.database import FILE
from whyconv.runner.events import (
    Event,
    Finished,
    Interrupted,
    Options,
    Planned,
    PutBack,
    Repaired,
    Summary,
    Tick,
    TrialFailed,
)
from whyconv.runner.places import Place, local
from whyconv.runner.planning import Planner
from whyconv.runner.pool import Errand, Outcome
from whyconv.runner.reasons import Reasons
from whyconv.runner.store import Store
from whyconv.runner.stored import Remembered, Stored
from whyconv.studies.lazily import ByKey, CellPlan, Part, Trials
from whyconv.tasks import StreamedTask
from whyconv.text import labelled
from whyconv.trial import Row

if TYPE_CHECKING:
    from whyconv.runner.contents import Run as RunRecord
    from whyconv.studies import Point, Study

TICK_SECONDS = 0.5
"""Progress is reported this often."""
WAITING = 5000
"""Trials that wait at the place; enough to keep a thousand workers busy with what they have compiled."""


def complete(
    study: Study,
    out: str | Path,
    options: Options | None = None,
    watch: Callable[[Event], None] = lambda event: None,
    place: Place | None = None,
) -> Summary:
    """Run every trial of the study that has no row yet in the folder ``out``.

    A failed trial counts as done unless ``options.retry_failed``. ``watch`` is called with every
    :data:`Event`, with :class:`Finished` only after the row is on disk. Ctrl-C ends the running trials and
    raises :class:`Interrupted`. Trials run in ``place``, which is left open, or in the warm pool of this
    process (:mod:`whyconv.runner.places`).
    """
    with nullcontext(place) if place is not None else local() as where:
        return _complete(study, Path(out), options or Options(), watch, where)


def _complete(
    study: Study, folder: Path, options: Options, watch: Callable[[Event], None], place: Place
) -> Summary:
    checkpoint.interval()
    deadline = time.monotonic() + options.seconds
    planner, new = Planner(study), not (folder / FILE).exists()
    errand = Errand(
        folder, options.limit, tuple(str(Path(file).resolve()) for file in options.loads), options.execute
    )
    if new:
        place.start(errand, 1)  # while the plan is made
    planned = planner.plan({})
    if not planned:  # checked before anything is opened, so that a refused study leaves no trace
        raise UserError(
            f"{study.name} plans no trial with these settings; give it at least one arm and value."
        )
    if new:
        workers = place.fitting(
            planner.ahead(planned, {}), folder, options
        )  # refused before there is a store
        place.start(errand, min(workers, len(_by_key(planned))))
    if not folder.exists():
        _fetch(planned)
    with Store.open(folder) as store:
        if store.repair is not None:
            watch(Repaired(store.repair))
        run = _Run(study, planner, store, options, watch, place, deadline)
        try:
            return run.complete(errand)
        except KeyboardInterrupt:
            raise Interrupted(run.done, len(run.points)) from None
        finally:
            run.tidy()


def _by_key(points: Sequence[Point]) -> Mapping[str, Point]:
    """Points by the keys of their trials; of two that share a trial the first, which is run once."""
    if isinstance(points, CellPlan):
        return points.by_key
    found: dict[str, Point] = {}
    for point in points:
        found.setdefault(point.trial.key, point)
    return found


def _fetch(points: Iterable[Point]) -> list[StreamedTask]:
    """Fetch the data of these trials once, before the workers need it; a task for each set."""
    if isinstance(points, CellPlan):
        points = points.samples()
    elif isinstance(points, Part):
        points = [point for point, _ in points.counted()]
    tasks = (point.trial.task for point in points)
    streamed = {task.data_digest(): task for task in tasks if isinstance(task, StreamedTask)}
    for task in streamed.values():
        task.fetch()
    return list(streamed.values())


class _Run:
    """One run of a study: its rows and its current plan."""

    def __init__(
        self,
        study: Study,
        planner: Planner,
        store: Store,
        options: Options,
        watch: Callable[[Event], None],
        place: Place,
        deadline: float = inf,
    ) -> None:
        self._study, self._planner, self._deadline = study, planner, deadline
        self._store, self._options, self._watch, self._place = store, options, watch, place
        found = store.contents() if store.found is None else store.found
        stored, damaged = found.rows(), store.repair.lost if store.repair else frozenset()
        self._here = environment.describe()
        self._environment = environment.identity(self._here)
        self._environments = found.environments()
        failed = {key for key, row in stored.items() if row.status == "failed" and options.retry_failed}
        elsewhere = {key for key, row in stored.items() if options.strict_environment and self._foreign(row)}
        self._rows: dict[str, Row] | Remembered = {
            key: row for key, row in stored.items() if key not in failed | elsewhere
        }
        """If the plan is very long, rows stay on disk."""
        self._reusable = frozenset(self._rows)
        checkpoint.sweep(store.folder, failed.union(self._rows))
        others = self._has_other_settings(found.runs())
        self._reasons = Reasons(stored.values(), failed, damaged, others, elsewhere)
        self.points: Mapping[str, Point] = {}
        self.done = 0
        self._workers = 1

    def complete(self, errand: Errand) -> Summary:
        planned, place = self._plan(), self._place
        needs = tuple(_fetch(self._missing()))
        if any(not self._foreign(row) for row in self._rows.values()):
            self._recorded(self._here)  # its description may have been lost with a damaged page
        files = [{"file": Path(file).name, "digest": registry.file_digest(file)} for file in errand.loads]
        self._store.record_run(self._study, self._options.preset, files, self._options.command)
        missing = self._missing()
        if missing:
            place.begin(replace(errand, needs=needs), self._workers)
        while missing and not self._late:
            self._run(missing)
            if self._late:
                place.clear()
            planned = self._plan()
            missing = self._missing()
        self._store.check_in_place()
        if isinstance(self._rows, Remembered):
            return Summary(planned, Stored(self._store.folder, self.points))
        return Summary(planned, {key: self._rows[key] for key in self.points if key in self._rows})

    @property
    def _late(self) -> bool:
        """Whether the time of the run is up."""
        return time.monotonic() >= self._deadline

    def tidy(self) -> None:
        """End running trials; remove an empty folder of checkpoints and an empty log."""
        self._place.clear()
        folder = self._store.folder
        with suppress(OSError):
            (folder / checkpoint.FOLDER).rmdir()
        with suppress(OSError):
            if (folder / "workers.log").stat().st_size == 0:
                (folder / "workers.log").unlink()

    def _plan(self) -> Sequence[Point]:
        """Ask the study for its plan."""
        planned = self._planner.plan(self._rows)
        first = not self.points
        if first or not isinstance(planned, CellPlan):
            self.points = _by_key(planned)
            self._reasons.forget(self.points)
        if first and isinstance(self.points, ByKey):
            self._rows = Remembered(self.points, self._rows)
        missing = self._missing()
        self.done = len(self.points) - len(missing)
        if missing and first:
            ahead = Trials(missing) if isinstance(missing, Part) else self._planner.ahead(planned, self._rows)
            self._workers = self._place.fitting(ahead, self._store.folder, self._options)
        if missing or first:
            new = Trials(missing) if isinstance(missing, Part) else tuple(each.trial for each in missing)
            reused = [self._rows[key] for key in self.points if key in self._reusable]
            self._watch(
                Planned(
                    total=len(self.points),
                    reused=len(reused),
                    kept_failed=sum(row.status == "failed" for row in reused),
                    new_by_reason=self._reasons.count(new),
                    other_environment=sum(map(self._foreign, reused)),
                    differences=self._differences(reused),
                    workers=self._workers,
                    standing=self._place.standing(),
                    new=new,
                    kept=frozenset(key for key in self._rows if key in self.points),
                    outlook=self._planner.outlook,
                )
            )
        return planned

    def _foreign(self, row: Row) -> bool:
        return row.environment != self._environment

    def _differences(self, rows: Iterable[Row]) -> tuple[str, ...]:
        """How the environments that these rows come from differ from this one."""
        known = {name for name, about in self._environments.items() if about}  # of a dead worker nothing is
        others = {row.environment for row in rows if self._foreign(row)} & known
        found = (environment.differences(self._here, self._environments[other]) for other in sorted(others))
        return tuple(dict.fromkeys(f"{name}: {how}" for one in found for name, how in one.items()))

    def _recorded(self, described: Mapping[str, Any]) -> str:
        """The identity of a worker's environment; stores its description if it is new."""
        name = environment.identity(described)
        if name not in self._environments:
            self._environments[name] = dict(described)
            self._store.record_environment(described)
        return name

    def _missing(self) -> Sequence[Point]:
        if isinstance(self._rows, Remembered):
            return self._rows.missing()
        return [point for key, point in self.points.items() if key not in self._rows]

    def _run(self, missing: Sequence[Point]) -> None:
        """Run the trials. Rows are kept in the order in which trials end, and do not depend on it."""
        place, waiting = self._place, iter(missing)
        self._submit(waiting)
        batch, next_tick = _Batch(self._keep), 0.0
        with system.deferred_interrupt() as interrupted:
            while place.unfinished or batch.outcomes:
                try:
                    batch.outcomes += self._measured(place.wait(batch.patience))
                except BaseException:
                    batch.write()
                    raise
                failed = [each for each in batch.outcomes if each.status == "failed"]
                stopped = interrupted() or self._late  # asked once: what has ended is written before
                self._submit(waiting)
                last = stopped or not place.unfinished or (failed and self._options.fail_fast)
                if last or batch.patience == 0:
                    batch.write()
                if failed and self._options.fail_fast:
                    raise self._stopped(failed[0])
                if stopped:
                    break
                if time.monotonic() >= next_tick:
                    next_tick = time.monotonic() + TICK_SECONDS
                    running = place.running().items()
                    told = [(self.points[key].labels, fraction) for key, fraction in running]
                    self._watch(Tick(told, place.standing()))
        if interrupted():
            raise KeyboardInterrupt

    def _submit(self, waiting: Iterator[Point]) -> None:
        """Have some thousand trials wait at the place; of a longer plan the others wait as numbers."""
        for point in islice(waiting, max(0, WAITING - self._place.unfinished)):
            self._place.submit(point.trial.key, point.trial.canonical(), point.trial.program)

    def _measured(self, outcomes: list[Outcome]) -> list[Outcome]:
        """The trials that have ended; those that were put back are only reported."""
        for outcome in outcomes:
            if outcome.status == "put back":
                self._watch(PutBack(self.points[outcome.key].labels, outcome.key, outcome.error))
        return [outcome for outcome in outcomes if outcome.status != "put back"]

    def _keep(self, outcomes: list[Outcome]) -> None:
        """Store the rows of trials that have ended, all at once; each is reported when all are on disk."""
        if not outcomes:
            return
        rows = [self._row(outcome) for outcome in outcomes]
        entries = [(row, row.seconds, outcome.traceback) for row, outcome in zip(rows, outcomes, strict=True)]
        firsts = self._store.put_all(entries)  # raises if the folder is gone
        rows = [replace(row, first_at=first_at) for row, first_at in zip(rows, firsts, strict=True)]
        for row in rows:
            self._rows[row.key] = row
            checkpoint.Checkpoint(self._store.folder / checkpoint.FOLDER / f"{row.key}.npz").discard()
        for row in rows:
            self.done += 1
            self._watch(
                Finished(
                    labels=self.points[row.key].labels,
                    key=row.key,
                    status=row.status,
                    seconds=row.seconds,
                    error=row.error,
                    done=self.done,
                    total=len(self.points),
                    row=row,
                )
            )

    def _row(self, outcome: Outcome) -> Row:
        trial = self.points[outcome.key].trial
        return Row(
            key=outcome.key,
            stem=trial.stem,
            spec=trial.canonical(),
            versions=trial.versions,
            status="ok" if outcome.status == "ok" else "failed",
            result=outcome.result,
            trace=outcome.trace,
            error=outcome.error,
            environment=self._recorded(outcome.environment),
            seconds=outcome.seconds,
        )

    def _stopped(self, outcome: Outcome) -> TrialFailed:
        labels = labelled(self.points[outcome.key].labels)
        return TrialFailed(
            f"the trial {labels} failed ({outcome.error}); the other rows are kept: run without "
            "--fail-fast to continue."
        )

    def _has_other_settings(self, runs: Iterable[RunRecord]) -> bool:
        settings = [run.settings for run in runs if run.study == self._study.name]
        return bool(settings) and self._study.canonical() not in settings


class _Batch:
    """Trials that have ended and are not on disk yet.

    Syncing the disk takes as long for one row as for hundreds, and holds up the workers: so it takes a tenth
    of the time at most, unless trials then wait for longer than ``LONGEST`` seconds.
    """

    LONGEST = 1.0
    SHARE = 0.1

    def __init__(self, keep: Callable[[list[Outcome]], None]) -> None:
        self.outcomes: list[Outcome] = []
        self._keep = keep
        self._due = 0.0

    @property
    def patience(self) -> float:
        """Seconds to wait for further trials; 0 if it is time to write."""
        return max(0.0, self._due - time.monotonic()) if self.outcomes else 0.1

    def write(self) -> None:
        outcomes, self.outcomes, began = self.outcomes, [], time.monotonic()
        self._keep(outcomes)
        ended = time.monotonic()
        self._due = ended + min(self.LONGEST, (ended - began) * (1 / self.SHARE - 1))
