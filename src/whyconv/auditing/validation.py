"""How experiments on the audit itself are run: a line of JSON for every data set, a table for the docs.

``python -m whyconv.auditing.planted_run``, ``.shuffled_run``, ``.permuted_run`` and ``.coverage_run`` go on
where they were stopped. A data set that is done has its line in ``--lines``; of one that was begun the rows
are in ``--rows``, until its line is written. At the end the table in ``--page`` is made again from all lines.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whyconv.auditing.dataset import Dataset
from whyconv.auditing.keeping import keep
from whyconv.auditing.study import Audit
from whyconv.measure.intervals import rate_interval
from whyconv.paths import run_folder, use_run_folder
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Options, Summary
from whyconv.runner.folder import write_whole

Line = dict[str, Any]


@dataclass(frozen=True)
class Experiment:
    """``run(kind, seed, folder)`` gives what was found on a data set; ``table`` shows lines as Markdown."""

    name: str
    kinds: tuple[str, ...]
    first: int
    """The first seed; earlier ones served for building."""
    seeds: int
    """How many seeds by default."""
    run: Callable[[str, int, Path], Line]
    table: Callable[[list[Line]], str]


def completed(study: Audit, dataset: Dataset, folder: Path) -> Summary:
    """All rows of a study of these data, in one worker."""
    keep(dataset, folder, study.task.data)
    before = run_folder()
    use_run_folder(folder.resolve())
    try:
        return complete(study, folder, Options(preset="quick", workers=1, retry_failed=True))
    finally:
        use_run_folder(before)


def rate(hits: int, count: int) -> str:
    """``3 of 20 [.03, .38]``, with the interval of Clopper and Pearson."""
    found = rate_interval(hits, count)
    return f"{hits} of {count} [{found.low:.2f}, {found.high:.2f}]"


def kept(file: Path) -> list[Line]:
    """All lines but one that a kill has cut."""
    found = []
    for text in file.read_text("utf-8").splitlines() if file.exists() else ():
        try:
            found.append(json.loads(text))
        except ValueError:
            continue
    return found


def add(file: Path, line: Line) -> None:
    """Append a line, on disk when this returns."""
    file.parent.mkdir(parents=True, exist_ok=True)
    cut = file.exists() and not file.read_bytes().endswith(b"\n") and file.stat().st_size > 0
    with file.open("a", encoding="utf-8") as out:
        out.write(("\n" if cut else "") + json.dumps(line, allow_nan=False) + "\n")
        out.flush()
        os.fsync(out.fileno())


def into_page(page: Path, name: str, table: str) -> None:
    """Put a table between its marks in a page, if it has them."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    text = page.read_text("utf-8") if page.exists() else ""
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    if found and ended:
        write_whole(page, f"{before}{begin}\n{table}\n{end}{after}".encode())


def main(experiment: Experiment, given: Sequence[str] | None = None) -> None:
    """The command of an experiment."""
    docs = Path("docs")
    parser = argparse.ArgumentParser(prog=f"python -m whyconv.auditing.{experiment.name}_run")
    parser.add_argument("--kind", choices=experiment.kinds, action="append", help="one kind; by default all")
    parser.add_argument("--seeds", type=int, default=experiment.seeds)
    parser.add_argument("--first", type=int, default=experiment.first)
    parser.add_argument("--lines", type=Path, default=docs / "audit-planted.jsonl")
    parser.add_argument("--page", type=Path, default=docs / "audit-planted.md")
    parser.add_argument("--rows", type=Path, default=Path("whyconv-validation"))
    chosen = parser.parse_args(given)
    known = {(line["experiment"], line["kind"], line["seed"]) for line in kept(chosen.lines)}
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        for kind in chosen.kind or experiment.kinds:
            if (experiment.name, kind, seed) in known:
                continue
            folder = chosen.rows / f"{experiment.name}-{kind}-{seed}"
            found = experiment.run(kind, seed, folder)
            line = {"experiment": experiment.name, "kind": kind, "seed": seed, **found}
            add(chosen.lines, line)
            shutil.rmtree(folder, ignore_errors=True)
            print(json.dumps({name: line[name] for name in line if name != "result"}), flush=True)
    own = [line for line in kept(chosen.lines) if line["experiment"] == experiment.name]
    table = experiment.table([line for line in own if line["seed"] >= experiment.first])
    into_page(chosen.page, experiment.name, table)
    print(table)
