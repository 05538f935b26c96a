"""A fitted estimator as one file of numbers and text, which executes nothing when it is read.

The file is NumPy's npz, not compressed: arrays, and the text ``about``: JSON with the version of the format,
the class, its parameters, the network. The comment of the archive, at its end, is the SHA-256 digest of all
bytes before it. It tells damage, not intent, so everything that is read is checked as if a stranger had
written it.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from whyconv.auditing.architecture import plain, settings_of
from whyconv.auditing.dataset import BadData
from whyconv.errors import UserError
from whyconv.lazy import jax
from whyconv.networks.deep import Deep
from whyconv.paths import given_path
from whyconv.runner.folder import write_whole
from whyconv.spec import build, to_json

FORMAT = "whyconv estimator"
VERSION = 2
DIGEST = 64
"""Hexadecimal digits."""
LARGEST_TEXT = 50_000_000
"""Limit in bytes for the JSON, which holds a column's name for every feature."""
FACTS = ("seed_", "n_iter_", "loss_", "stopped_", "history_")


def save(estimator: Any, path: str | Path) -> None:
    """Write a fitted estimator so that readers see the old file or the new one, never half of one."""
    file = given_path(path)
    arrays = _arrays(estimator)
    settings = estimator.get_params(deep=False)
    if not isinstance(settings["random_state"], int | None):
        settings["random_state"] = estimator.seed_
    about = {
        "format": FORMAT,
        "version": VERSION,
        "class": type(estimator).__name__,
        "settings": {name: plain(value) for name, value in settings.items()},
        "network": estimator.network_,
        "learner": estimator.learner_,
        "shape": list(estimator.shape_),
        "facts": {name: getattr(estimator, name) for name in FACTS},
    }
    if hasattr(estimator, "feature_names_in_"):
        about["features"] = [str(name) for name in estimator.feature_names_in_]
    if hasattr(estimator, "categories_"):
        about["categories"] = [[name, _plain(known)] for name, known in estimator.categories_.items()]
    if hasattr(estimator, "target_mean_"):
        about["target"] = [estimator.target_mean_, estimator.target_scale_]
    else:
        about["texts"] = estimator.classes_.dtype == object
    content = io.BytesIO()
    text = np.frombuffer(to_json(about).encode(), np.uint8)
    np.savez(content, allow_pickle=False, about=text, **arrays)
    try:
        write_whole(file, sealed(content.getvalue()))
    except UserError as error:
        raise BadData(str(error)) from None
    except OSError as error:
        why = error.strerror or error
        raise BadData(f"{file} cannot be written ({why}); give a name in a folder of yours.") from None


def _plain(categories: list[Any] | None) -> list[Any] | None:
    """Categories as JSON has them."""
    if not all(isinstance(each, str | int | float) for each in categories or ()):
        raise BadData("categories that are neither numbers nor texts cannot be saved; use one of these.")
    return categories


def load(path: str | Path, kinds: Mapping[str, Any]) -> Any:
    """The fitted estimator in a file, of one of these ``kinds``."""
    file = given_path(path)
    try:
        about, arrays = _read(file)
        return _rebuilt(about, arrays, kinds)
    except FileNotFoundError:
        raise BadData(f"{file} was given, but there is no such file.") from None
    except Exception as error:  # a foreign file may fail in any way
        why = str(error) if isinstance(error, _Odd) else "it cannot be read"
        raise BadData(
            f"{file} is not an estimator that whyconv saved: {why}; give a file written by save()."
        ) from None


class _Odd(ValueError):
    """What is wrong with a file."""


def _arrays(estimator: Any) -> dict[str, np.ndarray]:
    params = estimator.parameters_
    arrays = {"mean": estimator.mean_, "scale": estimator.scale_, "u": params["u"], "c": params["c"]}
    for letter in "wb":
        arrays |= {f"{letter}{number}": part for number, part in enumerate(params[letter])}
    if hasattr(estimator, "classes_"):
        classes = estimator.classes_
        if classes.dtype == object:
            if not all(isinstance(each, str) for each in classes):
                raise BadData("classes that are neither numbers nor texts cannot be saved; use one of these.")
            classes = classes.astype(str)
        arrays["classes"] = classes
    return arrays


def sealed(archive: bytes) -> bytes:
    """A zip archive without a comment, which ends in the length of that, with a digest for a comment."""
    body = archive[:-2] + DIGEST.to_bytes(2, "little")
    return body + _digest(body)


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def _read(file: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Text and arrays, digest checked. Nothing is unpacked, so no small file becomes a large one."""
    content = file.read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        if any(part.compress_type != zipfile.ZIP_STORED for part in parts.infolist()):
            raise _Odd("it is compressed")
    with np.load(io.BytesIO(content), allow_pickle=False) as held:
        if "about" not in held.files:
            raise _Odd("it holds no description")
        arrays = {name: held[name] for name in held.files}
    text = arrays.pop("about")
    if text.dtype != np.uint8 or text.size > LARGEST_TEXT:
        raise _Odd("its description is no text")
    about = json.loads(text.tobytes())
    if about.get("format") != FORMAT:
        raise _Odd("its description is of something else")
    if about.get("version") != VERSION:
        raise _Odd(f"it has the version {about.get('version')!r}, and this whyconv reads {VERSION}")
    if content[-DIGEST:] != _digest(content[:-DIGEST]):
        raise _Odd("its digest differs, so it was damaged or changed")
    return about, arrays


def _rebuilt(about: Mapping[str, Any], arrays: Mapping[str, np.ndarray], kinds: Mapping[str, Any]) -> Any:
    if about["class"] not in kinds:
        raise _Odd(f"it names the class {about['class']!r}")
    settings = {name: plain(value) for name, value in about["settings"].items()}
    estimator = kinds[about["class"]](**settings)
    shape = tuple(int(length) for length in about["shape"])
    settings_of(about["network"], about["learner"])  # refuses pieces that estimators do not have
    network = build("network", about["network"])
    assert isinstance(network, Deep)
    regression = "target" in about
    outputs = 1 if regression or len(arrays["classes"]) == 2 else len(arrays["classes"])
    if len(shape) != 3 or network.outputs != outputs:
        raise _Odd("its parts do not fit together")
    estimator.parameters_ = _parameters(network, shape, arrays)
    estimator.mean_, estimator.scale_ = (_numbers(arrays[name], shape) for name in ("mean", "scale"))
    estimator.shape_, estimator.network_ = shape, network.canonical()
    estimator.learner_ = build("learner", about["learner"]).canonical()
    facts = about["facts"]
    estimator.seed_, estimator.n_iter_ = int(facts["seed_"]), int(facts["n_iter_"])
    estimator.loss_, estimator.stopped_ = float(facts["loss_"]), str(facts["stopped_"])
    estimator.history_ = [(int(epoch), float(loss)) for epoch, loss in facts["history_"]]
    estimator.n_features_in_ = math.prod(shape)
    if "features" in about:
        estimator.feature_names_in_ = np.array([str(name) for name in about["features"]], object)
        if len(estimator.feature_names_in_) != math.prod(shape):
            raise _Odd("its names of features do not fit its grid")
    if "categories" in about:
        known = {str(name): _plain(each) for name, each in about["categories"]}
        widest = max(len(each) for each in known.values() if each is not None)
        if (len(known), widest) != (math.prod(shape) // shape[2], shape[2]):
            raise _Odd("its categories do not fit its grid")
        estimator.categories_ = known
    if regression:
        estimator.target_mean_, estimator.target_scale_ = map(float, about["target"])
    else:
        classes = arrays["classes"]
        if classes.ndim != 1 or classes.dtype.kind not in "biufU" or len(np.unique(classes)) != len(classes):
            raise _Odd("its classes are no list of numbers or texts")
        estimator.classes_ = classes.astype(object) if about["texts"] else classes
    return estimator


def _parameters(network: Deep, shape: tuple[int, ...], arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The parameters, each of the shape that the network has for this grid."""
    wanted = jax.eval_shape(lambda key: network.init(key, shape), jax.random.key(0))
    params: dict[str, Any] = {name: _numbers(arrays[name], wanted[name].shape) for name in ("u", "c")}
    for letter in "wb":
        params[letter] = [
            _numbers(arrays[f"{letter}{number}"], part.shape) for number, part in enumerate(wanted[letter])
        ]
    if len({part.dtype for part in jax.tree.leaves(params)}) != 1:
        raise _Odd("its parameters have several types")
    return params


def _numbers(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Finite floats of this shape."""
    if array.shape != tuple(shape) or array.dtype not in (np.float32, np.float64):
        raise _Odd("its arrays do not fit its network")
    if not np.isfinite(array).all():
        raise _Odd("its numbers are not all finite")
    return array
