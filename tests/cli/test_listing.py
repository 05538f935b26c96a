"""``whyconv list NAME``: plain text that fits, and settings with their defaults."""

import pytest

from whyconv import registry
from whyconv.api import chosen_claims
from whyconv.cli import listing
from whyconv.errors import UserError
from whyconv.learners.margin import LinearSVM
from whyconv.runner.forecast import on_cluster
from whyconv.settings import chosen_studies, configure

OWN = [piece for kind in registry.KINDS for piece in registry.pieces(kind) if "whyconv." in piece.__module__]
"""The package's pieces, without those that other tests make."""


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("WHYCONV_DATA", raising=False)


@pytest.mark.parametrize("name", [piece.name for piece in OWN])
def test_every_piece_is_plain_text_of_80_columns(name):
    told = listing.text(listing.one(name))
    assert max(map(len, told.splitlines())) <= 80
    assert "`" not in told and name in told


def test_the_overview_fits():
    assert max(map(len, listing.text(registry.everything()).splitlines())) <= 80


def test_a_terminal_has_its_own_width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    assert max(map(len, listing.text(listing.one("gradient")).splitlines())) <= 50
    monkeypatch.setenv("COLUMNS", "100")
    assert max(map(len, listing.text(listing.one("gradient")).splitlines())) > 80


def test_namesakes_are_all_listed_and_near_names_in_any_case():
    assert [each["study"] for each in listing.one("fig4")["namesakes"]] == ["brutzkus.fig4", "malach.fig4"]
    assert listing.one("separator")["name"] == "brutzkus.separator"
    for wrong, near in (("CNN", "cnn, "), ("malch", "malach, "), ("lema6", "malach.lemma6, ")):
        with pytest.raises(UserError, match=rf"nearest: {near}"):
            listing.one(wrong)


def test_settings_of_a_study_have_their_defaults():
    told = listing.one("brutzkus.fig3a")
    assert told["settings"]["test_size"] == {"default": 1000}
    assert told["settings"]["m"]["quick"] == {"m": [20, 40, 80]}
    assert told["settings"]["m"]["default"] == [10, 20, 40, 80, 160, 320, 640, 1280]
    assert told["settings"]["seeds"] == {"default": 5}, "quick sets it to what it is anyway"
    lines = listing.text(told).splitlines()
    assert "  m: [10, 20, 40, 80, 160, 320, 640, 1280]; quick: [20, 40, 80]" in lines
    assert "  task: detection" in lines and "  exact: false" in lines


def test_what_quick_sets_inside_a_setting_is_named_by_its_path():
    told = listing.one("brutzkus.sample-complexity")
    assert told["settings"]["arms"]["quick"] == {
        "arms.ConvPool.network.channels": 100, "arms.MLP.seeds": 5,
    }  # fmt: skip
    assert "quick: arms.ConvPool.network.channels = 100" in " ".join(listing.text(told).split())


def test_settings_without_a_name_of_their_own_are_told_in_full():
    sizes = listing.one("lahoti.vary-k")["settings"]["sizes"]["default"]
    assert sizes == {"low": 2, "cap": 1000, "resolution": 0.05}


def test_a_cluster_is_forecast_by_its_slots(whyconv):
    alone, many = (listing.one("brutzkus.fig3a", slots)["presets"]["paper"] for slots in (1, 100))
    assert alone["cluster"]["slots"] == 1 and many["cluster"]["seconds"] < alone["cluster"]["seconds"]
    told = whyconv("list", "brutzkus.fig3a", "--slots", "100").stdout
    assert "  on a cluster of 100 slots: about" in told
    assert "on a cluster" not in whyconv("list", "brutzkus.fig3a").stdout
    for words in (["mlp", "--slots", "2"], ["--slots", "2"], ["brutzkus.fig3a", "--slots", "0"]):
        done = whyconv("list", *words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_one_coordinator_hands_out_only_so_many():
    trials = configure("brutzkus.fig3a", "quick", seeds=1000).outlook()
    assert on_cluster(trials, 100_000).seconds >= len(trials) / 400 > 20


@pytest.mark.parametrize("name", [piece.name for piece in OWN if piece.kind == "study"])
def test_a_default_as_it_is_told_can_be_given_again(name):
    told = listing.one(name)["settings"]
    again = configure(name, "quick", {field: about["default"] for field, about in told.items()})
    assert again == registry.find("study", name)()


@pytest.mark.parametrize(
    ("name", "own", "inherited"),
    [
        ("sequence", "'counted'", ["'images'", "'batches'", "'permuted'", "'shifted_tests'", "'shift'"]),
        (
            "deep-lcn",
            "Separate filters",
            ["like deep-cnn:", "'pool' x 'pool'", "'kernel', 'stride'", "'biases'"],
        ),
        ("k-junta", "hidden order", ["like k-pattern:", "'label_noise' = p"]),
        ("lcn", "Separate filters", ["like cnn:", "'init_law'"]),
    ],
)
def test_settings_that_come_from_a_parent_are_explained_once_after_its_own(name, own, inherited):
    told = listing.text({**listing.one(name), "settings": {}})
    places = [told.index(words) for words in (own, *inherited)]
    assert places == sorted(places)
    assert all(told.count(words) == 1 for words in inherited)
    assert "Subclasses" not in told, "what all of its kind have in common is for those who write one"


class Mixin:
    """What a plain class says."""


class Silent:
    pass


def test_plain_classes_among_the_parents_do_no_harm():
    class Mixed(Mixin, Silent, LinearSVM):
        """A piece of one's own."""

    told = listing._documents(Mixed)
    assert told[:3] == ["A piece of one's own.", "What a plain class says.", "Otherwise like svm:"]
    assert len(told) == 4 and told[3].startswith(LinearSVM.summary())


def test_a_claim_is_listed_with_its_recorded_verdict():
    found = listing.one("malach.thm4")
    assert found["recorded"] == "holds as corrected"
    assert "Recorded verdict: holds as corrected (whyconv check" in listing.text(found)


@pytest.mark.parametrize(
    ("place", "names"),
    [
        ("Theorem 4", ["malach.thm4", "malach.thm4-eta"]),
        ("thm 4.2", ["brutzkus.thm4.2"]),
        ("Fig. 3A", ["brutzkus.fig3a"]),
        ("lemma c.1", ["brutzkus.lemmaC.1"]),
    ],
)
def test_pieces_are_found_by_their_place_in_a_paper(place, names):
    found = [piece.name for kind in ("study", "claim") for piece in registry.at(kind, place)]
    assert found == names
    listed = listing.one(place)
    shown = [each.get("study") or each["name"] for each in listed.get("namesakes", [listed])]
    assert shown == names


@pytest.mark.parametrize("place", ["Theorem", "Theorem 99", "4", ""])
def test_what_is_no_place_is_found_nowhere(place):
    assert not registry.at("claim", place)


def test_a_paper_is_listed_with_where_it_was_published():
    listed = listing.one("malach")
    assert listed["paper"]["year"] == 2021 and listed["paper"]["arxiv"] == "2010.01369"
    told = listing.text(listed)
    assert told.startswith("Eran Malach and Shai Shalev-Shwartz: ") and "2021; arXiv 2010.01369" in told
    assert max(map(len, told.splitlines())) <= 80
    assert "paper" not in registry.everything()


def test_commands_take_a_place_for_a_name():
    assert [claim.name for claim in chosen_claims("Theorem 4")] == ["malach.thm4", "malach.thm4-eta"]
    assert chosen_studies("figure 3a") == ["brutzkus.fig3a"]
    with pytest.raises(UserError, match=r"^Figure 4 stands for several studies; name .*fig4, "):
        chosen_studies("Figure 4")
