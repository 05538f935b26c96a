"""Exact embeddings: every CNN as an LCN, and every LCN as an FCN, with equal outputs.

CNN -> LCN copies the shared filters to every window; LCN -> FCN makes each filter of a window a neuron with
zero weights outside the window. They show that the priors only remove parameters, and they serve as oracles:
three programs, one function.
"""

from __future__ import annotations

from typing import Any

from whyconv.lazy import jnp, np
from whyconv.networks.threshold import Threshold
from whyconv.networks.window import CNN, FCN, LCN, Windowed

Params = dict[str, Any]


def as_lcn(network: CNN, params: Params, shape: tuple[int, ...]) -> tuple[LCN, Params]:
    """A CNN or partly shared network as an LCN; ``shape`` is the shape of an input."""
    group = network.group_of(network.windows(shape))
    names = ("filters", "activation", "cap", "frozen", "k_window", "stride")
    lcn = LCN(**{name: getattr(network, name) for name in names})
    return lcn, {"w": params["w"][group], "b": params["b"][group], "u": params["u"]}


def as_fcn(network: Windowed, params: Params, shape: tuple[int, ...]) -> tuple[FCN, Params]:
    """Any network over windows as a fully connected one with ``windows * filters`` neurons."""
    places, group = network.places(shape), network.group_of(network.windows(shape))
    windows, q = params["u"].shape
    (n,) = shape
    w = jnp.zeros((windows, n, q), params["w"].dtype)
    w = w.at[np.arange(windows)[:, None], places].set(params["w"][group])
    fcn = FCN(filters=windows * q, activation=network.activation, cap=network.cap, frozen=network.frozen)
    return fcn, {
        "w": jnp.moveaxis(w, 0, 1).reshape(1, n, windows * q),
        "b": params["b"][group].reshape(1, -1),
        "u": params["u"].reshape(1, -1),
    }


def threshold_fcn(network: Threshold, params: Params, shape: tuple[int, ...]) -> Params:
    """The parameters of an ``lsa-fcn`` that equals a sum of soft thresholds over patches."""
    view = network.view(params, shape)
    if view is None:
        raise ValueError(f"{network.name} with these settings is not a sum of soft thresholds over patches")
    return {"w": jnp.asarray(view.filters[None], params["w"].dtype), "b": params["b"]}
