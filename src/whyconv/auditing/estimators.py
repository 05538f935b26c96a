"""``ConvClassifier`` and ``ConvRegressor``: the networks of an audit behind scikit-learn's interface.

Imported at first use of one of them, since scikit-learn takes a second.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_regressor
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from whyconv.auditing import saving
from whyconv.auditing.architecture import BadSetting, learner_of, network_of, settings_of
from whyconv.auditing.categories import columns_of, placed
from whyconv.auditing.dataset import BadData
from whyconv.auditing.features import unequal
from whyconv.auditing.fitting import Examples, Progress, scores, train
from whyconv.auditing.grids import Shape, grid_of, same_grid
from whyconv.auditing.scaling import Scaling, scaling
from whyconv.spec import build

PRECISIONS = ("auto", "float32", "float64")
SAID_EVERY = 2.0
"""Seconds between lines of ``verbose``."""


class _Conv(BaseEstimator):
    """What classifier and regressor share. Parameters and attributes are documented in docs/estimators.md."""

    def __init__(
        self,
        *,
        grid: Any = "auto",
        channels_first: bool = False,
        kernel: Any = "auto",
        sharing: Any = "all",
        pooling: str = "none",
        pool: int = 2,
        layers: Any = "auto",
        channels: Any = "auto",
        stride: Any = 1,
        padding: str = "valid",
        rate: float = 3e-3,
        steps: int = 1000,
        epochs: int | None = None,
        batch: Any = "auto",
        tolerance: float = 1e-3,
        optimiser: str = "adam",
        scale: str = "auto",
        precision: str = "auto",
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.grid = grid
        self.channels_first = channels_first
        self.kernel = kernel
        self.sharing = sharing
        self.pooling = pooling
        self.pool = pool
        self.layers = layers
        self.channels = channels
        self.stride = stride
        self.padding = padding
        self.rate = rate
        self.steps = steps
        self.epochs = epochs
        self.batch = batch
        self.tolerance = tolerance
        self.optimiser = optimiser
        self.scale = scale
        self.precision = precision
        self.random_state = random_state
        self.verbose = verbose

    def _targets(self, y: Any, weights: Any) -> tuple[Any, int, str]:
        """Targets as the loss reads them, the number of outputs, and the loss; sets what predicting needs."""
        raise NotImplementedError

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        callback: Callable[[Progress], None] | None = None,
    ) -> Self:
        """Train from the start.

        ``X``: (examples, features), or already on its grid, (examples, rows, columns, channels) or
        (examples, length, channels); with ``channels_first`` channels come before the other axes. Categories
        of a frame are channels of a table.
        ``sample_weight``: how often each example counts; one of weight 0 is
        left out. ``callback`` is called about once a second with the step, the loss and the time left.
        """
        if hasattr(self, "categories_"):
            del self.categories_
        if (columns := columns_of(X)) is not None:
            self.categories_ = columns
        flat, axes = self._flat(X)
        flat, y = validate_data(self, flat, y, dtype=(np.float64, np.float32), y_numeric=self._numeric)
        grid = "table" if columns is not None and self.grid == "auto" else self.grid
        shape = grid_of(grid, axes or flat.shape[1:])
        weights = _check_sample_weight(sample_weight, flat, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise BadData("sample_weight is zero everywhere; give at least one example a weight above zero.")
        if not weights.all():
            flat, y, weights = flat[weights > 0], y[weights > 0], weights[weights > 0]
        targets, outputs, loss = self._targets(y, weights)
        settings, m = self.get_params(deep=False), len(flat)
        network, learner = network_of(settings, shape, outputs), learner_of(settings, shape, m, loss)
        x = self._placed(flat, axes, shape)
        scaled = scaling(x, weights, self.scale)
        examples = Examples(x, scaled, targets, weights * (m / weights.sum()))
        precision = self._precision(learner.batch is None)
        seed = self._seed()
        fit = train(network, learner, examples, seed, precision, self._watch(callback))
        if fit.facts["stopped"] == "diverged":
            raise BadSetting(f"training diverged with rate = {self.rate!r}; take a smaller one.")
        self.shape_: Shape = shape
        self.network_: dict[str, Any] = network.canonical()
        self.learner_: dict[str, Any] = learner.canonical()
        self.parameters_: dict[str, Any] = fit.params
        self.mean_, self.scale_ = scaled
        self.seed_ = seed
        self.n_iter_ = int(fit.facts["steps"])
        self.loss_ = float(fit.facts["train_loss"])
        self.stopped_ = str(fit.facts["stopped"])
        self.history_ = [(2**i, loss) for i, loss in enumerate(fit.trace["loss_at_epochs_2^i"])]
        return self

    _numeric = False

    def _scores(self, X: Any) -> Any:
        check_is_fitted(self)
        flat, axes = self._flat(X)
        flat = validate_data(self, flat, dtype=(np.float64, np.float32), reset=False)
        if axes is not None and not same_grid(self.shape_, axes):
            given, wanted = ("x".join(map(str, sizes)) for sizes in (axes, self.shape_))
            raise BadData(f"examples of {given} were given to an estimator that was fitted on {wanted}.")
        network = build("network", self.network_)
        x = self._placed(flat, axes, self.shape_)
        return scores(network, self.parameters_, x, Scaling(self.mean_, self.scale_))

    def _flat(self, X: Any) -> tuple[Any, tuple[int, ...] | None]:
        """(examples, features), and the axes of an example, channels last, if there are several."""
        if not isinstance(self.channels_first, bool | np.bool_):
            raise BadSetting(f"channels_first = {self.channels_first!r} was given; give True or False.")
        if hasattr(self, "categories_"):
            values = placed(X, self.categories_)
            return values.reshape(len(values), -1), values.shape[1:]
        if unequal(X):
            raise BadData(
                "the examples of X have different lengths; pad or cut all to one, as an audit does."
            )
        if not hasattr(X, "shape") and hasattr(X, "__array__"):
            X = np.asarray(X)
        axes = getattr(X, "shape", None)
        if axes is None and isinstance(X, list | tuple) and X and isinstance(X[0], list | tuple | np.ndarray):
            first = np.asarray(X[0])
            axes = (len(X), *first.shape) if first.ndim > 1 else None
        if axes is None or len(axes) <= 2:
            return X, None
        array = np.moveaxis(np.asarray(X), 1, -1) if self.channels_first else np.asarray(X)
        return array.reshape(len(array), -1), array.shape[1:]

    def _placed(self, flat: Any, axes: tuple[int, ...] | None, shape: Shape) -> Any:
        """(examples, rows, columns, channels) from flat features, which may be in the user's own order."""
        if self.channels_first and axes is None:
            rows, columns, depth = shape
            return np.moveaxis(flat.reshape(len(flat), depth, rows, columns), 1, -1)
        return flat.reshape(len(flat), *shape)

    def _precision(self, whole: bool) -> str:
        if self.precision not in PRECISIONS:
            raise BadSetting(
                f"precision = {self.precision!r} was given; choose one of {', '.join(PRECISIONS)}."
            )
        return ("float64" if whole else "float32") if self.precision == "auto" else self.precision

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer) and 0 <= self.random_state < 2**31:
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _watch(self, callback: Callable[[Progress], None] | None) -> Callable[[Progress], None]:
        said = time.monotonic()

        def watch(progress: Progress) -> None:
            nonlocal said
            if callback is not None:
                callback(progress)
            over = progress.left == 0
            if self.verbose and (over or time.monotonic() - said > SAID_EVERY):
                said = time.monotonic()
                print(f"{type(self).__name__}: {progress}", file=sys.stderr, flush=True)

        return watch

    def save(self, path: str | Path) -> None:
        """Write the fitted estimator to one file of numbers and text, for :func:`whyconv.load_estimator`."""
        check_is_fitted(self)
        saving.save(self, path)


class ConvClassifier(ClassifierMixin, _Conv):
    """A classifier whose locality, weight sharing and pooling are parameters.

    All are keywords, and every default suits small data on a grid; docs/estimators.md explains each.

    - ``grid``: "auto", "series", "table", (rows, columns, channels) or "28x28x1"; ``channels_first``: whether
      channels come before rows and columns in X.
    - ``kernel``: the side of a window, or (rows, columns); None: the fully connected network.
    - ``sharing``: "all" (CNN), "none" (LCN), or the side of blocks of positions that share filters.
    - ``pooling``: "none", "max", "average", "global max", "global average", or "max + global max" and its
      like; ``pool``: the side of its blocks.
    - ``layers``, ``channels``: "auto", or numbers; ``stride``, ``padding``: as in ``deep-cnn``.
    - ``rate``, ``steps`` (or ``epochs``), ``batch``, ``tolerance``, ``optimiser``: training.
    - ``scale``: "auto", "feature", "channel" or "none"; ``precision``: "auto", "float32" or "float64".
    - ``random_state``: a whole number (the default 0: the same every time), None or a generator.
    - ``verbose``: 1 prints steps, loss and time left to standard error.

    Fitted: ``classes_``, ``n_features_in_``, ``feature_names_in_``, ``n_iter_`` (steps), ``loss_``,
    ``stopped_`` ("loss" or "cap"), ``history_`` (pairs of pass and mean loss), ``shape_``, ``network_``,
    ``learner_``, ``parameters_``, ``mean_``, ``scale_``, ``seed_``; ``categories_`` of a frame that has some.
    """

    def _targets(self, y: Any, weights: Any) -> tuple[Any, int, str]:
        """Two classes: -1 and 1, one output, logistic loss; more: class numbers, cross-entropy."""
        del weights
        check_classification_targets(y)
        classes, numbers = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise BadData(
                f"every example is of the one class {classes[0]!r}; a classifier needs at least two classes."
            )
        self.classes_ = classes
        if len(classes) == 2:
            return 2.0 * numbers - 1, 1, "logistic"
        return numbers, len(classes), "cross-entropy"

    def predict_proba(self, X: Any) -> Any:
        """(examples, classes) in the order of ``classes_``: sigmoid of the score, softmax of several."""
        found = self._scores(X)
        if found.ndim == 1:
            found = np.stack([np.zeros_like(found), found], axis=1)
        powers = np.exp(found - found.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Any:
        """The most probable class."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]


class ConvRegressor(RegressorMixin, _Conv):
    """A regressor whose locality, weight sharing and pooling are parameters.

    Parameters and attributes are those of :class:`ConvClassifier`, without ``classes_``. For training,
    targets are centred and scaled to variance 1 (``target_mean_``, ``target_scale_``), so ``tolerance`` and
    ``loss_`` are shares of their variance.
    """

    _numeric = True

    def _targets(self, y: Any, weights: Any) -> tuple[Any, int, str]:
        y = np.asarray(y, np.float64)
        found = scaling(y.reshape(-1, 1, 1, 1), weights, "feature")
        self.target_mean_, self.target_scale_ = float(found.mean.item()), float(found.scale.item())
        return (y - self.target_mean_) / self.target_scale_, 1, "squared"

    def predict(self, X: Any) -> Any:
        """The target, in its own unit."""
        return self._scores(X) * self.target_scale_ + self.target_mean_


def load_estimator(path: str | Path) -> _Conv:
    """The fitted estimator that its method ``save`` wrote to this file; nothing in the file is executed."""
    return saving.load(path, {kind.__name__: kind for kind in (ConvClassifier, ConvRegressor)})


def for_arm(
    network: Any, learner: Any, grid: Any = "auto", *, regression: bool = False, **more: Any
) -> _Conv:
    """The unfitted estimator of an audit's arm: its network and learner, as names with fields.

    ``more`` are further parameters, such as ``random_state``; ``steps`` takes the place of the learner's
    epochs. :func:`pieces_of` is the inverse.
    """
    settings = {**settings_of(network, learner), "grid": grid, **more}
    if "steps" in more:
        settings["epochs"] = None
    return (ConvRegressor if regression else ConvClassifier)(**settings)


def pieces_of(estimator: _Conv, shape: Shape, m: int, outputs: int = 1) -> tuple[dict, dict]:
    """The network and the learner with which an estimator is trained on m examples on this grid."""
    loss = "cross-entropy" if outputs > 1 else "squared" if is_regressor(estimator) else "logistic"
    settings = estimator.get_params(deep=False)
    return network_of(settings, shape, outputs).canonical(), learner_of(settings, shape, m, loss).canonical()
