"""The record: rows of finished runs that come with the package, sealed and dated.

A file ``rows/<study>.<preset>.gz`` holds lines of JSON: a head (study, preset, settings, command, date, the
environments of its rows, digest), then one line for every row: its sealed columns as in a store, the seconds
that it took, and when it was first made. The digest in the head is the SHA-256 of these lines. No line names
a machine, a folder or a person. Made by ``make record`` (:mod:`whyconv.record.making`).
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyconv.errors import UserError
from whyconv.runner.seal import complaint, seal, unseal
from whyconv.runs import Run
from whyconv.spec import build, digest, to_json
from whyconv.studies import Study, good
from whyconv.trial import Trial

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from whyconv.trial import Row

SUFFIX = ".gz"
LARGEST = 5_000_000
"""Bytes of all files together, at most."""
CHECK = "check"
"""In place of a preset: the rows that claims measure."""
UNSEEN = "unseen"
"""In place of a preset: the quick one on seeds that no run had used before the criteria were frozen."""


@dataclass(frozen=True)
class Kept:
    """The rows of one finished run."""

    study: str
    preset: str
    settings: Mapping[str, Any]
    command: str
    made: str
    """The day of the last row."""
    environments: Mapping[str, Mapping[str, Any]]
    rows: Mapping[str, Row]

    @property
    def seconds(self) -> float:
        """What all trials took together, on one core each."""
        return sum(row.seconds for row in self.rows.values())

    @property
    def judged(self) -> bool:
        """Whether a run with these settings is judged, and not only shown."""
        return not build("study", dict(self.settings)).unjudged()

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the rows as they are kept."""
        return digest(self._lines)

    @cached_property
    def _lines(self) -> list[list[Any]]:
        rows = (self.rows[key] for key in sorted(self.rows))
        return [[seal(row), round(row.seconds, 3), row.first_at] for row in rows]

    def packed(self) -> bytes:
        """The file: the same rows give the same bytes."""
        head = {
            "study": self.study, "preset": self.preset, "settings": dict(self.settings),
            "command": self.command, "made": self.made,
            "environments": {name: dict(each) for name, each in sorted(self.environments.items())},
            "count": len(self.rows), "digest": self.digest,
        }  # fmt: skip
        text = "\n".join(to_json(line) for line in [head, *self._lines])
        return gzip.compress(text.encode(), 9, mtime=0)

    def serves(self, study: Study) -> bool:
        """Whether these are all rows that the study plans, by the code as it is, and none has failed."""
        rows = good(self.rows)
        planned = {point.trial.key for point in study.plan(rows)}
        return bool(planned) and planned <= rows.keys()


def unpacked(content: bytes, name: str) -> Kept:
    """The inverse of :meth:`Kept.packed`; damage of any kind is a sentence."""
    try:
        head, *lines = (json.loads(line) for line in gzip.decompress(content).decode().split("\n"))
        sealed = [columns for columns, _, _ in lines]
        rows = {
            columns[0]: replace(unseal(columns), seconds=seconds, first_at=first)
            for columns, seconds, first in lines
        }
        fields = {field: head[field] for field in ("study", "preset", "settings", "command", "made")}
        kept = Kept(**fields, environments=head["environments"], rows=rows)
        intact = kept.digest == head["digest"] and len(rows) == head["count"]
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"the kept rows {name} are damaged ({type(error).__name__}); run make record."
        ) from None
    if not intact or any(complaint("rows", columns) for columns in sealed):
        raise UserError(f"the kept rows {name} are damaged (a digest does not match); run make record.")
    return kept


def shelf() -> Traversable:
    """The folder of all files."""
    return files("whyconv.record").joinpath("rows")


def name_of(study: str, preset: str) -> str:
    return f"{study}.{preset}{SUFFIX}"


def find(study: str, preset: str) -> Kept | None:
    """The kept rows of a study's preset; None if there are none."""
    file = shelf().joinpath(name_of(study, preset))
    return unpacked(file.read_bytes(), file.name) if file.is_file() else None


def best(study: type[Study]) -> Kept | None:
    """Of a study's kept rows those to show: judged ones first, then the paper's sizes, then unseen seeds."""
    labels = [*study.presets, UNSEEN]
    found = [(label, kept) for label in labels if (kept := find(study.name, label)) is not None]

    def rank(each: tuple[str, Kept]) -> tuple[bool, bool, bool, int]:
        label, kept = each
        return kept.judged, label not in ("quick", UNSEEN), label == UNSEEN, len(kept.rows)

    return max(found, key=rank)[1] if found else None


def everything(study: str = "") -> Iterator[Kept]:
    """All kept rows, or those of a study, by name of their file."""
    for file in sorted(shelf().iterdir(), key=lambda each: each.name):
        if file.name.endswith(SUFFIX) and file.name.startswith(f"{study}." if study else ""):
            yield unpacked(file.read_bytes(), file.name)


def run_of(kept: Kept) -> Run:
    """The run that these rows are of, those of earlier versions included (:func:`aged`)."""
    study, rows = build("study", dict(kept.settings)), {}
    for key, row in kept.rows.items():
        try:
            rows[Trial(**row.spec).key] = row
        except ValueError:  # a piece that does not take these settings any more
            rows[key] = row
    return Run(study, study.plan(good(rows)), rows, Path(), kept.command, kept.preset)


def aged(run: Run) -> list[str]:
    """Pieces whose version has risen since the rows of a run were made: ``learner svm 3, now 4``."""
    found = {}
    for point in run.points:
        row = run.rows.get(point.trial.key)
        before = point.trial.versions if row is None else row.versions
        for piece, version in point.trial.versions.items():
            if (then := before.get(piece)) != version:
                found[piece] = f"{piece} {then}, now {version}"
    return [found[piece] for piece in sorted(found)]
