"""The notebook of the examples: well formed, without outputs, and its cells run one after another."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "audit.ipynb"
CELLS = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
CODE = ["".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "code"]


def test_it_is_a_notebook_without_outputs():
    whole = json.loads(NOTEBOOK.read_text("utf-8"))
    assert whole["nbformat"] == 4 and len(CODE) >= 5
    assert len({cell["id"] for cell in CELLS}) == len(CELLS)
    for cell in CELLS:
        assert cell["cell_type"] in ("code", "markdown") and isinstance(cell["source"], list)
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None


def test_every_cell_is_python_and_uses_what_earlier_ones_made():
    known = set(dir(__builtins__)) | set(__builtins__ if isinstance(__builtins__, dict) else ())
    for source in CODE:
        tree = ast.parse(source)
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        known |= {
            alias.asname or alias.name
            for n in ast.walk(tree)
            if isinstance(n, ast.Import)
            for alias in n.names
        }
        known |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
        assert {node.id for node in names if isinstance(node.ctx, ast.Load)} <= known


@pytest.mark.long
def test_it_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for source in CODE:
        exec(compile(source.replace("MINUTES = 3", "MINUTES = 1.5"), "cell", "exec"), namespace)
    assert (tmp_path / "whyconv-audits" / "notebook" / "audit.html").exists()
    assert [each.prior for each in namespace["r"].savings] == ["locality", "sharing", "pooling", "together"]
