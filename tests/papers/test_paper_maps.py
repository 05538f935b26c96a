"""The README of each paper maps the paper to the package: every name exists, and nothing is left out."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import whyconv
from whyconv import registry

HOME = Path(whyconv.__file__).parent
PAPERS = sorted(path.name for path in (HOME / "papers").iterdir() if (path / "claims").is_dir())
STATEMENTS = {
    "brutzkus": """Eq. 1|Eq. 2|Eq. 3|Eq. 5|Eq. 8|Eq. 24|Algorithm 1|Remark 3.1|Definition 4.1|Theorem 4.2
        |Theorem 5.1 (1)|Theorem 5.1 (2)|Lemma 5.2|Lemma 5.3|Corollary 5.4|Lemma 5.5|Proposition 6.1
        |Lemma C.1|Lemma C.2|Lemma C.3|Appendix A|Appendix E|Figure 1|Figure 2|Figure 3a|Figure 3b|Figure 3c
        |Figure 4|Figure 5|Footnote 5|open""",
    "malach": """Definition 1,|Definition 2|Definition 3|Theorem 4|Corollary 5|Lemma 6|Comment 7|Lemma 8
        |Lemma 9|Theorem 10|Definition 11|Theorem 12|Figure 1|Figure 2|Figure 3|Figure 4|experiment 1
        |experiment 2|Open""",
    "lahoti": """DSD|SSD|Assumption|LSA|Equivariant|Risk|FCN lower|LCN upper|LCN lower|CNN upper|Fano
        |two steps|Experiment 1|Experiment 2|Open questions|Depth|Several signals|not even|not equivariant""",
}
"""What each paper has; the last one as far as its text is known."""


def lines(paper):
    """The table: what the paper has, and the names that have it here."""
    text = (HOME / "papers" / paper / "README.md").read_text("utf-8")
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")]
    assert all(len(row) == 3 for row in rows)
    return {row[0].strip(): row[1].strip() for row in rows[2:]}


def names(paper):
    return {name for here in lines(paper).values() for name in re.findall(r"`([^`]+)`", here)}


def stands_for(name):
    """What a name in a table is: a piece, a setting of a piece, a file, or something in a module."""
    for kind in registry.KINDS:
        pieces = {piece.name: piece for piece in registry.pieces(kind)}
        if name in pieces:
            return pieces[name]
        piece, _, setting = name.rpartition(".")
        if piece in pieces and setting in pieces[piece].model_fields:
            return pieces[piece].model_fields[setting]
    if name.endswith(".py"):
        return (HOME / name).is_file() or None
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(import_module(f"whyconv.{module}"), attribute, None)
    except ModuleNotFoundError:
        return None


@pytest.mark.parametrize("paper", PAPERS)
def test_every_name_in_the_table_exists(paper):
    assert [name for name in sorted(names(paper)) if stands_for(name) is None] == []


@pytest.mark.parametrize("name", ["brutzkus.fig9", "detection.colour", "exact/none.py", "exact.rank.none"])
def test_a_name_that_does_not_exist_is_noticed(name):
    assert stands_for(name) is None


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_study_and_exact_module_of_the_paper_is_in_its_table(paper):
    found = names(paper)
    pieces = {piece.name for kind in ("claim", "study") for piece in registry.pieces(kind)}
    ours = {name for name in pieces if name.startswith(f"{paper}.")}
    files = {file.stem for file in (HOME / "papers" / paper / "exact").glob("[!_]*.py")}
    beginning = re.compile(rf"papers[./]{paper}[./]exact[./](\w+)\.")
    modules = {match[1] for name in found if (match := beginning.match(name))}
    assert ours and not ours - found
    assert files and not files - modules


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_says_what_its_routes_share(paper):
    text = (HOME / "papers" / paper / "README.md").read_text("utf-8")
    said = re.findall(r"`([^`]+)`", text.split("## What the routes share")[1])
    ours = {piece.name for piece in registry.pieces("claim") if piece.name.startswith(f"{paper}.")}
    assert ours and not ours - set(said)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_statement_of_the_paper_has_a_line_with_a_name_or_says_why_not(paper):
    table = lines(paper)
    said = "\n".join(table)
    assert [word for each in STATEMENTS[paper].split("|") if (word := each.strip()) not in said] == []
    headings = {line for line in table if line.startswith("**")}
    assert all(table[line] == "" for line in headings)
    assert all("`" in here or here == "not here" for line, here in table.items() if line not in headings)


def test_the_readmes_are_in_the_wheel():
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["whyconv"]
    packed = {file for pattern in patterns for file in HOME.glob(pattern)}
    assert {HOME / "papers" / paper / "README.md" for paper in PAPERS} <= packed
