"""Plans of very many trials: cells and numbers in place of trials, which are made when they are asked for.

The trials of a cell differ in their seed alone, so what is checked and canonical is computed once per cell,
and a key is a digest of a text with the seed put in: 3 microseconds, where a trial of its own takes 200.
"""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, overload

from whyconv.lazy import np
from whyconv.spec import to_json
from whyconv.studies import Cell, Point
from whyconv.trial import Trial

_SEED = "@seed@"
KEY_BYTES = 16


@dataclass(frozen=True)
class _Template:
    """What the trials of a cell share: one of them, and the text of their keys, cut where the seed goes."""

    labels: Mapping[str, Any]
    trial: Trial
    seeds: range
    before: str
    after: str

    @classmethod
    def of(cls, cell: Cell) -> _Template:
        (first,) = Cell(**{**vars(cell), "seeds": cell.seeds[:1]}).points()
        Cell(**{**vars(cell), "seeds": cell.seeds[-1:]}).points()  # refused if the seeds go too far
        spec = {**first.trial.canonical(), "seed": _SEED}
        before, quoted, after = to_json({"spec": spec, "versions": first.trial.versions}).partition(
            f'"{_SEED}"'
        )
        assert quoted and _SEED not in after, "the seed is put in at one place"
        return cls(first.labels, first.trial, cell.seeds, before, after)

    def key(self, seed: int) -> bytes:
        """The key of the trial with this seed, as the bytes that its digits stand for."""
        return hashlib.sha256(f"{self.before}{seed}{self.after}".encode()).digest()[:KEY_BYTES]

    def point(self, seed: int, key: str) -> Point:
        fields = {name: getattr(self.trial, name) for name in Trial.model_fields}
        trial = Trial.model_construct(self.trial.model_fields_set, **{**fields, "seed": seed})
        vars(trial).update(key=key, versions=self.trial.versions, program=self.trial.program)
        return Point(self.labels, trial)


class Keys(Sequence[str]):
    """Keys in order, 16 bytes each, and 12 more for the places of each once one is looked for."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    def __len__(self) -> int:
        return len(self._packed) // KEY_BYTES

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        return self._at(range(len(self))[index]).hex()

    def __eq__(self, other: object) -> bool:
        return self._packed == other._packed if isinstance(other, Keys) else list(self) == other

    __hash__ = None  # type: ignore[assignment]

    def place(self, key: object) -> int | None:
        """The first place of a key; None if it has none."""
        try:
            wanted = bytes.fromhex(key) if isinstance(key, str) else b""
        except ValueError:
            return None
        if len(wanted) != KEY_BYTES or wanted.hex() != key:
            return None
        heads, places = self._sorted
        head = int.from_bytes(wanted[:8], "big")
        for each in range(bisect_left(heads, head), len(heads)):
            if heads[each] != head:
                break
            if self._at(int(places[each])) == wanted:
                return int(places[each])
        return None

    def _at(self, place: int) -> bytes:
        return self._packed[KEY_BYTES * place : KEY_BYTES * (place + 1)]

    @property
    def alike(self) -> bool:
        """Whether keys may be equal: whether the first eight bytes of any are."""
        heads, _ = self._sorted
        return bool((heads[1:] == heads[:-1]).any())

    @cached_property
    def _sorted(self) -> tuple[Any, Any]:
        """The first eight bytes of all keys as numbers, in order, and the places where they stand."""
        heads = np.frombuffer(self._packed, ">u8")[::2].astype(np.uint64)
        places = np.argsort(heads, kind="stable").astype(np.uint32)
        return heads[places], places


class CellPlan(Sequence[Point]):
    """The points of cells, in order: a key each, and made anew whenever one is looked at."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self._cells = [_Template.of(cell) for cell in cells if len(cell.seeds)]
        self._ends = list(accumulate(len(cell.seeds) for cell in self._cells))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Point]: ...
    def __getitem__(self, index: int | slice) -> Point | Sequence[Point]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        at = self.cell_of(number)
        cell = self._cells[at]
        return cell.point(cell.seeds[number - (self._ends[at - 1] if at else 0)], self.keys[number])

    def cell_of(self, number: int) -> int:
        """The number of the cell that a point belongs to."""
        return bisect_right(self._ends, number)

    @cached_property
    def keys(self) -> Keys:
        """The keys of all trials, in order."""
        return Keys(b"".join(cell.key(seed) for cell in self._cells for seed in cell.seeds))

    @cached_property
    def by_key(self) -> ByKey:
        """The points by key."""
        return ByKey(self)

    def samples(self) -> Iterator[Point]:
        """One point of every cell."""
        return (self[end - 1] for end in self._ends)


class ByKey(Mapping[str, Point]):
    """The points of a plan by key; of two with one trial the first."""

    def __init__(self, plan: CellPlan) -> None:
        self.plan = plan

    def __getitem__(self, key: str) -> Point:
        return self.plan[self.number(key)]

    def number(self, key: str) -> int:
        """The number of a key's point in the plan."""
        if (place := self.plan.keys.place(key)) is None:
            raise KeyError(key)
        return place

    def cell_of(self, key: str) -> int:
        """The number of the cell that a trial belongs to."""
        return self.plan.cell_of(self.number(key))

    def __contains__(self, key: object) -> bool:
        return self.plan.keys.place(key) is not None

    def __iter__(self) -> Iterator[str]:
        return map(self.plan.keys.__getitem__, self.firsts)

    def __len__(self) -> int:
        return len(self.firsts)

    @cached_property
    def firsts(self) -> Sequence[int]:
        """The numbers of points whose trial is not that of an earlier point."""
        keys = self.plan.keys
        everyone = range(len(keys))
        return (
            array("I", (each for each in everyone if keys.place(keys[each]) == each))
            if keys.alike
            else everyone
        )

    def without(self, rows: Mapping[str, Any]) -> Part:
        """The points that have no row."""
        keys = self.plan.keys
        return Part(self.plan, array("I", (each for each in self.firsts if keys[each] not in rows)))


class Part(Sequence[Point]):
    """Some points of a plan, by their numbers."""

    def __init__(self, plan: CellPlan, numbers: Sequence[int]) -> None:
        self.plan, self._numbers = plan, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Point]: ...
    def __getitem__(self, index: int | slice) -> Point | Sequence[Point]:
        if isinstance(index, slice):
            return Part(self.plan, self._numbers[index])
        return self.plan[self._numbers[index]]

    def counted(self) -> list[tuple[Point, int]]:
        """A point of every cell that has any here, and how many it has."""
        cells: Counter[int] = Counter()
        first: dict[int, int] = {}
        for number in self._numbers:
            cells[at := self.plan.cell_of(number)] += 1
            first.setdefault(at, number)
        return [(self.plan[first[at]], count) for at, count in cells.items()]


class Trials(Sequence[Trial]):
    """The trials of a part."""

    def __init__(self, part: Part) -> None:
        self._part = part

    def __len__(self) -> int:
        return len(self._part)

    @overload
    def __getitem__(self, index: int) -> Trial: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Trial]: ...
    def __getitem__(self, index: int | slice) -> Trial | Sequence[Trial]:
        if isinstance(index, slice):
            return [point.trial for point in self._part[index]]
        return self._part[index].trial

    def group(self, key: str) -> int:
        """Equal for trials that cost the same."""
        return self._part.plan.by_key.cell_of(key)

    def counted(self) -> list[tuple[Trial, int]]:
        """Trials that cost the same, one of each and how many there are."""
        return [(point.trial, number) for point, number in self._part.counted()]
