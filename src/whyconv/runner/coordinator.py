"""The coordinator: plan, run what is missing, keep every row as it comes, until nothing is missing.

Resuming is the same call again. Rows are the only state: whenever the process dies, the next one
reads the rows, makes the plan, and runs the trials that have none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

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
from whyconv.runner.planning import Planner
from whyconv.runner.pool import Outcome, Pool
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
) -> Summary:
    """Run every trial of the study that has no row yet in the folder ``out``.

    A failed trial counts as done unless ``options.retry_failed``. ``watch`` is called with every
    :data:`Event`, with :class:`Finished` only after the row is on disk. Ctrl-C ends the workers and raises
    :class:`Interrupted`.
    """
    folder = Path(out)
    checkpoint.interval()
    options, planner = options or Options(), Planner(study)
    planned = planner.plan({})
    if not planned:  # checked before anything is opened, so that a refused study leaves no trace
        raise UserError(
            f"{study.name} plans no trial with these settings; give it at least one arm and value."
        )
    if not (folder / FILE).exists():
        fit.workers(planner.ahead(planned, {}), folder, options)  # refused before there is a store
    if not folder.exists():
        _fetch(planned)
    with Store.open(folder) as store:
        if store.repair is not None:
            watch(Repaired(store.repair))
        run = _Run(study, planner, store, options, watch)
        try:
            return run.complete()
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
    ) -> None:
        self._study, self._planner = study, planner
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

    def complete(self) -> Summary:
        planned = self._plan()
        _fetch(self._missing())
        if any(not self._foreign(row) for row in self._rows.values()):
            self._recorded(self._here)  # its description may have been lost with a damaged page
        loads = [str(Path(file).resolve()) for file in self._options.loads]
        files = [{"file": Path(file).name, "digest": registry.file_digest(file)} for file in loads]
        self._store.record_run(self._study, self._options.preset, files, self._options.command)
        missing = self._missing()
        if missing:
            with self._pool(loads) as pool:
                while missing:
                    self._run(missing, pool)
                    planned = self._plan()
                    missing = self._missing()
        self._store.check_in_place()
        return Summary(planned, {key: self._rows[key] for key in self.points})

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

    def _run(self, missing: list[Point], pool: Pool) -> None:
        """Run the trials. Rows are kept in the order in which trials end, and do not depend on it."""
        for point in missing:
            pool.submit(point.trial.key, point.trial.canonical(), point.trial.program)
        next_tick = 0.0
        with system.deferred_interrupt() as interrupted:
            while pool.unfinished:
                kept = [row for outcome in pool.wait(0.1) if (row := self._take(outcome))]
                if self._options.fail_fast and (failed := [row for row in kept if row.status == "failed"]):
                    raise self._stopped(failed[0])
                if interrupted():
                    break
                if time.monotonic() >= next_tick:
                    next_tick = time.monotonic() + TICK_SECONDS
                    running = pool.running().items()
                    self._watch(Tick([(self.points[key].labels, fraction) for key, fraction in running]))
        if interrupted():
            raise KeyboardInterrupt

    def _take(self, outcome: Outcome) -> Row | None:
        """Keep and return the row of a trial that has ended; one that was put back is only reported."""
        if outcome.status != "put back":
            return self._keep(outcome, outcome.status)
        self._watch(PutBack(self.points[outcome.key].labels, outcome.key, outcome.error))
        return None

    def _keep(self, outcome: Outcome, status: Literal["ok", "failed"]) -> Row:
        point = self.points[outcome.key]
        row = Row(
            key=outcome.key,
            stem=point.trial.stem,
            spec=point.trial.canonical(),
            versions=point.trial.versions,
            status=status,
            result=outcome.result,
            trace=outcome.trace,
            error=outcome.error,
            environment=self._recorded(outcome.environment),
            seconds=outcome.seconds,
        )
        first_at = self._store.put(row, outcome.seconds, outcome.traceback)  # raises if the folder is gone
        self._rows[row.key] = replace(row, first_at=first_at)
        self.done += 1
        checkpoint.Checkpoint(self._store.folder / checkpoint.FOLDER / f"{row.key}.npz").discard()
        self._watch(
            Finished(
                labels=point.labels,
                key=row.key,
                status=row.status,
                seconds=outcome.seconds,
                error=row.error,
                done=self.done,
                total=len(self.points),
            )
        )
        return row

    def _stopped(self, row: Row) -> TrialFailed:
        labels = labelled(self.points[row.key].labels)
        return TrialFailed(
            f"the trial {labels} failed ({row.error}); the other rows are kept: run without --fail-fast to "
            "continue."
        )

    def _has_other_settings(self, runs: Iterable[RunRecord]) -> bool:
        settings = [run.settings for run in runs if run.study == self._study.name]
        return bool(settings) and self._study.canonical() not in settings

    @contextmanager
    def _pool(self, loads: list[str]) -> Iterator[Pool]:
        options = self._options
        pool = Pool(self._store.folder, self._workers, options.limit, loads, options.execute)
        try:
            yield pool
        finally:
            with system.deferred_interrupt():
                pool.close()
