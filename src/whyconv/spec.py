"""Typed specifications, their canonical form, and the pieces that are named by them.

A *spec* is a frozen pydantic model. Its canonical form is a plain dictionary from which every
field that equals its default is left out, so that adding a field with a default leaves the
identity of old trials alone. A *piece* is a spec that has a kind (task, network, learner,
study, claim), a name and a version, and is found by that name: see :mod:`whyconv.registry`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticUndefined

from whyconv import registry
from whyconv.errors import UserError

Function = TypeVar("Function", bound=Callable[..., Any])


class Spec(BaseModel):
    """A frozen, closed set of named values; unknown names and values out of range are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True)

    def canonical(self) -> dict[str, Any]:
        """The JSON-ready form without the fields that equal their defaults."""
        fields = type(self).model_fields
        return {
            name: plain(getattr(self, name))
            for name, field in fields.items()
            if getattr(self, name) != _default(field)
        }

    def __hash__(self) -> int:
        """Equal specs hash alike, also where a field is a dictionary."""
        return hash(to_json(self.canonical()))


class Piece(Spec):
    """A spec that users name: ``class Detection(Task, name="detection")`` is all it takes.

    ``version`` is raised by hand whenever the same spec would give another row (golden-row tests
    notice when someone forgets); it is part of a trial's identity. A piece that came from a
    user's own file also carries that file's digest, so an edited file never meets old rows.
    """

    kind: ClassVar[str]
    name: ClassVar[str] = ""
    version: ClassVar[int] = 1
    reference: ClassVar[str] = ""
    origin: ClassVar[str] = ""
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
        """The canonical form of the fields, led by the piece's name."""
        return {"name": self.name, **super().canonical()}

    @classmethod
    def fingerprint(cls) -> str:
        """The version, and for a piece from a user's own file that file's digest."""
        return f"{cls.version}+{cls.origin}" if cls.origin else str(cls.version)

    @classmethod
    def summary(cls) -> str:
        """The first line of the docstring."""
        return (cls.__doc__ or "").strip().splitlines()[0]


def once(function: Function) -> Function:
    """``functools.cache`` for functions of specs; unlike it, keeps the signature for type checkers."""
    return cast(Function, cache(function))


def digest(value: object) -> str:
    """SHA-256 of the compact, key-sorted JSON text of ``value``."""
    return hashlib.sha256(to_json(value).encode()).hexdigest()


def to_json(value: object) -> str:
    """Compact JSON with sorted keys: equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def build(kind: str, value: Any) -> Any:
    """A piece from its name, or from ``{"name": ..., field: ...}``; a piece is passed through."""
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
    """``model(**values)``, with pydantic's complaints turned into one sentence.

    Pydantic takes True for 1, "7" for 7 and 1 for True, which is more often a slip than a wish; so what it
    made of the values is compared with them. (Its strict mode also refuses a list for a tuple.)
    """
    try:
        made = model(**values)
    except ValidationError as error:
        raise UserError(f"{what}: {sentence(error, model)}") from None
    for name, given in values.items():
        if (slip := _slip(given, getattr(made, name, None), name)) is not None:
            raise UserError(f"{what}: {slip}")
    return made


def _slip(given: Any, made: Any, path: str) -> str | None:
    """A sentence on the first value in ``given`` that became one of another kind in ``made``."""
    if isinstance(made, Spec | Mapping):
        parts = given.items() if isinstance(given, Mapping) else ()
        inner = vars(made) if isinstance(made, Spec) else made
        pairs = [(value, inner.get(key), f"{path}.{key}") for key, value in parts]
    elif isinstance(made, list | tuple) and isinstance(given, list | tuple) and len(made) == len(given):
        pairs = [(value, inner, path) for value, inner in zip(given, made, strict=True)]
    else:
        switch = isinstance(made, bool)
        other = isinstance(given, str) or (
            isinstance(given, int | float) and isinstance(given, bool) != switch
        )
        kind = "true or false" if switch else "a whole number" if isinstance(made, int) else "a number"
        shown = to_json(given) if isinstance(given, bool) else repr(given)
        told = f"{path} = {shown} was given: input should be {kind}."
        return told if other and isinstance(made, int | float) else None
    return next(filter(None, (_slip(*pair) for pair in pairs)), None)


def sentence(error: ValidationError, model: type[Spec]) -> str:
    """The first complaint of a pydantic error as: what was given, what is allowed, what to do."""
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


def _default(field: Any) -> Any:
    value = field.get_default(call_default_factory=True)
    return value if value is not PydanticUndefined else _Absent


class _Absent:
    """Equal to nothing, so that a required field is always part of the canonical form."""


def plain(value: Any) -> Any:
    """A field's value as JSON has it; specs in their canonical form."""
    if isinstance(value, Spec):
        return value.canonical()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
