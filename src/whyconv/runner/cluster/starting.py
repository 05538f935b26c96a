"""Starts the cluster that a YAML file describes, or shows what would be submitted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from whyconv.errors import UserError, said
from whyconv.runner.cluster.addresses import ClusterFile
from whyconv.runner.cluster.recipes import Recipe
from whyconv.spec import checked

if TYPE_CHECKING:
    from distributed import Client

DEPTH = 3
"""Levels of lists and fields."""


def read(file: ClusterFile) -> Recipe:
    """The recipe in a file; everything that is not allowed is refused in a sentence."""
    import yaml

    kinds = ", ".join(sorted(Recipe.kinds))
    try:
        _require_plain(file)
        root = yaml.compose(file.text, yaml.SafeLoader)
        fields = [str(key.value) for key, _ in root.value] if isinstance(root, yaml.MappingNode) else []
        if twice := sorted({name for name in fields if fields.count(name) > 1}):
            raise UserError(f"{file.path} has {', '.join(twice)} more than once; keep one of each.")
        found = yaml.safe_load(file.text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UserError(
            f"{file.path} is not YAML ({_short(error)}); write kind: and its fields, one a line."
        ) from None
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found) or "kind" not in found:
        raise UserError(f"{file.path} names no kind of cluster; begin it with kind: and one of {kinds}.")
    kind = found.pop("kind")
    if not isinstance(kind, str) or kind not in Recipe.kinds:
        raise UserError(f"{file.path} has the kind {kind!r:.60}, which is not known; choose one of {kinds}.")
    recipe = Recipe.kinds[kind]
    required = [name for name, about in recipe.model_fields.items() if about.is_required()]
    if missing := [name for name in required if name not in found]:
        raise UserError(f"{file.path} lacks {', '.join(missing)}, which the kind {kind} needs; add them.")
    return checked(recipe, found, str(file.path))


def _require_plain(file: ClusterFile) -> None:
    """Refuse aliases and deep nesting, which take the parser minutes and no cluster file needs."""
    import yaml

    depth = 0
    for event in yaml.parse(file.text):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > DEPTH:
            raise UserError(
                f"{file.path} has aliases (*name) or lists in lists in lists, which no kind of cluster has; "
                "write kind: and its fields, one a line."
            )


def started(file: ClusterFile) -> tuple[Client, Callable[[], None], float, str]:
    """A client of the new cluster, what ends both, how long to wait for workers, and its name."""
    from distributed import Client

    recipe, cluster = read(file), None
    try:
        cluster = recipe.start()
        client = Client(cluster, set_as_default=False, name="whyconv")
    except UserError:
        raise
    except Exception as error:
        if cluster is not None:
            _closed(cluster)
        raise UserError(
            f"the cluster of {file.path} could not be started ({_short(error)}); see what --dry-run shows."
        ) from None

    def stop() -> None:
        with suppress(Exception):
            client.close()
        _closed(cluster)

    return client, stop, 60 * recipe.wait, f"the {recipe.kind} cluster of {file.path}"


def _closed(cluster: Any) -> None:
    with suppress(Exception):
        cluster.close()


def _short(error: BaseException) -> str:
    return " ".join(said(error).split())[:300]
