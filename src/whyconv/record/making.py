"""Makes the record: runs what is missing, the shortest first, and keeps what has finished.

A preset is recorded if its forecast is at most :data:`LONGEST` on two cores, or if it is named in
:data:`ALSO`. Rows go to a folder of their own for each, so that the next call continues; kept rows that the
code still plans are put there first. Seeds and settings are those of the presets, which the criteria froze.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from whyconv import registry
from whyconv.criteria import FRESH
from whyconv.criteria import file as criterion_file
from whyconv.errors import UserError
from whyconv.record import CHECK, LARGEST, SUFFIX, UNSEEN, Kept, find, name_of, shelf
from whyconv.runner.coordinator import complete
from whyconv.runner.events import Options
from whyconv.runner.folder import write_whole
from whyconv.runner.forecast import Forecast, forecast
from whyconv.runner.seal import seal
from whyconv.runner.store import Store
from whyconv.settings import configure
from whyconv.studies import Study
from whyconv.text import count, rough_duration

LONGEST = 90 * 60.0
"""Seconds that the forecast of a recorded preset gives on :data:`CORES` cores, at most."""
CORES = 2
ALSO = (("malach.fig3", "mnist"), ("malach.fig4", "mnist"))


@dataclass(frozen=True)
class Wanted:
    """A study with a preset, with its quick preset on unseen seeds, or the study that claims measure."""

    study: Study
    label: str

    @property
    def command(self) -> str:
        if self.label == CHECK:
            return f"whyconv check {self.study.name.partition('.')[0]}"
        if self.label == UNSEEN:
            return f"whyconv run {self.study.name} --set first_seed={self.study.first_seed}"
        return f"whyconv run {self.study.name} --preset {self.preset}"

    @property
    def preset(self) -> str:
        """The preset that a run with these settings is of."""
        return "quick" if self.label == UNSEEN else self.label

    @cached_property
    def forecast(self) -> Forecast:
        return forecast(self.study.outlook(), CORES)

    @property
    def short(self) -> bool:
        return self.forecast.seconds <= LONGEST or (self.study.name, self.label) in ALSO

    @property
    def lacks_images(self) -> bool:
        """Whether other images stand in for those of the criterion, because they are not here."""
        given = self.study.presets.get(self.preset, {})
        return bool(self.study.unjudged()) and "task.images" not in given

    @property
    def kept(self) -> Kept | None:
        """The kept rows, if they are those that the code plans."""
        found = find(self.study.name, self.label)
        return found if found is not None and found.serves(self.study) else None


def all_wanted(only: Collection[str] = ()) -> list[Wanted]:
    """Every preset of every study of a paper (or of those named), its quick one also on unseen seeds, and
    what claims measure; shortest first.
    """
    found = [Wanted(study, CHECK) for study in _of_claims() if not only or study.name in only]
    for study in registry.pieces("study"):
        if criterion_file(study) is not None and (not only or study.name in only):
            found += [Wanted(configure(study.name, preset), preset) for preset in study.presets]
            if "quick" in study.presets and configure(study.name).first_seed < FRESH:
                found.append(Wanted(configure(study.name, "quick", {"first_seed": FRESH}), UNSEEN))
    return sorted(found, key=lambda each: (each.forecast.seconds, each.study.name, each.label))


def _of_claims() -> Iterator[Study]:
    """The studies that claims measure, each once."""
    known = []
    for claim in registry.pieces("claim"):
        study = claim.measures() if claim.trials else None
        if study is not None and study not in known:
            known.append(study)
            yield study


def make(
    folder: Path,
    room: Path,
    minutes: float,
    workers: int,
    say: Callable[[str], None],
    only: Collection[str] = (),
) -> None:
    """Run and keep what is missing, for so many ``minutes``; what is cut off continues the next time."""
    ends = time.monotonic() + 60 * minutes
    for wanted in all_wanted(only):
        name = name_of(wanted.study.name, wanted.label)
        if not wanted.short or wanted.kept:
            continue
        if wanted.lacks_images:
            say(f"{wanted.command}: left out, since its images are not on this machine")
            continue
        left = ends - time.monotonic()
        if left <= 0:
            say("The time is over; the same command continues.")
            return
        place = folder / name.removesuffix(SUFFIX)
        say(f"{wanted.command}: {rough_duration(wanted.forecast.seconds)} by the forecast")
        kept = _run(wanted, place, left, workers)
        if kept is None:
            say("  not finished; the same command continues.")
            continue
        _require_room(kept, name)
        write_whole(room / name, kept.packed())
        say(f"  kept: {count(len(kept.rows), 'row')}, {kept.digest[:12]}")


def _run(wanted: Wanted, folder: Path, seconds: float, workers: int) -> Kept | None:
    """The rows once all trials have succeeded; None before. Rows put back keep the time they were made."""
    old = find(wanted.study.name, wanted.label)
    _restore(old, folder)
    options = Options(workers=workers, seconds=seconds, preset=wanted.preset, command=wanted.command)
    summary = complete(wanted.study, folder, options)
    keys = {point.trial.key for point in summary.points}
    rows = {key: row for key, row in summary.rows.items() if key in keys and row.status == "ok"}
    if old is not None:
        known = rows.keys() & old.rows.keys()
        rows |= {key: old.rows[key] for key in known if seal(rows[key]) == seal(old.rows[key])}
    with Store.read(folder) as store:
        described = store.contents().environments()
    used = {row.environment for row in rows.values()}
    kept = Kept(
        wanted.study.name, wanted.preset, wanted.study.canonical(), wanted.command,
        max((row.first_at for row in rows.values()), default="")[:10],
        {name: described[name] for name in sorted(used)}, rows,
    )  # fmt: skip
    return kept if rows.keys() == keys and kept.serves(wanted.study) else None


def _restore(old: Kept | None, folder: Path) -> None:
    """Put kept rows into a new folder; those that the code does not plan any more do no harm there."""
    if old is None or folder.exists():
        return
    with Store.open(folder) as store:
        for described in old.environments.values():
            store.record_environment(described)
        store.put_all((row, row.seconds, "") for row in old.rows.values())


def _require_room(kept: Kept, name: str) -> None:
    others = sum(len(file.read_bytes()) for file in shelf().iterdir() if file.name != name)
    if (total := others + len(kept.packed())) > LARGEST:
        raise UserError(
            f"the record would take {total:,} bytes; at most {LARGEST:,} are kept: leave out a preset."
        )
