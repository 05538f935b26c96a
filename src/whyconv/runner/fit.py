"""Checks before a run starts that the work fits into the machine; a refusal says what would fit."""

from __future__ import annotations

import shutil
from collections.abc import Sequence, Sized
from pathlib import Path

from whyconv import system
from whyconv.errors import UserError
from whyconv.runner.events import Options
from whyconv.runner.forecast import counted, footprint
from whyconv.trial import Trial

ROW_BYTES = 2_000
"""Disk space per row, including indexes. Measured: 1,000 (``lahoti.vary-k``); ``malach.fig1``, whose rows
hold long series, takes 23,000 but has few rows."""
STORE_BYTES = 10_000_000
"""Disk space beside rows: an empty store, and the log of a transaction or two."""

ANYWAY = "or run it anyway with --force."


def workers(trials: Sequence[Trial], folder: Path, options: Options) -> int:
    """How many workers to use: ``options.workers``, or one per core, or fewer if memory is short.

    Refuses trials that do not fit into cores, free memory or free disk, unless ``options.force``.
    """
    asked, there = options.workers, system.cores()
    if options.force:
        return asked or there
    todo = trials
    if asked is not None and asked > there:
        raise UserError(f"workers = {asked} was given; give at most {there}, one for every core, {ANYWAY}")
    _disk(len(todo), folder)
    return _memory(todo, asked or there, asked is None)


def disk(todo: Sized, folder: Path, options: Options) -> None:
    """Refuse more rows than the disk has room for, unless ``options.force``."""
    if not options.force:
        _disk(len(todo), folder)


def _memory(todo: Sequence[Trial], wanted: int, fewer: bool) -> int:
    """Counts the largest trial for every worker, since any of them may get it."""
    free, each = system.free_memory(), footprint(todo)
    busy = min(wanted, max(1, len(todo)))
    fitting = wanted if free is None else int(free // each)
    if fitting >= busy or (fitting and fewer):
        return min(wanted, fitting)
    needed = f"workers = {busy} would need {_size(busy * each)} of memory, and {_size(free or 0)} are free"
    if fitting:
        raise UserError(f"{needed}; give at most {fitting}, {ANYWAY}")
    raise UserError(
        f"{needed}, too little for even one; take fewer examples (the largest m is "
        f"{max(trial.m for trial, _ in counted(todo)):,}) or a smaller network, {ANYWAY}"
    )


def _disk(rows: int, folder: Path) -> None:
    try:
        place = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.is_dir())
        free = shutil.disk_usage(place).free
    except (OSError, StopIteration):  # reported when the folder is created
        return
    needed, fitting = STORE_BYTES + rows * ROW_BYTES, max(0, free - STORE_BYTES) // ROW_BYTES
    if needed > free:
        raise UserError(
            f"{rows:,} more rows would need {_size(needed)} on the disk of {folder}, and {_size(free)} are "
            f"free, enough for {fitting:,}; free some space, take fewer seeds or another folder, {ANYWAY}"
        )


def _size(size: float) -> str:
    """192.9 GB, 35 MB."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:.3g} MB"
