"""Examples of a task for any framework: inputs, labels, world, and what is known exactly, as plain arrays."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from whyconv.assignments import given
from whyconv.errors import UserError
from whyconv.execution import draw
from whyconv.lazy import np
from whyconv.paths import given_path
from whyconv.runner.folder import as_user_error, write_whole
from whyconv.spec import build
from whyconv.streams import stream
from whyconv.studies.grid import changed
from whyconv.tasks import Part, Task

LARGEST = 10_000_000
"""Examples in one file."""


def sample(
    task: str | Mapping[str, Any] | Task,
    m: int = 1000,
    seed: int = 0,
    set: Mapping[str, Any] | Iterable[str] = (),
    out: str | Path | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """``m`` examples as a trial with this seed would get them, and as many to test on.

    Keys: ``x``, ``y``, ``test_x``, ``test_y`` (arrays), ``world.<name>`` (what was drawn once per seed), and
    ``facts``, a JSON text of the task's settings and of what is known exactly. ``out`` also writes them to an
    ``.npz`` file without pickles; an existing file is kept unless ``force``.

    >>> whyconv.sample("signal", m=100, set={"patches": 10})["x"].shape  # doctest: +SKIP
    (100, 10, 20)
    """
    if not 1 <= m <= LARGEST:
        raise UserError(f"m = {m} was given; give a number from 1 to {LARGEST:,}.")
    if not 0 <= seed <= LARGEST:
        raise UserError(f"seed = {seed} was given; give a number from 0 to {LARGEST:,}.")
    path = None if out is None else given_path(out)
    if path is not None and path.suffix != ".npz":
        raise UserError(f"--out {path} was given; give a file name that ends in .npz.")
    if path is not None and path.exists() and not force:
        raise UserError(f"{path} exists; give another name, or --force to replace it.")
    chosen = changed(build("task", task), given(set, None))
    if refused := chosen.refusal(m, 0, m):
        raise UserError(refused)
    world = stream("world", chosen.lineage(), seed)
    found: dict[str, Any] = {}
    parts: dict[str, Part] = {"": "train", "test_": "test"}
    for prefix, part in parts.items():
        x, y = draw(chosen, world, stream(part, chosen.lineage(), seed), m, part)
        found |= {f"{prefix}x": np.asarray(x)[:m], f"{prefix}y": np.asarray(y)[:m]}
    found |= {f"world.{name}": np.asarray(value) for name, value in chosen.revealed(world).items()}
    facts = {"task": chosen.canonical(), "m": m, "seed": seed, "known": dict(chosen.known(world))}
    found["facts"] = json.dumps(facts)
    if path is not None:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **found)
        with as_user_error(path):
            write_whole(path, buffer.getvalue())
    return found
