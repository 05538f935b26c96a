"""``whyconv cite``: id, version and digest of one verdict."""

import json
from pathlib import Path

import pytest

from whyconv import __version__, citing, registry, stress
from whyconv.deciding import decide

CLAIM = "malach.cor5"


def test_a_claim_is_decided_and_cited(whyconv):
    found = json.loads(whyconv("cite", CLAIM, "--json").stdout)
    assert found["id"] == CLAIM and found["version"] == __version__
    decided = decide(registry.find("claim", CLAIM))
    assert found["verdict"] == decided["verdict"] and len(found["digest"]) == 64
    said = whyconv("cite", CLAIM).stdout
    assert found["digest"][:16] in said and f"whyconv check {CLAIM}" in said and found["verdict"] in said
    entry = whyconv("cite", CLAIM, "--bibtex").stdout
    assert entry.startswith("@misc{whyconv:malach:cor5,") and found["digest"][:16] in entry


def test_another_verdict_has_another_digest():
    claim = registry.find("claim", CLAIM)
    decided = decide(claim)
    other = {**decided, "verdict": "fails"}
    digests = {citing.claim_cited(claim, each)["digest"] for each in (decided, dict(decided), other)}
    assert len(digests) == 2
    slower = {**decided, "seconds": 99.0}
    assert citing.claim_cited(claim, slower)["digest"] == citing.claim_cited(claim, decided)["digest"]


@pytest.mark.parametrize(
    ("file", "counts"),
    [("malach/exact/sizes.py", True), ("whyconv/exact/rank.py", True), ("brutzkus/exact/bounds.py", False)],
)
def test_code_beside_a_claim_that_decides_it_is_in_the_digest(monkeypatch, file, counts):
    claim = registry.find("claim", CLAIM)
    decided, read, seen = decide(claim), Path.read_bytes, []
    now = citing.claim_cited(claim, decided)["digest"]

    def changed(path):
        seen.append(path.as_posix().endswith(file))
        return read(path) + b"#" * seen[-1]

    monkeypatch.setattr(Path, "read_bytes", changed)
    monkeypatch.setattr(stress, "_digest_of", stress._digest_of.__wrapped__)
    assert (citing.claim_cited(claim, decided)["digest"] != now) == counts == any(seen)


def test_bad_input(whyconv, tmp_path):
    for words in (
        ("cite", "brutzkus.fig3z"),
        ("cite", "Theorem 5.1"),
        ("cite", CLAIM, "--in", tmp_path),
        ("cite", CLAIM, "--json", "--bibtex"),
        ("cite", "brutzkus.fig3a", "--in", tmp_path),
    ):
        done = whyconv(*words)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, words


def test_a_verdict_is_cited_by_its_place_in_a_paper(whyconv):
    assert json.loads(whyconv("cite", "Corollary 5", "--json").stdout)["id"] == CLAIM


def test_our_citation_file_has_every_paper_as_it_was_published():
    said = " ".join((Path(__file__).parents[2] / "CITATION.cff").read_text().split())
    for name in ("brutzkus", "lahoti", "malach"):
        paper = registry.paper(name)
        for author in paper.authors:
            family, given = author.split(", ")
            assert f"family-names: {family} given-names: {given}" in said
        assert f'title: "{paper.title}"' in said
        assert (
            f'year: {paper.year} collection-title: "{paper.venue}" identifiers: - type: other '
            f'value: "arXiv:{paper.arxiv}"'
        ) in said
    assert registry.paper("nobody") is None
