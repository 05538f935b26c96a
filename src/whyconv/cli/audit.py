"""``whyconv audit``: what would locality, sharing and pooling save on a user's own data?"""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from math import isfinite
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from whyconv.auditing.bad_data import BadData
from whyconv.cli import terminal
from whyconv.cli.audit_screen import Shown, described, show, wrapped
from whyconv.cli.cluster import Cluster, opened, require_one
from whyconv.cli.cluster import described as cluster_described
from whyconv.paths import given_path
from whyconv.text import count, rough_duration

if TYPE_CHECKING:
    from whyconv.auditing.dataset import Dataset
    from whyconv.auditing.result import Result
    from whyconv.auditing.run import Progress
    from whyconv.runner.opened import Opened

LONGEST = 10_000
"""Minutes."""


def audit(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            parser=given_path,
            help="A file (.npz, .npy, .csv, .parquet, .ts, .arff) or a folder with a subfolder per class.",
        ),
    ],
    label: Annotated[
        str | None, typer.Option(help="The labels: a column, an array of an .npz, or an .npy file.")
    ] = None,
    x: Annotated[str | None, typer.Option(help="The features: an array of an .npz; default X.")] = None,
    groups: Annotated[
        str | None, typer.Option(help="Rows that belong together, as one person's; named like the labels.")
    ] = None,
    grid: Annotated[
        str, typer.Option(metavar="series|table|28x28x1", help="What the order of features means.")
    ] = "auto",
    channels: Annotated[
        str | None, typer.Option(metavar="first|last", help="Which axis of an array holds channels.")
    ] = None,
    pad: Annotated[bool, typer.Option("--pad", help="Pad series of unequal lengths with zeros.")] = False,
    cut: Annotated[bool, typer.Option("--cut", help="Cut series of unequal lengths.")] = False,
    metric: Annotated[str, typer.Option(metavar="auto|error|balanced|logloss|mse")] = "auto",
    target: Annotated[float | None, typer.Option(help="An error: how many examples does it need?")] = None,
    arms: Annotated[
        list[str] | None,
        typer.Option(help="Architectures, as in --arms 'FCN,CNN + max'; default those without averages."),
    ] = None,
    minutes: Annotated[float, typer.Option(help="How long it may take; it goes on from where it was.")] = 5.0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", parser=given_path, help="Folder; default whyconv-audits/NAME."),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Worker processes; default one per core.")] = None,
    cluster: Cluster = None,
    memory: Annotated[float | None, typer.Option(metavar="GB", help="Memory it may take.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done; write nothing.")
    ] = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="DATA is an audit's folder: delete its copy of the data.")
    ] = False,
) -> None:
    """Ask what locality, sharing and pooling would save on your data.

    First of all: does the order of features matter?

    Nothing leaves the folder. The same command resumes; with more --minutes it goes on from there.
    """
    began = time.monotonic()
    if forget:
        _forget(data, "--json" if as_json else "--dry-run" if dry_run else "")
        return
    _require("--minutes", minutes, LONGEST)
    _require("--memory", memory, 1e6)
    require_one(cluster, workers)
    where = cluster_described(cluster, workers) if dry_run else []
    dataset = _read(data, label, x, groups, grid, channels, metric, pad, cut, memory)
    options: dict[str, Any] = {
        "metric": metric, "target": target, "minutes": minutes, "out": out, "workers": workers,
        "memory": memory, "arms": None if arms is None else ",".join(arms),
    }  # fmt: skip
    if dry_run:
        _tell(dataset, options, as_json, where)
        return
    with opened(cluster, workers) as place:
        _run(dataset, {**options, "place": place, "since": began}, as_json)


def _require(option: str, value: float | None, most: float) -> None:
    if value is not None and not 0 < value <= most:
        raise BadData(f"{option} {value:g} was given; take a number above 0, at most {most:,.0f}.")


def _read(
    path: Path, label: str | None, x: str | None, groups: str | None, grid: str, channels: str | None,
    metric: str, pad: bool, cut: bool, memory: float | None,
) -> Dataset:  # fmt: skip
    from whyconv.auditing.readers import Asked, read

    if pad and cut:
        raise BadData("--pad and --cut were both given; choose one.")
    lengths: Literal["pad", "cut"] | None = "pad" if pad else "cut" if cut else None
    asked = Asked(label, x, groups, memory)
    return read(path, asked, grid, cast("Any", channels), metric, lengths)


def _run(dataset: Dataset, options: dict[str, Any], as_json: bool) -> None:
    from whyconv.auditing.run import audit as audited
    from whyconv.report.audit_page import write
    from whyconv.runner.events import Interrupted

    if (place := options["place"]) is not None:
        there = place.standing()
        print(f"{count(there.slots, 'slot')} on {there.where}.", file=sys.stderr)
    shown, drawn = Shown(), Ahead()

    def watch(progress: Progress) -> None:
        if progress.outlook is not None:
            print(progress.outlook.sentence, file=sys.stderr, flush=True)
        shown(progress)
        drawn(progress.result)

    try:
        result = audited(dataset, **options, watch=watch)
    except (Interrupted, KeyboardInterrupt):
        shown.close()
        terminal.complain("interrupted; what was measured is kept, and the same command goes on from there.")
        raise typer.Exit(130) from None
    finally:
        drawn.wait()  # a process that ends while a thread is in native code may crash
        shown.close()
    page = write(result, Path(result.out) / "report.html", shlex.join(["whyconv", *sys.argv[1:]]))
    if as_json:
        print(json.dumps(result.to_json(), indent=2, allow_nan=False))
        return
    show(result)
    print(f"Report: {page}")
    for line in wrapped(result.ahead, 2) if result.ahead not in result.warnings else ():
        print(line)


class Ahead:
    """Draws a page of the first curves and throws it away, beside the run.

    The first page of a process takes seconds, all others a fraction of one: these seconds would come after
    the time given.
    """

    def __init__(self) -> None:
        self._drawing: Thread | None = None

    def __call__(self, result: Result | None) -> None:
        if self._drawing is None and result is not None and result.curves:
            self._drawing = Thread(target=self._draw, args=(result,), daemon=True)
            self._drawing.start()

    def _draw(self, result: Result) -> None:
        from whyconv.report.audit_page import render

        with suppress(Exception):  # whatever it is, the page itself will tell
            render(result)

    def wait(self) -> None:
        if self._drawing is not None:
            self._drawing.join()


def _forget(folder: Path, other: str) -> None:
    """Delete the copy of the data in a folder; ``other``: an option that does not go with it."""
    from whyconv.auditing.forgetting import forget

    if other:
        raise BadData(f"--forget and {other} were given; --forget only deletes, so leave one out.")
    found = forget(folder)
    print(f"Deleted: {', '.join(map(str, found))}." if found else f"{folder} keeps no copy of data.")


def _tell(dataset: Dataset, options: dict[str, Any], as_json: bool, where: Sequence[str]) -> None:
    """What was read, what looks odd, and what an audit would do ``where``."""
    from whyconv.auditing.asking import allowed_workers, require_target, require_time
    from whyconv.auditing.budget import core_seconds
    from whyconv.auditing.design import chosen_metric, designed
    from whyconv.auditing.outlook import outlook
    from whyconv.auditing.result import Described
    from whyconv.auditing.run import folder_of, stored

    require_target(options["target"], dataset, chosen_metric(dataset, options["metric"]))
    workers = allowed_workers(options["workers"], options["memory"])
    study = designed(
        dataset, metric=options["metric"], arms=options["arms"], target=options["target"],
        budget=core_seconds(options["minutes"], workers),
    )  # fmt: skip
    require_time(study, options["minutes"], workers)
    about = Described(
        dataset.name, len(dataset.y), dataset.shape, len(dataset.classes) or None, study.metric, dataset.grid
    )
    groups = None if dataset.groups is None else int(dataset.groups.max()) + 1
    rows = stored(study, folder_of(dataset, study, options["out"]))[1]
    found = outlook(study, options["minutes"], workers, rows)
    plan = {
        "sizes": list(study.sizes),
        "test": study.task.test,
        "arms": list(study.arms),
        "windows": list(study.windows),
        "orders": study.orders,
        "minutes": options["minutes"],
        "rounds": found.rounds,
        "round_seconds": round(found.each, 1),
    }
    if as_json:
        data = {
            name: getattr(about, name) for name in ("name", "examples", "shape", "classes", "metric", "grid")
        }
        told = {
            "data": {**data, "groups": groups},
            "warnings": [*dataset.warnings, *([] if found.enough else [found.sentence])],
            "plan": {**plan, "forecast": found.sentence},
        }
        print(json.dumps(told, indent=2, allow_nan=False))
        return
    for line in described(about, groups, dataset.classes, dataset.warnings):
        print(line)
    sizes = ", ".join(f"{m:,}" for m in study.sizes)
    for text in (
        f"Plan: training on {sizes} examples and testing on {study.task.test:,}, a new split every round",
        f"  networks: {', '.join(study.arms)}; windows of {_or(study.windows)}",
        f"  first the order test ({study.orders} random orders) and tuning, then rounds of about "
        f"{rough_duration(found.each)} until {options['minutes']:g} min are over or all is decided",
        found.sentence,
    ):
        for line in wrapped(text, 4):
            print(line)
    for line in (*where, "Nothing was written."):
        print(line)


def _or(windows: tuple[int, ...]) -> str:
    *others, last = map(str, windows)
    return f"{', '.join(others)} or {last}" if others else last


def is_audit(found: Opened) -> bool:
    """Whether a folder holds audits and nothing else."""
    return bool(found.runs) and all(run.study.name == "audit" for run in found.runs) and not found.unplanned


def audits_of(found: Opened) -> list[Result]:
    """What the audits of a folder found, from their rows; data are not needed.

    Audits of the same question that were called again with more time are one: the last counts.
    """
    from whyconv.auditing.results import result

    last: dict[Any, Any] = {}
    for run in found.runs:
        question = cast("Any", run.study).question
        last.pop(question, None)
        last[question] = run
    told = []
    for run in last.values():
        keys = {point.trial.key for point in run.points}
        took = sum(row.seconds for key, row in found.rows.items() if key in keys and isfinite(row.seconds))
        told.append(
            result(cast("Any", run.study), run.points, found.rows, seconds=took, out=str(found.folder))
        )
    return told


def report_audits(found: Opened, path: Path) -> None:
    """Write the page of a folder's audits, and print the screens."""
    from whyconv.report.audit_page import write

    told = audits_of(found)
    page = write(told, path)
    for number, each in enumerate(told):
        if number:
            print()
        show(each)
    print(f"Report: {page}")
