"""From a study's name, a preset and ``--set`` assignments to a checked study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from whyconv import registry
from whyconv.assignments import given
from whyconv.errors import UserError
from whyconv.spec import Piece, Spec, checked, plain, to_json
from whyconv.studies import Study


class _Fields(dict[str, Any]):
    """The fields of a spec, unlike a dictionary that may get new keys."""


def configure(
    name: str,
    preset: str = "quick",
    assignments: Iterable[str] | Mapping[str, Any] = (),
    seeds: int | None = None,
) -> Study:
    """The study ``name`` with a preset's overrides, then the user's: ``task.positions=20``.

    A path leads through the fields (``arms.MLP.network.width=64``); the study may carry what is set over to
    its controls (:meth:`whyconv.studies.Study.carries`). On the command line a value is read as
    JSON; comma-separated numbers are a list, .5 and +1 are also numbers, and anything else is a word.
    """
    study = registry.find("study", name)
    if study.needs_data:
        raise UserError(f"{name} needs data of your own; give them with whyconv {name} DATA.")
    if preset not in study.presets:
        raise UserError(f"{name} has no preset {preset!r}; choose one of {', '.join(study.presets)}.")
    values = _fields(study())
    for path, value in study.presets[preset].items():
        _assign(values, path, value)
    chosen = given(assignments, seeds)
    carried = {other: value for path, value in chosen.items() for other in study.carries(values, path)}
    asked = deepcopy(values)
    for path, value in chosen.items():  # what is wrong is named as it was given
        _assign(asked, path, deepcopy(value))
    for path, value in {**carried, **chosen}.items():  # what is given wins over what is carried over
        _assign(values, path, deepcopy(value))
    return checked(study, values, name)


def chosen_studies(which: str) -> list[str]:
    """The study of this name, the one about a place (``Figure 3a``), all studies of a paper, or all."""
    names = [study.name for study in registry.pieces("study")]
    if which == "all":
        return names
    of_paper = [name for name in names if name.partition(".")[0] == which]
    if of_paper or registry.known("study", which) is not None:
        return of_paper or [which]
    about = [study.name for study in registry.at("study", which)]
    if len(about) > 1:
        raise UserError(f"{which} stands for several studies; name one of {', '.join(about)}.")
    if about:
        return about
    known = [*names, *dict.fromkeys(name.partition(".")[0] for name in names), "all"]
    near = ", ".join(registry.nearest(which, known))
    raise UserError(f"there is no study {which!r}; studies and papers like it: {near}.")


def changes(study: Study, preset: str, seeds: bool = False) -> list[str]:
    """The settings that differ from the preset's, as assignments for --set; ``seeds``: their number, too."""
    try:
        preset_alone = configure(study.name, preset)
    except UserError:  # no such preset, or its data are missing
        return []
    return [
        f"{path}={value if isinstance(value, str) else to_json(value)}"
        for path, value in _differences(_fields(study), _fields(preset_alone))
        if seeds or path != "seeds"
    ]


def _differences(these: Any, those: Any) -> Iterator[tuple[str, Any]]:
    """Paths and values where two sets of fields differ; pieces with different names differ as a whole."""
    for name in sorted({*these, *those}):
        mine, other = these.get(name), those.get(name)
        alike = isinstance(mine, dict) and isinstance(other, dict) and mine.get("name") == other.get("name")
        if alike:
            yield from ((f"{name}.{path}", value) for path, value in _differences(mine, other))
        elif mine != other:
            yield name, plain(mine)


def _assign(values: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    place: Any = values
    for depth, part in enumerate([*parents, last]):
        known = isinstance(place, dict) and (part in place or not isinstance(place, _Fields))
        if not known or (depth < len(parents) and part not in place):
            names = sorted(place) if isinstance(place, dict) else ["nothing below it"]
            choices = ("; " if any("," in name for name in names) else ", ").join(names)
            raise UserError(f"there is no setting {path!r} ({part!r} is unknown); choose from {choices}.")
        if depth < len(parents):
            place = place[part]
    listed = isinstance(place.get(last), list | tuple)
    place[last] = [value] if listed and not isinstance(value, list | tuple | None) else value


def _fields(value: Any) -> Any:
    """All fields of a spec and its nested specs, including defaults."""
    if isinstance(value, Spec):
        fields = _Fields({name: _fields(getattr(value, name)) for name in type(value).model_fields})
        if isinstance(value, Piece) and not isinstance(value, Study):
            fields["name"] = value.name
        return fields
    if isinstance(value, Mapping):
        return {key: _fields(item) for key, item in value.items()}
    return value
