"""``whyconv sample``: a task's examples as an .npz file, for any framework."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from whyconv import registry
from whyconv.sampling import sample as drawn


def sample(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task; whyconv list shows all.")],
    m: Annotated[int, typer.Option("--m", help="Training examples, and as many to test on.")] = 1000,
    seed: Annotated[int, typer.Option(help="The seed of a trial.")] = 0,
    out: Annotated[str, typer.Option(metavar="FILE.npz", help="The file to write.")] = "sample.npz",
    set_: Annotated[list[str] | None, typer.Option("--set", help="Change a setting: noise=1.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    load: Annotated[
        list[str] | None, typer.Option(help="A Python file of your own pieces; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write examples of a task, for any framework.

    Arrays: x, y, test_x, test_y, the task's world, and facts, what is known exactly.
    """
    for file in load or ():
        registry.load(file)
    found = drawn(task, m, seed, set_ or (), out, force)
    facts = json.loads(found["facts"])
    shapes = {name: list(value.shape) for name, value in found.items() if name != "facts"}
    if as_json:
        print(json.dumps({"out": out, "arrays": shapes, **facts}, indent=2))
        return
    for name, shape in shapes.items():
        print(f"  {name}: {' x '.join(map(str, shape))}")
    for name, value in facts["known"].items():
        print(f"  known exactly: {name.replace('_', ' ')} {value:.6g}")
    print(f"{out}: read it with numpy.load; whyconv {task}, seed {seed}.")
