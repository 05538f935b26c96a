"""Kept rows in place of trials, for claims that measure: a few are computed again each time.

They are in one file, ``<study>.check.gz``; no other is read. Kept rows are used only if their keys are those
that the code plans now, so if specification, seed, versions and data are the same, and if none has failed. Of
these, one of every arm is chosen at random and computed again. If one comes out otherwise (to the byte in the
environment it was made in, to :data:`CLOSE` elsewhere), or not at all, none is used. Nor is any of a damaged
file: the trials are then computed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import isclose
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from whyconv.errors import UserError
from whyconv.record import CHECK, find
from whyconv.runner import environment
from whyconv.runner.coordinator import complete
from whyconv.runner.store import Store
from whyconv.spec import to_json
from whyconv.studies import good

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whyconv.lazy import pd
    from whyconv.record import Kept
    from whyconv.runner.places import Place
    from whyconv.studies import Study
    from whyconv.trial import Row

CLOSE = 1e-3
"""How far a measured number may be from a kept one of another environment, relative and absolute."""
Origin = Literal["kept", "computed"]


@dataclass(frozen=True)
class Measured:
    """The table of a study's trials, and where its rows are from."""

    table: pd.DataFrame
    origin: Origin


def measured(study: Study, chance: random.Random | None = None, place: Place | None = None) -> Measured:
    """All trials of a study: from kept rows where they match, else computed."""
    kept = _kept(study)
    if kept is not None:
        again = _chosen(study, kept, chance or random.SystemRandom())
        table, rows = _completed(study, kept, again, place)
        if again and again <= rows.keys() and all(_same(kept.rows[key], rows[key]) for key in again):
            return Measured(table, "kept")
    return Measured(_completed(study, None, set(), place)[0], "computed")


def _chosen(study: Study, kept: Kept, chance: random.Random) -> set[str]:
    """The keys of the rows that are computed again: one of every arm."""
    of_arm: dict[str, list[str]] = {}
    for point in study.plan(good(kept.rows)):
        of_arm.setdefault(str(point.labels.get("arm", "")), []).append(point.trial.key)
    return {chance.choice(keys) for keys in of_arm.values()}


def _kept(study: Study) -> Kept | None:
    """The kept rows of just this study that serve it; None if there are none, or if they are damaged."""
    try:
        kept = find(study.name, CHECK)
    except UserError:
        return None
    if kept is None or to_json(dict(kept.settings)) != to_json(study.canonical()):
        return None
    return kept if kept.serves(study) else None


def _completed(
    study: Study, kept: Kept | None, again: set[str], place: Place | None
) -> tuple[Any, Mapping[str, Row]]:
    """The study's table and rows, from a run in a folder of its own that begins with all but ``again``."""
    with TemporaryDirectory(prefix="whyconv-check-") as folder:
        if kept is not None:
            with Store.open(folder) as store:
                for described in kept.environments.values():
                    store.record_environment(described)
                rows = (row for key, row in kept.rows.items() if key not in again)
                store.put_all((row, row.seconds, "") for row in rows)
        summary = complete(study, folder, place=place)
    return study.table(list(summary.points), summary.rows), summary.rows


def _same(then: Row, now: Row) -> bool:
    """Whether a row computed again is the kept one."""
    if now.status != "ok" or then.result.keys() != now.result.keys():
        return False
    if then.environment == environment.identity(environment.describe()):
        return to_json(dict(then.result)) == to_json(dict(now.result))
    return all(_near(then.result[name], now.result[name]) for name in then.result)


def _near(then: Any, now: Any) -> bool:
    if isinstance(then, str | bool) or isinstance(now, str | bool):
        return then == now
    return isclose(then, now, rel_tol=CLOSE, abs_tol=CLOSE)
