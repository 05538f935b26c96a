"""Docstrings in a terminal: marks go, paragraphs and lists are filled, formulas stay lines."""

import doctest

import pytest

from whyconv.cli import plain_text
from whyconv.cli.plain_text import unmarked, wrapped


def test_the_examples_in_the_docstrings():
    tried = doctest.testmod(plain_text)
    assert tried.attempted and not tried.failed


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("``init_law``: *theorem* or **none**", "'init_law': theorem or none"),
        ('by name (``{"b1": 0.8}``)', 'by name ({"b1": 0.8})'),
        (
            ":func:`whyconv.pixels.pixel_order` and :class:`~a.b.Curve`",
            "whyconv.pixels.pixel_order and Curve",
        ),
        (
            "`a_1` of m* and n*d, 2 * (a * b), g(x_j*, x_{j*+1})",
            "a_1 of m* and n*d, 2 * (a * b), g(x_j*, x_{j*+1})",
        ),
        ("one\n*word over\nlines*", "one\nword over\nlines"),
    ],
)
def test_marks_go_and_mathematics_stays(marked, plain):
    assert unmarked(marked) == plain


def test_blocks_keep_their_shape():
    text = """A first line that is rather
long, with ``code``.

    x = a + b,   y = c
    z = 1

- *one*: an item that
  goes on and on;
- two
1. three
Last, a line."""
    assert wrapped(text, 24).splitlines() == [
        "A first line that is",
        "rather long, with",
        "'code'.",
        "",
        "    x = a + b,   y = c",
        "    z = 1",
        "",
        "- one: an item that goes",
        "  on and on;",
        "- two",
        "1. three",
        "Last, a line.",
    ]
    assert wrapped("    a formula that is too long", 20).splitlines() == [
        "    a formula that",
        "      is too long",
    ]


def test_a_formula_that_begins_with_a_sign_is_no_item():
    formula = "The loss is\n\n    - y log p\n    = z,\n    2. + 3 x\n    + 4\n\nsummed."
    assert wrapped(formula, 40) == formula
    nested = "- one\n  - two that\n    goes on\n- three"
    assert wrapped(nested, 40) == "- one\n  - two that goes on\n- three"
