"""Plain functions that settings refer to by name: losses, activations, poolings, noise laws.

A decorator adds one, in this package or in a user's file; it is then allowed wherever a setting names a
function of its kind:

    from whyconv.networks.activations import activation

    @activation("softsign")
    def softsign(z):
        "z / (1 + |z|)."
        return z / (1 + abs(z))

Further parameters without a default are settings: ``clipped_relu(z, cap)`` gets the network's ``cap``,
and only networks with that setting can use it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from whyconv import registry
from whyconv.errors import UserError

if TYPE_CHECKING:
    from pydantic import BaseModel

Plain = TypeVar("Plain", bound=Callable[..., Any])


class Named:
    """A function with its kind, name and ``companions``, such as exact formulas for it.

    A function from outside this package is part of the identity of trials that use it: by the digest of the
    user's file, or by the ``version`` that its package sets.
    """

    reference = ""
    origin = ""

    def __init__(self, kind: str, name: str, function: Callable[..., Any], takes: tuple[str, ...]) -> None:
        self.kind, self.name, self.function, self.version = kind, name, function, 1
        self.__doc__, self.__module__ = function.__doc__, function.__module__ or "__main__"
        self.companions: Mapping[str, Any] = {}
        self.settings = self._settings(takes)
        """Names of the settings that it takes."""

    def _settings(self, takes: tuple[str, ...]) -> tuple[str, ...]:
        every = inspect.signature(self.function)
        try:
            bound = every.bind_partial(*takes).arguments
        except TypeError:
            raise UserError(
                f"the {self.kind} {self.name!r} of {self.__module__} takes {every}, but must take "
                f"({', '.join(takes)})."
            ) from None
        return tuple(
            each.name
            for each in every.parameters.values()
            if each.name not in bound
            and each.default is each.empty
            and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        )

    def of(self, piece: Any) -> Callable[..., Any]:
        """The function with the settings of ``piece`` that it takes."""
        given = {name: getattr(piece, name) for name in self.settings}
        return partial(self.function, **given) if given else self.function

    def fits(self, model: type[BaseModel]) -> bool:
        return set(self.settings) <= set(model.model_fields)

    def companion(self, name: str) -> Any:
        """What was given with the function under this name; an error if nothing was."""
        if (found := self.companions.get(name)) is None:
            decorator = self.kind.replace(" ", "_")
            raise UserError(
                f"the {self.kind} {self.name} has no {name}, which is needed here; give it, as in "
                f"@{decorator}({self.name!r}, {name}=...)."
            )
        return found

    @property
    def ours(self) -> bool:
        """Whether the versions of this package's pieces cover it."""
        return not self.origin and self.__module__.startswith("whyconv.")

    def fingerprint(self) -> str:
        """As for pieces: the version, and the digest of a user's file."""
        return f"{self.version}+{self.origin}" if self.origin else str(self.version)

    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.__doc__ or "").strip().splitlines()[0]


def adding(
    kind: str,
    name: str,
    *takes: str,
    version: int,
    settings: bool = True,
    companions: Mapping[str, Any] = MappingProxyType({}),
) -> Callable[[Plain], Plain]:
    """A decorator that registers a function of the parameters ``takes`` and returns it unchanged.

    Without ``settings``, further parameters need defaults.
    """

    def add(function: Plain) -> Plain:
        named = Named(kind, name, function, takes)
        if named.settings and not settings:
            raise UserError(
                f"the {kind} {name!r} of {named.__module__} takes {', '.join(named.settings)} besides "
                f"{' and '.join(takes)}; give a default."
            )
        named.version, named.companions = version, companions
        registry.add(named)
        return function

    return add


@dataclass(frozen=True)
class Choice:
    """Marks a setting, ``Annotated[str, Choice("loss")]``, as the name of a function of that kind."""

    kind: str

    def names(self, model: type[BaseModel]) -> list[str]:
        """The functions that this setting of the model may name."""
        return [each.name for each in registry.pieces(self.kind) if each.fits(model)]

    def find(self, name: str, model: type[BaseModel], setting: str) -> Named:
        """The function of that name; an error if there is none, or the model lacks its settings."""
        known = registry.known(self.kind, name)
        if known is not None and known.fits(model):
            return known
        why = f"there is no {self.kind} of that name"
        if known is not None:
            why = f"that {self.kind} takes {', '.join(known.settings)}, which is not a setting here"
        allowed = ", ".join(self.names(model))
        raise ValueError(f"{setting} = {name!r} was given, but {why}; choose one of {allowed}")


@cache
def choices(model: type[BaseModel]) -> dict[str, Choice]:
    """The settings of a model that name functions."""
    return {
        name: each
        for name, field in model.model_fields.items()
        for each in field.metadata
        if isinstance(each, Choice)
    }
