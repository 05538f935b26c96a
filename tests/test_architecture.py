"""Imports go one way: no cycles among modules or rooms, imports inside functions counted, and layers."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import whyconv

ROOT = Path(whyconv.__file__).parent
PIECES = ("tasks", "networks", "learners", "measure", "exact")
ABOVE_PIECES = ("papers", "report", "cli", "runner", "api", "studies", "claims", "runs", "progress")
NEVER = {
    **dict.fromkeys(PIECES, ABOVE_PIECES),
    "studies": ("papers", "report", "cli", "runner", "api", "claims"),
    "claims": ("papers", "report", "cli", "runner", "api", "studies"),
    "runner": ("papers", "report", "cli", "api", "claims"),
    "report": ("papers", "cli", "api", "claims"),
    "papers": ("cli", "api"),
    "page": ("papers", "cli", "api", "claims"),
}
"""What a room never imports."""


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_statements(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import below a node; what only type checkers see is left out."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        for each in node.orelse:
            yield from import_statements(each)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield node
    else:
        for each in ast.iter_child_nodes(node):
            yield from import_statements(each)


def imported(source: str, modules: set[str]) -> set[str]:
    """Those of the modules that a source imports: ``from whyconv import x`` is the module x, if it is one."""
    found = set()
    for node in import_statements(ast.parse(source)):
        for alias in node.names:
            if isinstance(node, ast.Import):
                found.add(alias.name)
            else:
                assert node.level == 0, "imports are absolute here"
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in modules else node.module)
    return found & modules


@cache
def graph() -> dict[str, set[str]]:
    files = {module_name(path): path for path in ROOT.rglob("*.py")}
    return {name: imported(path.read_text("utf-8"), set(files)) - {name} for name, path in files.items()}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else module


@cache
def rooms() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, others in graph().items():
        found.setdefault(room(name), set()).update(map(room, others))
    return {here: others - {here} for here, others in found.items()}


def cycle(edges: dict[str, set[str]]) -> list[str]:
    """One cycle, if there is any."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return error.args[1]
    return []


@pytest.mark.parametrize("edges_of", [graph, rooms], ids=["modules", "rooms"])
def test_there_is_no_cycle(edges_of):
    edges = edges_of()
    assert len(edges) > 20 and sum(map(len, edges.values())) > 50, "imports were found at all"
    assert not (found := cycle(edges)), " <- ".join(found)


def test_cli_is_imported_by_nothing_else_and_the_page_by_it_alone():
    assert [here for here, others in rooms().items() if "cli" in others] == []
    assert [here for here, others in rooms().items() if "page" in others] == ["cli"]


@pytest.mark.parametrize("here", NEVER)
def test_a_room_knows_nothing_of_those_above_it(here):
    assert here in rooms()
    assert not rooms()[here].intersection(NEVER[here])


def test_imports_inside_functions_count_and_those_for_type_checkers_do_not():
    source = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a.x\nelse:\n    import a.y\n"
        "def f():\n    from a import z\n    from a.w import name\n"
    )
    assert imported(source, {"a", "a.x", "a.y", "a.z", "a.w"}) == {"a.y", "a.z", "a.w"}
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) and not cycle({"a": {"b"}, "b": {"c"}})
