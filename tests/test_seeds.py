"""Claims on other seeds: sets share nothing, every draw moves with the set, and the table counts them."""

import ast
import json
from pathlib import Path

import pytest
from made_claims import FAILS, HOLDS, made

import whyconv
from whyconv import registry, seeds
from whyconv.claims import seeds as drawn
from whyconv.claims.seeds import draw_seeds, generator
from whyconv.papers.brutzkus.claims.seeds import seeds as of_brutzkus
from whyconv.papers.malach.claims import failure

CLAIMS = sorted((Path(whyconv.__file__).parent / "papers").glob("*/claims/*.py"))


def test_sets_of_seeds_share_none():
    def asked():
        return [*draw_seeds(), *draw_seeds(3, first=1000), *of_brutzkus(), *draw_seeds(120)]

    every = []
    for number in range(25):
        with drawn.chosen(number):
            every.append(set(asked()))
    assert every[0] == set(asked()) == {*range(120), 1000, 1001, 1002}
    assert len(set.union(*every)) == 25 * len(every[0])
    with pytest.raises(ValueError, match="next set"):
        draw_seeds(drawn.APART + 1)


def test_one_generator_moves_with_the_set_too():
    values = []
    for number in (0, 1, 2, 0):
        with drawn.chosen(number):
            values.append(generator(42).random())
    assert values[0] == values[3] and len(set(values)) == 3


def test_whether_anything_was_drawn_is_known():
    with drawn.chosen(1) as draws:
        assert not draws.asked
        with drawn.chosen(2):
            draw_seeds()
        assert not draws.asked
        draw_seeds()
        assert draws.asked


def test_no_claim_draws_from_a_seed_of_its_own():
    """A generator made from a plain number would stay the same in every set."""
    fixed = [
        f"{path.name}:{node.lineno}"
        for path in CLAIMS
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("default_rng")
        and all(isinstance(part, ast.Constant) for arg in node.args for part in getattr(arg, "elts", [arg]))
    ]
    assert len(CLAIMS) > 20 and fixed == []


def test_another_set_gives_other_numbers_and_the_same_set_the_same():
    claim, found = registry.find("claim", "malach.overwhelming")(), []
    for number in (0, 1, 1, 0):
        with drawn.chosen(number):
            found.append(claim.check().numbers["largest |gradient|^2 / sqrt(B) of these"])
    assert found[0] == found[3] != found[1] == found[2]
    assert failure.draw_seeds is draw_seeds


def test_the_command_goes_on_where_it_ended(tmp_path, capsys):
    file = tmp_path / "seeds.jsonl"
    words = ["--out", str(file), "malach.expressivity", "malach.junta"]
    assert seeds.main(["--sets", "1", *words]) == 0
    first = file.read_text("utf-8")
    file.write_text(first + '{"claim": "malach.exp', "utf-8")  # killed within a line
    with file.open("a", encoding="utf-8") as more:
        more.write("\n")
    capsys.readouterr()
    assert seeds.main(["--sets", "2", *words]) == 0
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.endswith("}")]
    assert [(line["claim"], line["set"]) for line in lines] == [
        ("malach.expressivity", 1), ("malach.junta", 1), ("malach.expressivity", 2),
    ]  # fmt: skip
    told = capsys.readouterr()
    assert "set 2 of 2: 1 claims" in told.err and "set 1" not in told.err
    assert "| 2 (1-2) | 2 | 0.16 to 1.00 | 2 |" in told.out and "Draw nothing: `malach.junta`." in told.out


def test_bad_words_are_one_sentence(capsys):
    assert seeds.main(["--sets", "0"]) == 2 and seeds.main(["nobody"]) == 2
    assert [line.startswith("whyconv: ") for line in capsys.readouterr().err.splitlines()] == [True, True]


def line(number, verdict="holds", control="fails", **changes):
    good = verdict == "holds" and control == "fails"
    given = {"claim": "own.a", "draws": True, "seconds": 1.0, "digest": "a" * 16, **changes}
    return seeds.Decided(set=number, verdict=verdict, control_verdict=control, good=good, **given)


def test_one_set_in_twenty_may_differ():
    good = [line(number) for number in range(1, 20)]
    assert seeds.stable(good) and seeds.stable([*good, line(20, "fails")])
    assert not seeds.stable([*good[:18], line(19, "fails")])
    assert not seeds.stable([*good[:18], line(19, "fails"), line(20, control="undecided")])


def test_the_table_names_what_differs_and_keeps_what_other_code_gave(monkeypatch):
    monkeypatch.setattr(registry, "pieces", lambda kind: [made("own.a")])
    monkeypatch.setattr(seeds, "code_digest", lambda claim: "a" * 16)
    old = [line(number, "fails" if number == 3 else "holds", digest="b" * 16) for number in range(1, 6)]
    new = [line(number, control="holds" if number == 22 else "fails") for number in range(21, 41)]
    rows = [row for row in seeds.page([*old, *new]).splitlines() if row.startswith("| `own.a`")]
    assert rows == [
        "| `own.a` | holds | (bbbbbb) | 5 (1-5) | 4 | 0.28 to 0.99 | 4 | fails (1) | 1.0 | **not stable** |",
        "| `own.a` | holds | aaaaaa | 20 (21-40) | 20 | 0.83 to 1.00 | 19 | control holds (1) | 1.0 "
        "| stable |",
    ]


def test_what_nobody_has_decided_is_named(monkeypatch):
    runs = made("own.run")
    monkeypatch.setattr(runs, "trials", True)
    every = [made("own.a"), made("own.exact"), made("own.late"), runs]
    monkeypatch.setattr(registry, "pieces", lambda kind: every)
    page = seeds.page([line(1), line(1, claim="own.exact", draws=False)])
    assert page.split("stable |\n")[1].splitlines() == [
        "", "Draw nothing: `own.exact`.",
        "", "Not decided on other seeds: `own.late`.",
        "", "Not decided on other seeds, since they run trials of a study: `own.run`.",
    ]  # fmt: skip
    assert "Not decided" not in seeds.page([line(1, claim=claim.name) for claim in every])


def test_the_page_is_that_of_the_record_beside_it():
    docs = Path(__file__).parent.parent / "docs"
    assert seeds.page(seeds.kept(docs / "seeds.jsonl")) == (docs / "seeds.md").read_text("utf-8")


def test_a_verdict_that_hangs_on_the_seed_is_told(tmp_path, monkeypatch):
    claim = made("own.lucky", check=lambda: HOLDS if draw_seeds(1)[0] == 0 else FAILS)
    monkeypatch.setattr(seeds.api, "chosen_claims", lambda which: [claim])
    monkeypatch.setattr(registry, "find", lambda kind, name: claim)
    monkeypatch.setattr(registry, "pieces", lambda kind: [claim])
    file = tmp_path / "lines"
    for number in range(3):
        seeds.decide(["own.lucky"], number, file)
    assert [(each.verdict, each.good, each.draws) for each in seeds.kept(file)] == [
        ("holds", True, True), ("fails", False, True), ("fails", False, True),
    ]  # fmt: skip
    assert "**not stable**" in seeds.page(seeds.kept(file))
