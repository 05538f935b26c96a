"""Every Python example of docs/*.md runs, and prints what its comments say.

A comment behind a print is what it prints; lines printed by one print in a loop are separated by " | ".
"""

import re
from pathlib import Path

import pytest

from whyconv import registry

DOCS = Path(__file__).parent.parent / "docs"
EXAMPLES = [
    pytest.param(block, id=f"{page.name}-{index}")
    for page in sorted(DOCS.glob("*.md"))
    for index, block in enumerate(
        re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S), 1
    )
]


@pytest.fixture(autouse=True)
def functions_of_examples_go_again():
    registry.pieces("task")
    before = dict(registry._pieces)
    yield
    registry._pieces.clear()
    registry._pieces.update(before)


def test_there_are_examples():
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize("block", EXAMPLES)
def test_example_prints_what_it_says(block, capsys):
    promised = [
        line
        for comment in re.findall(r"^ *print\(.*\)  # (.*)$", block, re.M)
        for line in comment.split(" | ")
    ]
    exec(compile(block, "example", "exec"), {})
    assert capsys.readouterr().out.splitlines() == promised
    assert promised
