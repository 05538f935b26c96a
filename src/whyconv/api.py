"""The notebook's interface: ``run`` a study, ``check`` claims, ``open`` what is on disk.

The command line is a thin layer over this module.
"""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from whyconv import registry
from whyconv.deciding import decide_all
from whyconv.errors import UserError
from whyconv.notebook import Run
from whyconv.paths import given_path
from whyconv.runner.cluster.connecting import connected
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Event, Options
from whyconv.runner.opened import open_folder
from whyconv.runs import runs_of
from whyconv.settings import configure
from whyconv.spec import to_json
from whyconv.tasks.images import use_folder
from whyconv.verdict import control_fault

if TYPE_CHECKING:
    from whyconv.auditing.answer import Answer
    from whyconv.auditing.run import Progress

RUNS = "whyconv-runs"


def run(
    study: str,
    preset: str = "quick",
    set: Mapping[str, Any] | Iterable[str] | str = (),
    seeds: int | None = None,
    out: str | Path | None = None,
    workers: int | None = None,
    load: str | Path | Iterable[str | Path] = (),
    data: str | Path | None = None,
    *,
    retry_failed: bool = False,
    fail_fast: bool = False,
    limit: float = 300.0,
    strict_environment: bool = False,
    force: bool = False,
    cluster: Any = None,
    watch: Callable[[Event], None] | None = None,
    command: str | None = None,
) -> Run:
    """Run the missing trials of a study, and return the study with its rows.

    >>> r = whyconv.run("brutzkus.fig3a", preset="quick")  # doctest: +SKIP
    >>> r.table, r.figure(), r.verdict  # doctest: +SKIP

    ``set`` overrides settings: ``{"task.positions": 20}``. Rows go to ``out`` (by default ``whyconv-runs``);
    calling again with the same arguments runs only what is missing. Trials run in worker processes, never in
    this one. ``data`` is a folder of image sets, for studies on images. By default there is one worker per
    core, or fewer if memory is short. A run that does not fit into cores, memory or disk is refused unless
    ``force`` is given. ``strict_environment`` recomputes rows from other versions or another kind of
    processor. ``cluster`` runs trials on a Dask cluster instead: the address of its scheduler, a file (see
    docs/cluster.md) or a ``distributed.Client``.
    """
    if data is not None:
        use_folder(data)
    loads = [load] if isinstance(load, str | Path) else list(load)
    for file in loads:
        registry.load(file)
    if not isinstance(set, Mapping):
        set = [set] if isinstance(set, str) else list(set)
    chosen = configure(study, preset, set, seeds)
    folder = given_path(RUNS if out is None else out)
    line = command or _command(study, preset, set, seeds, out, loads, data)
    options = Options(
        workers=workers,
        limit=limit,
        retry_failed=retry_failed,
        fail_fast=fail_fast,
        strict_environment=strict_environment,
        force=force,
        loads=tuple(str(file) for file in loads),
        preset=preset,
        command=line,
    )
    with nullcontext() if cluster is None else connected(cluster) as place:
        if watch is not None:
            summary = complete(chosen, folder, options, watch, place)
        else:
            from whyconv.progress import Progress  # imports rich

            with Progress(chosen) as progress:
                summary = complete(chosen, folder, options, progress.watch, place)
    return Run(chosen, summary.points, summary.rows, folder, line, preset)


def audit(
    X: Any,
    y: Any,
    groups: Any = None,
    grid: str | tuple[int, ...] = "auto",
    metric: str = "auto",
    target: float | None = None,
    minutes: float = 5,
    random_state: int = 0,
    *,
    channels: Literal["first", "last"] | None = None,
    lengths: Literal["pad", "cut"] | None = None,
    arms: Iterable[str] | str | None = None,
    out: str | Path | None = None,
    workers: int | None = None,
    memory: float | None = None,
    cluster: Any = None,
    name: str = "data",
    watch: Callable[[Any], None] | None = None,
) -> Answer:
    """What would locality, weight sharing and pooling save on these data?

    >>> r = whyconv.audit(X, y, minutes=5)  # doctest: +SKIP
    >>> r.order, r.savings, r.curves, r.best, r.more_data(error=0.05)  # doctest: +SKIP

    ``X``: an array or frame of examples, ``y``: classes, or real targets with ``metric="mse"``; ``groups``:
    examples of one group (one person, one machine) are never on both sides of a split. ``grid``: series,
    table, 28x28x1, or auto; ``lengths``: what to do with series of unequal ones. ``target``: an error, for
    the number of examples that it needs. The audit ends after ``minutes``, or before if everything is
    decided; the same call resumes it in the folder ``out``, with more minutes it goes on. ``memory``: a cap
    in gigabytes. ``cluster``: as for :func:`run`.
    """
    from whyconv.auditing.answer import Answer
    from whyconv.auditing.asking import require_positive
    from whyconv.auditing.dataset import from_arrays
    from whyconv.auditing.design import designed
    from whyconv.auditing.run import audit as audited

    require_positive(minutes=minutes, memory=memory)
    dataset = from_arrays(X, y, groups, grid, channels, metric, name, lengths=lengths, memory=memory)
    chosen = arms if arms is None or isinstance(arms, str) else tuple(arms)

    def watched(progress: Progress) -> None:
        if progress.outlook is not None and not progress.outlook.enough:
            warnings.warn(progress.outlook.sentence, stacklevel=5)
        if watch is not None:
            watch(progress)

    with nullcontext() if cluster is None else connected(cluster) as place:
        found = audited(
            dataset, metric=metric, target=target, minutes=minutes, out=out, workers=workers, memory=memory,
            arms=chosen, random_state=random_state, place=place,
            watch=watched,
        )  # fmt: skip
    study = designed(dataset, metric=metric, arms=chosen, random_state=random_state)
    return Answer(found, study, channels_first=channels == "first")


def _command(
    study: str,
    preset: str,
    assignments: Mapping[str, Any] | Iterable[str],
    seeds: int | None,
    out: str | Path | None,
    loads: Iterable[str | Path],
    data: str | Path | None = None,
) -> str:
    """The equivalent command line."""
    words = ["whyconv", "run", study, "--preset", preset]
    if isinstance(assignments, Mapping):
        assignments = [f"{k}={v if isinstance(v, str) else to_json(v)}" for k, v in assignments.items()]
    for assignment in assignments:
        words += ["--set", assignment]
    if seeds is not None:
        words += ["--seeds", str(seeds)]
    if out is not None:
        words += ["--out", str(out)]
    for file in loads:
        words += ["--load", str(file)]
    if data is not None:
        words += ["--data", str(data)]
    return shlex.join(words)


def everything(paper: str = "") -> dict[str, list[dict[str, str]]]:
    """Studies, claims, tasks, networks, learners and functions by kind: name, title, summary, reference."""
    return registry.everything(paper)


def check(
    which: str = "all",
    load: str | Path | Iterable[str | Path] = (),
    watch: Callable[[str], None] = lambda name: None,
) -> list[dict[str, Any]]:
    """Decide claims and their controls: one by name, all of a paper, or ``all``.

    Each is a dictionary with the keys claim, paper, statement, source, verdict, expected, control,
    control_verdict, numbers, rows (*kept*, of which a few were computed again, or *computed*), seconds,
    reference, provenance, erratum, traceback (empty unless the claim raised) and controls, a list of all with
    their verdicts and numbers; control and control_verdict are those of the one nearest to passing. Several
    claims are decided in worker processes. ``watch`` is called with the name of each claim when it is taken
    up, and with "" at the end.
    """
    files = [load] if isinstance(load, str | Path) else list(load)
    for file in files:
        registry.load(file)
    found = list(decide_all(chosen_claims(which), files, watch))
    watch("")
    return found


def as_expected(claim: Mapping[str, Any]) -> bool:
    """Whether the verdict is the recorded one and a decided control flips it."""
    as_recorded = claim["verdict"] == claim["expected"]
    return as_recorded and not control_fault(claim["verdict"], claim["control_verdict"])


def chosen_claims(which: str) -> list[Any]:
    """The claim of this name, those about a place (``Theorem 4``), all of a paper, or all claims."""
    claims = registry.pieces("claim")
    if which != "all":
        named = [claim for claim in claims if which in (claim.name, claim.name.partition(".")[0])]
        claims = named or registry.at("claim", which)
    if not claims:
        names = [claim.name for claim in registry.pieces("claim")]
        papers = sorted({name.partition(".")[0] for name in names})
        near = ", ".join(registry.nearest(which, [*names, *papers]))
        raise UserError(
            f"there is no claim {which!r}; nearest: {near}; choose a claim, a paper "
            f"({', '.join(papers)}) or all."
        )
    return claims


def open_runs(folder: str | Path, load: str | Path | Iterable[str | Path] = ()) -> list[Run]:
    """The studies whose rows are in a folder. Nothing is run, not even a file that the folder names.

    Damage, and studies that need a file of the user's own pieces, are warnings.
    """
    found = open_folder(folder, [load] if isinstance(load, str | Path) else load)
    for sentence in (*found.problems, *found.remarks):
        warnings.warn(sentence, stacklevel=2)
    return [Run(**vars(each)) for each in runs_of(found)]
