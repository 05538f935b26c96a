"""The coordinator: plan, run what is missing, keep every row as it comes, until nothing is missing.

Resuming is the same call again. Rows are the only state: whenever the process dies, the next one
reads the rows, makes the plan, and runs the trials that have none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyconv import registry, system
from whyconv.errors import UserError
from whyconv.runner import checkpoint, environment, fit
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
from whyconv.tasks import StreamedTask
from whyconv.text import labelled
from whyconv.trial import Row

if TYPE_CHECKING:
    from whyconv.runner.contents import Run as RunRecord
    from whyconv.studies import Point, Study

TICK_SECONDS = 0.5
"""Progress is reported this often."""


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
        workers = fit.workers(planner.ahead(planned, {}), folder, options)  # refused before there is a store
        place.start(errand, min(workers, len({point.trial.key for point in planned})))
    if not folder.exists():
        _fetch(planned)
    with Store.open(folder) as store:
        if store.repair is not None:
            watch(Repaired(store.repair))
        run = _Run(study, planner, store, options, watch, deadline)
        try:
            return run.complete(place, errand)
        except KeyboardInterrupt:
            raise Interrupted(run.done, len(run.points)) from None
        finally:
            run.tidy()


def _fetch(points: Iterable[Point]) -> None:
    """Fetch the data of these trials once, before the workers need it."""
    tasks = (point.trial.task for point in points)
    streamed = {task.data_digest(): task for task in tasks if isinstance(task, StreamedTask)}
    for task in streamed.values():
        task.fetch()


class _Run:
    """One run of a study: its rows and its current plan."""

    def __init__(
        self,
        study: Study,
        planner: Planner,
        store: Store,
        options: Options,
        watch: Callable[[Event], None],
        deadline: float = inf,
    ) -> None:
        self._study, self._planner, self._deadline = study, planner, deadline
        self._store, self._options, self._watch = store, options, watch
        found = store.contents() if store.found is None else store.found
        stored, damaged = found.rows(), store.repair.lost if store.repair else frozenset()
        self._here = environment.describe()
        self._environment = environment.identity(self._here)
        self._environments = found.environments()
        failed = {key for key, row in stored.items() if row.status == "failed" and options.retry_failed}
        elsewhere = {key for key, row in stored.items() if options.strict_environment and self._foreign(row)}
        self._rows = {key: row for key, row in stored.items() if key not in failed | elsewhere}
        self._reusable = frozenset(self._rows)
        checkpoint.sweep(store.folder, failed.union(self._rows))
        others = self._has_other_settings(found.runs())
        self._reasons = Reasons(stored.values(), failed, damaged, others, elsewhere)
        self.points: dict[str, Point] = {}
        self.done = 0
        self._workers = 1

    def complete(self, place: Place, errand: Errand) -> Summary:
        planned = self._plan()
        _fetch(self._missing())
        if any(not self._foreign(row) for row in self._rows.values()):
            self._recorded(self._here)  # its description may have been lost with a damaged page
        files = [{"file": Path(file).name, "digest": registry.file_digest(file)} for file in errand.loads]
        self._store.record_run(self._study, self._options.preset, files, self._options.command)
        missing = self._missing()
        if missing:
            place.begin(errand, self._workers)
        while missing and not self._late:
            self._run(missing, place)
            if self._late:
                place.clear()
            planned = self._plan()
            missing = self._missing()
        self._store.check_in_place()
        return Summary(planned, {key: self._rows[key] for key in self.points if key in self._rows})

    @property
    def _late(self) -> bool:
        """Whether the time of the run is up."""
        return time.monotonic() >= self._deadline

    def tidy(self) -> None:
        """Remove an empty folder of checkpoints and an empty log."""
        folder = self._store.folder
        with suppress(OSError):
            (folder / checkpoint.FOLDER).rmdir()
        with suppress(OSError):
            if (folder / "workers.log").stat().st_size == 0:
                (folder / "workers.log").unlink()

    def _plan(self) -> list[Point]:
        """Ask the study for its plan; two points may share a trial, which is run once."""
        planned = self._planner.plan(self._rows)
        first = not self.points
        self.points = {}
        for point in planned:
            self.points.setdefault(point.trial.key, point)
        missing = self._missing()
        self.done = len(self.points) - len(missing)
        if missing and first:
            self._workers = fit.workers(
                self._planner.ahead(planned, self._rows), self._store.folder, self._options
            )
        if missing or first:
            reused = [self._rows[key] for key in self.points if key in self._reusable]
            self._watch(
                Planned(
                    total=len(self.points),
                    reused=len(reused),
                    kept_failed=sum(row.status == "failed" for row in reused),
                    new_by_reason=self._reasons.count(point.trial for point in missing),
                    other_environment=sum(map(self._foreign, reused)),
                    differences=self._differences(reused),
                    workers=self._workers,
                    new=tuple(point.trial for point in missing),
                    kept=frozenset(self._rows.keys() & self.points),
                    outlook=self._planner.outlook,
                )
            )
        return planned

    def _foreign(self, row: Row) -> bool:
        return row.environment != self._environment

    def _differences(self, rows: Iterable[Row]) -> tuple[str, ...]:
        """How the environments that these rows come from differ from this one."""
        others = {row.environment for row in rows if self._foreign(row)} & self._environments.keys()
        found = (environment.differences(self._here, self._environments[other]) for other in sorted(others))
        return tuple(dict.fromkeys(f"{name}: {how}" for one in found for name, how in one.items()))

    def _recorded(self, described: Mapping[str, Any]) -> str:
        """The identity of a worker's environment; stores its description if it is new."""
        name = environment.identity(described)
        if name not in self._environments:
            self._environments[name] = dict(described)
            self._store.record_environment(described)
        return name

    def _missing(self) -> list[Point]:
        return [point for key, point in self.points.items() if key not in self._rows]

    def _run(self, missing: list[Point], place: Place) -> None:
        """Run the trials. Rows are kept in the order in which trials end, and do not depend on it."""
        for point in missing:
            place.submit(point.trial.key, point.trial.canonical(), point.trial.program)
        batch, next_tick = _Batch(self._keep), 0.0
        with system.deferred_interrupt() as interrupted:
            while place.unfinished or batch.outcomes:
                try:
                    batch.outcomes += self._measured(place.wait(batch.patience))
                except BaseException:
                    batch.write()
                    raise
                failed = [each for each in batch.outcomes if each.status == "failed"]
                late = self._late
                last = interrupted() or late or not place.unfinished or (failed and self._options.fail_fast)
                if last or batch.patience == 0:
                    batch.write()
                if failed and self._options.fail_fast:
                    raise self._stopped(self._rows[failed[0].key])
                if interrupted() or late:
                    break
                if time.monotonic() >= next_tick:
                    next_tick = time.monotonic() + TICK_SECONDS
                    running = place.running().items()
                    self._watch(Tick([(self.points[key].labels, fraction) for key, fraction in running]))
        if interrupted():
            raise KeyboardInterrupt

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
        for row, first_at in zip(rows, firsts, strict=True):
            self._rows[row.key] = replace(row, first_at=first_at)
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

    def _stopped(self, row: Row) -> TrialFailed:
        labels = labelled(self.points[row.key].labels)
        return TrialFailed(
            f"the trial {labels} failed ({row.error}); the other rows are kept: run without --fail-fast to "
            "continue."
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
