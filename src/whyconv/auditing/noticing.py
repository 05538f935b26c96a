"""What looks odd about data that can be audited: sentences for the first screen, without a full stop."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from whyconv.auditing.bad_data import listed
from whyconv.auditing.features import Features
from whyconv.auditing.labels import Labels
from whyconv.lazy import Ints, NDArray, np

SHARE = 0.2
"""A class with less than this part of its even share of examples is small."""
NEARER = 0.7
"""If more rows than this are nearer to the next row than to a random one of their label, rows are related."""
PAIRS = 2000
CROWD, GAP = 20, 1.6
"""Rows come in crowds if most have 4 to so many neighbours, and the next one is this many times farther."""
LOOKED_AT, AMONG = 400, 4000
"""Rows whose neighbours are looked for, and among how many."""
FEWEST_PAIRS = 80
KIN = re.compile(
    r"(subject|patient|person|user|participant|session|machine|device|group|site)s?([ _-]?(id|no|nr))?"
)
"""Names of columns that tell which rows belong together."""


def noticed(features: Features, labels: Labels, groups: Ints | None, metric: str) -> Iterator[str]:
    """Sentences on copies, columns like an id, the order of rows, constants, groups and rare classes."""
    flat = features.x.reshape(len(features.x), -1)
    yield from _copies(flat, labels.numbers, groups)
    yield from _counters(features)
    if labels.classes and _sorted(labels.numbers):
        yield "rows are sorted by label; splits here are drawn at random, other tools may not do that"
    constant = (features.x == features.x[:1]).all(axis=(0, 3))
    if constant.any():
        verb = "is" if constant.sum() == 1 else "are"
        yield f"{constant.sum()} of {constant.size} features {verb} the same in all examples"
    if groups is None:
        yield from _kin(features, flat, labels)
    if labels.classes:
        yield from _rare(labels, metric)
    side = round(flat.shape[1] ** 0.5)
    if features.grid == "series" and side >= 8 and side**2 == flat.shape[1] == features.x.shape[2]:
        yield f"{side**2} features are read as a series; if these are images, give --grid {side}x{side}x1"


def _copies(flat: NDArray, y: NDArray, groups: Ints | None) -> Iterator[str]:
    """Examples that occur more than once: a split puts one copy into training and the other into the test."""
    seen: dict[bytes, int] = {}
    first = np.empty(len(flat), np.int64)
    for place, row in enumerate(flat):
        key = hashlib.blake2b(row.tobytes(), digest_size=16).digest()
        first[place] = seen.setdefault(key, place)
    copied = np.flatnonzero(first != np.arange(len(flat)))
    if not len(copied):
        return
    others = int((y[copied] != y[first[copied]]).sum())
    so = f", {others} of them with another label" if others else ""
    where = "copies on both sides of a split make errors too small"
    if groups is not None:
        apart = int((groups[copied] != groups[first[copied]]).sum())
        where = f"{apart} are in another group than the example they copy, and make errors too small"
        if not apart:
            return
    verb = "is a copy" if len(copied) == 1 else "are copies"
    yield f"{len(copied)} of {len(flat)} examples {verb} of another{so}; {where}"


def _counters(features: Features) -> Iterator[str]:
    """Columns that number the rows."""
    x = features.x[:, 0, :, 0]
    if features.grid == "image" or features.x.shape[3] > 1 or len(x) < 3:
        return
    candidates = np.flatnonzero(x.max(axis=0) - x.min(axis=0) == len(x) - 1)
    found = [place for place in candidates if len(np.unique(x[:, place])) == len(x)]
    if found:
        named = [repr(features.names[place]) if features.names else str(place) for place in found]
        plural = "s" if len(found) > 1 else ""
        number = "" if plural else "s"
        yield f"column{plural} {listed(named)} number{number} the rows like an id; leave it out if it is one"


def _sorted(y: NDArray) -> bool:
    """Whether every class is in one run of rows."""
    return int((np.diff(y) != 0).sum()) == len(np.unique(y)) - 1


def _kin(features: Features, flat: NDArray, labels: Labels) -> Iterator[str]:
    """Rows that may belong together although no groups were given."""
    for place, name in enumerate(features.names):
        values = features.x[:, 0, place, 0]
        kinds = len(np.unique(values))
        if KIN.fullmatch(name.strip().lower()) and 1 < kinds <= len(values) / 2:
            yield (
                f"column {name!r} has {kinds} values, {len(values) / kinds:.0f} rows each; if rows of one "
                "belong "
                f"together, give --groups {name}"
            )
            return
    share = _neighbours_nearer(flat, labels)
    if share is not None and share > NEARER:
        yield (
            f"neighbouring rows are alike (nearer than random pairs of the same label in {share:.0%} of "
            "cases); if "
            "several rows come from one person or recording, say so with --groups, or errors come out too "
            "small"
        )
    elif _in_crowds(flat) > NEARER:
        yield (
            "most rows have a few others much nearer than all the rest; if several rows come from one person "
            "or recording, say so with --groups, or errors come out too small"
        )


def _in_crowds(flat: NDArray) -> float:
    """The share of rows with a crowd: persons whose rows are alike, wherever their rows are.

    Of rows scattered over D dimensions, the distance to neighbour j + 1 is GAP times that to neighbour j with
    probability GAP^(-D j), so smaller crowds are not counted: on a line they are everywhere.
    """
    rows = np.random.default_rng(1).permutation(len(flat))[:AMONG]
    spread = flat.std(axis=0, dtype=np.float64)
    x = flat[rows][:, spread > 0] / spread[spread > 0]
    if not x.size:
        return 0.0
    looked = x[:LOOKED_AT]
    squares = (looked**2).sum(axis=1)[:, None] + (x**2).sum(axis=1) - 2 * looked @ x.T
    near = np.sqrt(np.maximum(np.sort(squares, axis=1)[:, 1 : CROWD + 2], 0.0))
    gaps = near[:, 4:] > GAP * near[:, 3:-1]
    return float((gaps & (near[:, 3:-1] > 1e-3)).any(axis=1).mean())


def _neighbours_nearer(flat: NDArray, labels: Labels) -> float | None:
    """How often a row is nearer to the next one of its label than to a random one of it; 1/2 in random order.

    Real targets have no classes: there all rows count as one class, and rows sorted by target are noticed.
    """
    draw = np.random.default_rng(0)
    y = labels.numbers if labels.classes else np.zeros(len(flat), np.int64)
    triples = []
    for label in np.unique(y):
        mine = np.flatnonzero(y == label)
        triples.append(np.stack([mine[:-1], mine[1:], draw.choice(mine, len(mine) - 1)]))
    here, after, other = draw.permutation(np.concatenate(triples, axis=1), axis=1)[:, :PAIRS]
    apart = (other != here) & (other != after)
    if apart.sum() < FEWEST_PAIRS:
        return None
    here, after, other = here[apart], after[apart], other[apart]
    spread = flat.std(axis=0, dtype=np.float64)
    scale = np.where(spread > 0, spread, 1)
    near = (((flat[here] - flat[after]) / scale) ** 2).sum(axis=1)
    far = (((flat[here] - flat[other]) / scale) ** 2).sum(axis=1)
    return float(((near < far) + 0.5 * (near == far)).mean())


def _rare(labels: Labels, metric: str) -> Iterator[str]:
    counts = np.bincount(labels.numbers, minlength=len(labels.classes))
    least = int(counts.argmin())
    if counts[least] * len(counts) >= SHARE * counts.sum():
        return
    so = {"auto": "; the balanced error is used", "error": "; --metric balanced weighs classes evenly"}
    few = f"{counts[least]} of {counts.sum()} examples"
    yield f"the class {labels.classes[least]!r:.40} has {few}{so.get(metric, '')}"
