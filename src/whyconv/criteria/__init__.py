"""Criteria that were written down before the numbers: a dated file with a digest for every study.

The file ``papers/<paper>/criteria/<study>.json`` holds what decides a study before it is run: the paper's
sentence, the criterion, the control, the thresholds, and the settings and seeds of every preset. Its digest
is the SHA-256 of that content without the date; earlier digests stay listed with their dates. It is made by

    python -m whyconv.criteria freeze STUDY...

and compared with the code by a test. Reports say the digest, and how many rows are older than it. The time of
a row is that of the first attempt at its trial in this store, since a row that is computed again is not new.
What was seen elsewhere no store can know: a criterion that was changed after a run needs other seeds
(``first_seed``), and rows that are made again on the same seeds are newer and yet no news. No run had used
seeds from :data:`FRESH` on before the criteria were frozen.

Not frozen are the code of ``judge`` (its power and false alarms are simulated,
:mod:`whyconv.criteria.power`) and the default settings of tasks, networks and learners, which are part of the
identity of rows. A setting that is added to a study later, with a default, is no change.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from whyconv.spec import digest, plain
from whyconv.text import count

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from whyconv.studies import Study
    from whyconv.trial import Row

SHORT = 12
"""Characters of a digest that are shown."""
FRESH = 20_000
"""The first of the seeds that were not used before the criteria were frozen (docs/fresh-seeds.md)."""


def content(study: type[Study]) -> dict[str, Any]:
    """What is frozen of a study, as JSON values."""
    settings = {
        name: plain(field.get_default(call_default_factory=True))
        for name, field in study.model_fields.items()
    }
    presets = {
        name: {
            "settings": plain(changes),
            "seeds": {
                word: changes.get(field, settings[field])
                for word, field in (("first", "first_seed"), ("count", "seeds"))
            },
        }
        for name, changes in study.presets.items()
    }
    return json.loads(
        json.dumps(
            {
                "says": study.says,
                "criterion": study.criterion,
                "control": study.broken,
                "thresholds": dict(study.thresholds),
                "settings": settings,
                "presets": presets,
            }
        )
    )


def file(study: type[Study]) -> Traversable | None:
    """Where the frozen criterion of a study is or would be; None for a study that belongs to no paper."""
    paper, studies, _ = study.__module__.rpartition(".studies.")
    if not studies:
        return None
    return files(paper).joinpath("criteria", f"{study.name.partition('.')[2] or study.name}.json")


@dataclass(frozen=True)
class Frozen:
    """The file of a study: ``date`` in UTC, ``history`` of earlier digests with their dates, oldest first."""

    digest: str
    date: str
    content: Mapping[str, Any]
    history: tuple[Mapping[str, str], ...]

    def changed(self, study: type[Study]) -> list[str]:
        """The parts in which the code now differs from the frozen content; none if it is as frozen.

        A setting that the file does not know has a default that no preset changes, and is no difference.
        """
        now = content(study)
        now["settings"] = {name: now["settings"].get(name) for name in self.content.get("settings", {})}
        return sorted(name for name in {*now, *self.content} if now.get(name) != self.content.get(name))


def frozen(study: type[Study]) -> Frozen | None:
    """The frozen criterion of a study; None if there is none, or if its file does not match its digest."""
    where = file(study)
    if where is None or not where.is_file():
        return None
    try:
        stored = json.loads(where.read_text("utf-8"))
        found = Frozen(stored["digest"], stored["frozen"], stored["content"], tuple(stored["history"]))
    except (ValueError, KeyError, TypeError):
        return None
    return found if digest(found.content) == found.digest and _time(found.date) else None


@dataclass(frozen=True)
class Standing:
    """Whether a criterion was there before its rows."""

    digest: str
    date: str
    before: int
    """Rows older than the criterion; one whose time is not known counts as older."""
    after: int
    changed: tuple[str, ...]
    """Parts of the criterion that the code has otherwise."""
    settings: tuple[str, ...]
    """Settings that differ from those of the preset, as assignments."""

    def data(self) -> dict[str, Any]:
        return {
            "digest": self.digest, "date": self.date, "rows_before": self.before, "rows_after": self.after,
            "changed": list(self.changed), "other_settings": list(self.settings),
        }  # fmt: skip

    def __str__(self) -> str:
        parts = [f"criterion frozen {self.date[:16].replace('T', ' ')} UTC, digest {self.digest[:SHORT]}"]
        rows = self.before + self.after
        if self.before:
            are = "is" if self.before == 1 else "are"
            parts.append(
                f"{self.before:,} of {count(rows, 'row')} {are} older than the criterion: exploratory"
            )
        elif rows:
            parts.append(f"{count(rows, 'row')}, all newer")
        if self.settings:
            parts.append(f"settings other than frozen: {', '.join(self.settings)}")
        if self.changed:
            parts.append(f"changed since without freezing it again: {', '.join(self.changed)}")
        return "; ".join(parts)


UNFROZEN = "criterion not frozen"


def standing(study: type[Study], rows: Iterable[Row], settings: Iterable[str] = ()) -> Standing | None:
    """The frozen criterion of a study beside its rows; None if it has none."""
    found = frozen(study)
    if found is None:
        return None
    since = _time(found.date)
    assert since is not None
    newer = [(at := _time(row.first_at)) is not None and at >= since for row in rows]
    changed = tuple(found.changed(study))
    return Standing(found.digest, found.date, newer.count(False), newer.count(True), changed, tuple(settings))


def _time(text: str) -> datetime | None:
    """A stored time; None if it is no time. Without a zone it is UTC."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def differences(study: type[Study]) -> Iterator[str]:
    """What is to be frozen again, in sentences."""
    found = frozen(study)
    if found is None:
        yield f"{study.name}: {UNFROZEN}"
    elif changed := found.changed(study):
        yield f"{study.name}: {', '.join(changed)} changed since {found.date}"
