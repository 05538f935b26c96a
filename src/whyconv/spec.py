"""Typed specifications, their canonical form, and named pieces.

A *spec* is a frozen pydantic model. Its canonical form is a plain dictionary without the fields that
equal their defaults, so that adding a field with a default does not change the identity of old trials.
A *piece* is a spec with a kind (task, network, learner, study, claim), a name by which it is found (see
:mod:`whyconv.registry`), and a version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import NoneType
from typing import Any, ClassVar, Literal, Self, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import PydanticUndefined

from whyconv import registry
from whyconv.errors import UserError
from whyconv.functions import Named, choices

Function = TypeVar("Function", bound=Callable[..., Any])


class Spec(BaseModel):
    """A frozen, closed set of named values; unknown names and values out of range are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True)

    @model_validator(mode="before")
    @classmethod
    def _of_their_kind(cls, values: Any) -> Any:
        """Refuse true for 1, "7" for 7 and 1 for true, which pydantic accepts but are usually mistakes.

        (Its strict mode would do that, too, but also refuse a list for a tuple.)
        """
        for name, kinds in _plain_fields(cls).items() if isinstance(values, Mapping) else ():
            if why := _misread(given := values.get(name), kinds):
                text = json.dumps(given, default=str, separators=(",", ":"))
                raise ValueError(f"{name} = {text:.80} was given, but {why}")
        return values

    @model_validator(mode="after")
    def _known_functions(self) -> Self:
        self._own_functions()  # those of specs among its values were found when these were made
        return self

    def functions(self) -> list[Named]:
        """The functions that its settings name, and those of specs among them; unknown names are refused."""
        inner = (spec for name in _may_hold_specs(type(self)) for spec in _specs(getattr(self, name)))
        return self._own_functions() + [each for spec in inner for each in spec.functions()]

    def _own_functions(self) -> list[Named]:
        model = type(self)
        return [choice.find(getattr(self, name), model, name) for name, choice in choices(model).items()]

    def function(self, setting: str) -> Callable[..., Any]:
        """The function that a setting names, with the settings that it takes."""
        model = type(self)
        return choices(model)[setting].find(getattr(self, setting), model, setting).of(self)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values; what was computed from the old ones is forgotten, unless it is given."""
        copied, given = super().model_copy(update=update, deep=deep), update or {}
        for name in vars(copied).keys() - type(self).model_fields.keys() - given.keys():
            del vars(copied)[name]
        return copied

    def canonical(self) -> dict[str, Any]:
        """The fields as JSON values, without those that equal their defaults."""
        values = {name: (getattr(self, name), default) for name, default in _defaults(type(self)).items()}
        return {name: plain(value) for name, (value, default) in values.items() if value != default}

    def __hash__(self) -> int:
        """Equal specs have equal hashes, also if a field is a dictionary."""
        return hash(to_json(self.canonical()))


class Piece(Spec):
    """A spec that users refer to by name; ``class Detection(Task, name="detection")`` registers one.

    ``version``, part of a trial's identity, is raised by hand whenever the same spec would give another
    row (golden-row tests notice when someone forgets). A piece from a user's own file also carries that
    file's digest, so rows of an edited file are never reused.
    """

    kind: ClassVar[str]
    name: ClassVar[str] = ""
    version: ClassVar[int] = 1
    reference: ClassVar[str] = ""
    origin: ClassVar[str] = ""
    listed: ClassVar[bool] = True
    """Whether users choose it by name; a piece that only we build, with data of a user, is not listed."""
    required: ClassVar[tuple[str, ...]] = ()
    """Class variables a named piece of this kind must have."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__()

    @classmethod
    def __pydantic_init_subclass__(cls, name: str = "", **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.name = name
        if name:
            registry.add(cls)

    def canonical(self) -> dict[str, Any]:
        """The piece's name and the canonical form of its fields."""
        return {"name": self.name, **super().canonical()}

    @classmethod
    def fingerprint(cls) -> str:
        """The version and, for a piece from a user's own file, that file's digest."""
        return f"{cls.version}+{cls.origin}" if cls.origin else str(cls.version)

    @classmethod
    def summary(cls) -> str:
        """The first line of the docstring."""
        return (cls.__doc__ or "").strip().splitlines()[0]


@cache
def _plain_fields(model: type[Spec]) -> dict[str, set[Any]]:
    """The types of the fields that hold only numbers, texts and booleans, also in lists and dictionaries."""
    kinds = {name: _kinds(field.annotation) for name, field in model.model_fields.items()}
    return {name: found for name, found in kinds.items() if found <= {bool, float, str, NoneType}}


@cache
def _may_hold_specs(model: type[Spec]) -> list[str]:
    return [name for name in model.model_fields if name not in _plain_fields(model)]


def _kinds(annotation: Any) -> set[Any]:
    """The types in an annotation; int counts as float."""
    parts = get_args(annotation)
    if get_origin(annotation) is dict:
        parts = parts[1:]
    if get_origin(annotation) is Literal:
        return {float if type(part) is int else type(part) for part in parts}
    if not parts or annotation is Any:
        return {float if annotation is int else annotation}
    return {kind for part in parts if part is not ... for kind in _kinds(part)}


def _misread(given: Any, kinds: set[Any]) -> str:
    """Why a value that pydantic would accept is not of these kinds; empty if it is."""
    if isinstance(given, Mapping | list | tuple):
        items = given.values() if isinstance(given, Mapping) else given
        return next(filter(None, (_misread(item, kinds) for item in items)), "")
    if isinstance(given, bool):
        wrong = float in kinds and bool not in kinds
        return "true and false are not numbers; give a number" if wrong else ""
    if isinstance(given, str) and str not in kinds and float in kinds:
        return "a text is not a number; give a number"
    if isinstance(given, str | int | float) and kinds <= {bool, NoneType}:
        return "only true and false are allowed; give one of them"
    return ""


def once(function: Function) -> Function:
    """``functools.cache`` for functions of specs that keeps the signature for type checkers."""
    cached = cache(function)
    registry.replaced.append(cached.cache_clear)
    return cast(Function, cached)


def digest(value: object) -> str:
    """SHA-256 of the compact, key-sorted JSON text of ``value``."""
    return hashlib.sha256(to_json(value).encode()).hexdigest()


def to_json(value: object) -> str:
    """Compact JSON with sorted keys: equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def encodable(text: str) -> str:
    """The text with a question mark for each lone surrogate, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


def build(kind: str, value: Any) -> Any:
    """A piece from its name or ``{"name": ..., field: ...}``; a piece is returned unchanged."""
    if isinstance(value, Piece):
        if value.kind != kind:
            raise ValueError(f"{value.name} is a {value.kind}, not a {kind}")
        return value
    if isinstance(value, str):
        value = {"name": value}
    if not isinstance(value, Mapping) or "name" not in value:
        raise ValueError(f"a {kind} is given by its name or as {{'name': ...}}")
    fields = {key: item for key, item in value.items() if key != "name"}
    piece = registry.find(kind, str(value["name"]))
    return checked(piece, fields, f"{kind} {piece.name}")


def checked(model: type[Spec], values: Mapping[str, Any], what: str) -> Any:
    """``model(**values)``, with pydantic's errors turned into one sentence."""
    try:
        return model(**values)
    except ValidationError as error:
        raise UserError(f"{what}: {sentence(error, model)}") from None


def sentence(error: ValidationError, model: type[Spec]) -> str:
    """The first of pydantic's errors as: what was given, what is allowed, what to do."""
    first = error.errors(include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        allowed = ", ".join(sorted(model.model_fields))
        return f"there is no setting {path!r}; choose one of {allowed}."
    message = first["msg"].removeprefix("Value error, ")
    given = repr(first["input"])
    where = f"{path} = {given} was given: " if path and len(given) <= 80 else f"{path}: " if path else ""
    if message[1:2].islower():
        message = message[0].lower() + message[1:]
    return f"{where}{message}{'' if message.endswith('.') else '.'}"


def _specs(value: Any) -> Iterator[Spec]:
    """The specs that a field's value is or holds."""
    if isinstance(value, Spec):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _specs(item)


@cache
def _defaults(model: type[Spec]) -> dict[str, Any]:
    """The default of every field; a required one has a value that equals nothing."""
    found = {name: field.get_default(call_default_factory=True) for name, field in model.model_fields.items()}
    return {name: _Absent if value is PydanticUndefined else value for name, value in found.items()}


class _Absent:
    """Equal to nothing, so that a required field is always part of the canonical form."""


def plain(value: Any) -> Any:
    """A field's value as JSON; specs in their canonical form."""
    if isinstance(value, Spec):
        return value.canonical()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
