"""Criteria in made-up worlds: the truth far from a threshold is found, at it there are few false alarms."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from whyconv import registry
from whyconv.criteria import power
from whyconv.criteria.__main__ import main
from whyconv.criteria.worlds import Setting, World, coupled
from whyconv.measure.complexity import sample_complexity
from whyconv.measure.curves import Curve
from whyconv.settings import configure

PAGE = Path(__file__).parents[2] / "docs" / "power.md"
STUDIES = [study for study in registry.pieces("study") if study.__module__.startswith("whyconv.papers.")]
WORLDS = [study for study in STUDIES if power.world_of(study)]


def test_nearly_every_study_has_a_world():
    assert len(WORLDS) >= 20


@pytest.mark.parametrize("study", WORLDS, ids=lambda study: study.name)
def test_far_below_is_never_consistent_and_four_effects_lie_in_order(study):
    world = power.world_of(study)
    effects = list(world.effects().values())
    assert effects in (sorted(effects), sorted(effects, reverse=True)) and len(set(effects)) == 4
    (_, chosen), *_ = power.judged_presets(study.name)
    table = world.rows(Setting(chosen), world.below, np.random.default_rng(0))
    assert chosen.judge(table).evidence.verdict in ("fails", "undecided")


@pytest.mark.parametrize("name", ["brutzkus.fig3a", "malach.fig4", "lahoti.static-signal"])
def test_power_and_false_alarms_of_some(name):
    world = power.world_of(registry.find("study", name))
    (preset, chosen), *_ = power.judged_presets(name)
    found = power.simulated(chosen, preset, world, 60)
    assert [each.total() for each in found.counts.values()] == [15, 60, 15, 15]
    assert found.share("far below", "fails") > 0.8 and found.share("far above", "consistent") > 0.8
    assert found.share("at", "consistent") < 0.1 and not found.alarm


def test_a_criterion_without_an_interval_has_false_alarms_and_is_named():
    study = configure("brutzkus.fig4")
    lax = World("nothing", -1, 0, 1, 2, power.world_of(type(study)).rows)
    found = power.Power(
        "x.y", "quick", 3, lax, {where: Counter(consistent=40, fails=60) for where in lax.effects()}
    )
    assert found.alarm.startswith("far below the threshold, 40 % (at least 30 %)")
    page = power.page([found], ["z.w"], 100)
    assert "| `x.y` | quick | 3 | nothing | -1: 40 / 60 / 0 |" in page and "`z.w`" in page
    assert "- `x.y`, quick: far below the threshold" in page
    assert "at the threshold: 40.0 % [30.3, 50.3] of 100 tables." in page


def test_the_noise_of_worlds_is_what_it_says():
    study = configure("brutzkus.fig3a", seeds=2000)
    table = Setting(study).grid(np.random.default_rng(0), lambda labels: 0.4, "test_error")
    wide = table[table["m"] == 40].pivot(index="seed", columns="arm", values="test_error")
    assert wide.std().to_numpy() == pytest.approx(0.02, rel=0.1)
    assert wide.corr().iloc[0, 1] == pytest.approx(0.5, abs=0.1)
    assert table["test_error"].between(0, 1).all() and wide.mean().to_numpy() == pytest.approx(0.4, abs=0.002)


def test_a_search_in_a_world_finds_the_truth():
    setting = Setting(configure("lahoti.static-signal", seeds=200))
    table = setting.searched(np.random.default_rng(0), lambda labels: 40.0)
    for cell, goal in zip(setting.cells, setting.goals, strict=True):
        part = table[(table["arm"] == cell.labels["arm"]) & (table["case"] == cell.labels["case"])]
        found = sample_complexity(Curve.from_table(part, value="risk"), goal, 1000)
        assert found.crossing == pytest.approx(40, rel=0.1)


def test_coupled_twins_have_the_same_numbers():
    table = Setting(configure("brutzkus.fig3a")).grid(
        np.random.default_rng(0), lambda labels: 0.4, "test_error"
    )
    same = coupled(table, "MLP", "SVM", "test_error", "m")
    one, other = (same[same["arm"] == arm].set_index(["m", "seed"])["test_error"] for arm in ("MLP", "SVM"))
    assert (one == other.loc[one.index]).all() and not same["test_error"].equals(table["test_error"])


def test_the_table_has_every_preset_with_the_seeds_and_effects_of_today():
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    told = []
    for line in lines:
        *head, far_below, at, near, far_above = line.strip("| ").split(" | ")
        told.append((*head, *(cell.split(":")[0] for cell in (far_below, at, near, far_above))))
    now = []
    for study in STUDIES:
        world = power.world_of(study)
        for preset, chosen in power.judged_presets(study.name):
            effects = (f"{effect:.3g}" for effect in world.effects().values())
            now.append((f"`{study.name}`", preset, str(chosen.seeds), world.effect, *effects))
    assert sorted(told) == sorted(now)


def test_the_command_prints_the_page(capsys):
    assert main(["power", "--runs", "4", "brutzkus.fig4"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# Power and false alarms") and out.count("| `brutzkus.fig4` |") == 2
