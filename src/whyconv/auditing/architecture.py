"""Parameters of an estimator as a network and a learner, and back.

============================  ==============================================================
``kernel`` = None             ``deep-fcn``: no locality
``sharing`` = "none"          ``deep-lcn``: locality
``sharing`` = "all"           ``deep-cnn``: locality and sharing
``sharing`` = 4               ``deep-partly-shared``: sharing in blocks of 4 x 4 positions
``pooling`` = "max"           blocks of ``pool`` x ``pool`` positions after every layer
``pooling`` = "global max"    all positions of the last layer
``kernel`` = 1, "global max"  the bag: no order at all
============================  ==============================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from whyconv.auditing.grids import Shape
from whyconv.errors import UserError
from whyconv.learners.gradient import Gradient
from whyconv.networks.deep import Deep, DeepCNN, DeepFCN, DeepLCN, DeepPartlyShared
from whyconv.spec import build

CHANNELS = 16
WIDTH = 256
"""Neurons of a layer of the fully connected network, if no number is given."""
BATCH = 32
WHOLE = 300
SMALL = 10_000
"""Every step uses all examples if there are at most ``WHOLE``, of at most ``SMALL`` numbers in all."""
TWO_LAYERS = 16
"""Images of so many rows and columns get two layers, if no number is given."""
POOLINGS = {
    "none": ("none", "positions"),
    "max": ("max", "positions"),
    "average": ("average", "positions"),
    "global max": ("none", "max"),
    "global average": ("none", "average"),
    "max + global max": ("max", "max"),
    "max + global average": ("max", "average"),
    "average + global max": ("average", "max"),
    "average + global average": ("average", "average"),
}
"""Words for ``pooling``: (pooling of blocks, readout)."""


class BadSetting(UserError, ValueError):
    """A parameter of an estimator that is not allowed, in one sentence."""


def network_of(settings: Mapping[str, Any], shape: Shape, outputs: int) -> Deep:
    """The network that an estimator's parameters describe, for inputs on this grid."""
    layers, kernel, sharing = (plain(settings[name]) for name in ("layers", "kernel", "sharing"))
    pooling = settings["pooling"]
    if not isinstance(pooling, str) or pooling not in POOLINGS:
        raise BadSetting(f"pooling = {pooling!r} was given; choose one of {', '.join(POOLINGS)}.")
    sizes = _sizes(plain(settings["channels"]), layers, shape, CHANNELS if kernel is not None else WIDTH)
    if kernel is None:
        if pooling != "none" or sharing not in ("all", "none"):
            raise BadSetting(
                f"kernel = None was given, the fully connected network, with pooling = {pooling!r} and "
                f"sharing = {sharing!r}; it has no windows to share or pool: leave both out."
            )
        return _built("network", {"name": "deep-fcn", "widths": sizes, "outputs": outputs})
    if kernel == "auto":
        kernel = max(3, max(shape[:2]) // 8)
    named = {"all": "deep-cnn", "none": "deep-lcn"}
    if not _whole(sharing) and sharing not in tuple(named):
        raise BadSetting(f"sharing = {sharing!r} was given; give none, all, or the side of a block, as 4.")
    local, readout = POOLINGS[pooling]
    fields = {
        "name": named.get(sharing, "deep-partly-shared"),
        "channels": sizes,
        "kernel": kernel,
        "stride": plain(settings["stride"]),
        "padding": settings["padding"],
        "readout": readout,
        "outputs": outputs,
    }
    if sharing not in named:
        fields["group"] = sharing
    if local != "none":
        fields |= {"pooling": local, "pool": plain(settings["pool"])}
    return _built("network", fields)


def learner_of(settings: Mapping[str, Any], shape: Shape, m: int, loss: str) -> Gradient:
    """The learner that an estimator's parameters describe, for m examples on this grid.

    ``steps`` are rounded up to whole passes through the examples, since the learner counts those.
    """
    steps, epochs = plain(settings["steps"]), plain(settings["epochs"])
    batch = _batch(plain(settings["batch"]), m <= WHOLE and m * math.prod(shape) <= SMALL)
    if epochs is None:
        if not (_whole(steps) and steps >= 1):
            raise BadSetting(f"steps = {steps!r} was given; give a whole number from 1.")
        epochs = -(-steps // passes(batch, m))
    fields = {
        "name": "gradient",
        "optimiser": settings["optimiser"],
        "rate": plain(settings["rate"]),
        "batch": batch,
        "loss": loss,
        "tolerance": plain(settings["tolerance"]),
        "epochs": epochs,
    }
    return _built("learner", fields)


def _batch(batch: Any, small: bool) -> int | None:
    if batch == "auto":
        return None if small else BATCH
    if batch is not None and not (_whole(batch) and batch >= 1):
        raise BadSetting(f"batch = {batch!r} was given; give auto, None (all examples) or a number from 1.")
    return batch


def passes(batch: int | None, m: int) -> int:
    """The steps of one pass through m examples."""
    return -(-m // min(batch or m, m))


def settings_of(network: Any, learner: Any) -> dict[str, Any]:
    """The parameters of the estimator that trains this network by this learner, both as names and fields.

    The inverse of :func:`network_of` and :func:`learner_of`. Outputs and loss follow from the labels.
    """
    network, learner = _built("network", network), _built("learner", learner)
    return {**_settings_of_network(network), **_settings_of_learner(learner)}


def _settings_of_network(network: Any) -> dict[str, Any]:
    sort = type(network)
    if sort is DeepFCN and network.biases and network.parameters is None and not network.coupled:
        return {"kernel": None, "layers": len(network.widths), "channels": network.widths}
    sharing = {DeepCNN: "all", DeepLCN: "none", DeepPartlyShared: getattr(network, "group", None)}
    if sort not in sharing or not network.biases or network.pooling not in ("max", "average"):
        raise BadSetting(
            f"the network {network.canonical()} was given; an estimator has deep-cnn, deep-lcn, "
            "deep-partly-shared or deep-fcn (of given widths), with biases, and pools by max or average."
        )
    local = network.pooling if network.pool > 1 else "none"
    words = {parts: name for name, parts in POOLINGS.items()}
    return {
        "kernel": network.kernel,
        "stride": network.stride,
        "padding": network.padding,
        "layers": len(network.channels),
        "channels": network.channels,
        "sharing": sharing[sort],
        "pooling": words[local, network.readout],
        "pool": max(network.pool, 2),
    }


def _settings_of_learner(learner: Any) -> dict[str, Any]:
    if type(learner) is not Gradient or learner.options or learner.target_error is not None:
        raise BadSetting(
            f"the learner {learner.canonical()} was given; an estimator has gradient, without options of the "
            "optimiser and without a target."
        )
    return {name: getattr(learner, name) for name in ("optimiser", "rate", "batch", "tolerance", "epochs")}


def _built(kind: str, fields: Any) -> Any:
    try:
        return build(kind, fields)
    except UserError as error:
        raise BadSetting(str(error)) from None


def _sizes(channels: Any, layers: Any, shape: Shape, usual: int) -> tuple[int, ...]:
    """The channels (or neurons) of every layer."""
    several = isinstance(channels, list | tuple)
    if layers == "auto":
        layers = len(channels) if several else 2 if min(shape[:2]) >= TWO_LAYERS else 1
    if not _whole(layers) or layers < 1 or (several and len(channels) != layers):
        raise BadSetting(
            f"layers = {layers!r} and channels = {channels!r} were given; give a number of layers from 1, "
            "and one number of channels, or one for every layer."
        )
    sizes = tuple(channels) if several else (usual if channels == "auto" else channels,) * layers
    if not all(_whole(size) and size >= 1 for size in sizes):
        raise BadSetting(f"channels = {channels!r} was given; give auto, a number from 1, or one per layer.")
    return sizes


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def plain(value: Any) -> Any:
    """Numbers and arrays of NumPy, as grids of parameters hold, as numbers and tuples of Python."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return tuple(plain(item) for item in value) if isinstance(value, list | tuple) else value
