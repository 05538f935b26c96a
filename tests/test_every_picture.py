"""Every study has a picture of its problem and a glossary of its data and networks."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from whyconv import registry
from whyconv.papers.lahoti.pictures import problem
from whyconv.papers.malach import digit_pictures
from whyconv.runs import Run
from whyconv.settings import configure
from whyconv.tasks.sequence import Sequence
from whyconv.tasks.signal import Signal

NAMES = [study.name for study in registry.pieces("study") if ".papers." in study.__module__]


def drawn(svg, kind):
    return svg.count(f'class="{kind}')


@pytest.mark.parametrize("name", NAMES)
def test_every_study_has_a_picture_and_a_glossary(name):
    study = configure(name, "quick")
    pictures = study.pictures()
    assert pictures and all(len(title) > 20 for title in pictures)
    for svg in pictures.values():
        assert ElementTree.fromstring(svg).tag.endswith("svg")
    run = Run(study, study.plan({}), {}, Path(), "")
    assert set(run.glossary) == {"data", "networks"}
    assert all(len(words) > 20 for words in run.glossary.values())


def test_the_signal_is_drawn_for_the_sizes_that_were_run():
    (title,), (svg,) = zip(*problem(Signal(patches=7, patch_dim=5)).items(), strict=True)
    assert "7 patches of 5" in title and svg.count("fill-opacity") == 2 * 7 * 5
    assert svg.count("frame") - svg.count(".frame") == 2
    (svg,) = problem(Signal(patches=7, patch_dim=5, signals=3)).values()
    assert svg.count("frame") - svg.count(".frame") == 6
    (svg,) = problem(Signal(patches=3, patch_dim=8, patch_dims=(4, 8, 6))).values()
    assert svg.count("fill-opacity") == 2 * 18
    (title,) = problem(Signal(patches=100, patch_dim=50))
    assert "first of them drawn" in title


def test_the_patch_that_holds_the_signal_stays_where_it_is_placed():
    first, second = (next(iter(problem(Signal(patches=4, place=3), seed).values())) for seed in (1, 2))
    frames = [line for line in (first + second).split("<rect ") if " frame" in line]
    assert len({line.partition('x="')[2].partition('"')[0] for line in frames}) == 1


def test_digits_that_decide_are_outlined():
    (title,), (svg,) = zip(
        *digit_pictures.problem(Sequence(images="digits", where="spread"), (5, 9)).items(), strict=True
    )
    assert "5 and of 9 digits" in title
    assert svg.count("frame") - svg.count(".frame") == 3 * 2 * digit_pictures.ROWS_SHOWN
    assert svg.count("data:image/png") == 2 * digit_pictures.ROWS_SHOWN


def test_kernels_fit_before_a_shift_and_not_after():
    (svg,) = digit_pictures.felt(Sequence(images="digits")).values()
    bars = [line for line in svg.split("<rect ") if 'height="5"' in line]
    kinds = ["positive" if 'class="positive"' in line else "negative" for line in bars]
    assert kinds[:3] == ["positive"] * 3 and kinds[3:6] == ["negative"] * 3
    assert kinds[6:].count("positive") == 1 and len(kinds) > 9
