"""The base class of all methods: scikit-learn's contract, and the settings of a model."""

from __future__ import annotations

import inspect
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence, Set
from copy import copy
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from llpgan.bags import fit_warnings
from llpgan.bags.bags import Bags, count_shared_bags, fingerprint_bags, refuse_other_than_bags
from llpgan.bags.checks import (
    check_finite,
    check_instances,
    check_same_length,
    check_weights,
    match_columns,
    match_labels,
    refuse_shares_without_groups,
)
from llpgan.bags.on_disk import StoredInstances
from llpgan.utils.arrays import (
    Array,
    check_argument,
    check_numbers,
    choose_classes,
    is_frame,
    keep_freed_memory,
    refuse_masked,
)
from llpgan.utils.messages import fill_docstring, warn_once, warn_user
from llpgan.utils.workers import refuse_processes

if TYPE_CHECKING:
    from llpgan.evaluation.sets import PredictionSets
    from llpgan.tables import Encoder


_TRAIN_AGAIN = "look at the row, and if other rows fail too, train the model again"
_LOOKED_AT = 256  # images, to see the range of their values
_OTHER_RANGE = 100  # times larger or smaller: bytes, where the training had values from 0 to 1
_BAGS_OF_ONE = (
    "labels without groups make every row a separate bag, so this is supervised learning from every label. To "
    "learn from bags, pass groups (the bag of each row); in cross_val_score and GridSearchCV they arrive after "
    "sklearn.set_config(enable_metadata_routing=True), as params={'groups': ...} or fit(..., groups=...). "
    "groups=np.arange(len(y)) asks for supervised learning, without this warning."
)


class LLPClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of all estimators: a classifier of instances that learns from bags.

    ``fit(X, y, groups)`` follows scikit-learn. ``fit_bags`` takes :class:`~llpgan.bags.Bags`. A method implements
    ``fit_bags`` and ``_probabilities``.

    ``predict``, ``predict_proba`` and ``score`` take rows in the form in which users have them. If the model
    learned from a table, they encode new rows in the same way as that table. They also take
    :class:`~llpgan.bags.Bags` with the same encoding. Pass instances that are already encoded, such as
    ``bags.instances``, to ``predict_encoded``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of the columns of ``predict_proba``.
    n_features_in_ : int
        The number of columns of the instances, or of channels if they are images.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        The names of the columns. Defined only if the training data have column names and no ``encoder_``.
    encoder_ : Encoder or None
        The encoder that turns rows of a user's table into instances. None if the model did not learn from a table.
    instance_shape_ : tuple of int
        The shape of one instance.
    instance_type_ : str
        The data type of the training instances, such as ``"<f4"``.
    training_bags_ : ndarray of int
        Fingerprints of the training bags, by which they are refused where held-out bags are needed.
    sets_ : PredictionSets
        The thresholds of prediction sets. Defined only after :meth:`conformalize`.
    calibrator_ : Calibrator
        The correction of probabilities. Defined only after :meth:`recalibrate`.
    largest_pixel_ : float or None
        About the largest absolute value of the training images. None if the instances are not images.

    See Also
    --------
    llpgan.Bags : The instances, their bags and the proportions that every method learns from.
    """

    classes_: Array
    n_features_in_: int
    encoder_: Encoder | None
    weight_column_: str | None = None  # set by llpgan fit, so that other commands count rows in the same way
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    takes_weights: ClassVar[bool] = False  # whether rows may have weights
    takes_bag_weights: ClassVar[bool] = False  # whether some bags may count more than others
    trains_together: ClassVar[bool] = False  # whether a network divides its steps among several processes
    takes_partial: ClassVar[bool] = False  # whether less may be known of bags than a full vector of shares

    # Where scikit-learn routes metadata, `groups` goes to fit and score without being asked for.
    __metadata_request__fit: ClassVar = {"groups": True}
    __metadata_request__score: ClassVar = {"groups": True}

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.__doc__ = fill_docstring(cls)

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Learn from instances, their labels or their bags' proportions, and the bag of each instance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, channels, height, width)
            The instances.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            If 1-D, the label of each row, of which only the proportions in each bag are used. If 2-D, each row
            holds the proportions of that row's bag; the columns of a frame name the classes.
        groups : array-like of shape (n_samples,), default=None
            The bag of each row. If None, every row is a separate bag: labels are then used as in
            supervised learning, with a warning, and proportions other than 0 and 1 are refused. Pass
            ``groups=np.arange(len(y))`` to ask for supervised learning without the warning.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts in its bag; without ``groups``, its weight relative to the others. None
            means that all rows count the same.

        Returns
        -------
        Self
            The fitted estimator.

        Raises
        ------
        ValueError
            If a value is not finite, proportions do not sum to one or differ within a bag, lengths differ, or a
            parameter is out of range.
        """
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None: "
                f"it holds each row's label, or the proportions of its bag"
            )
        instances = self._check_input(_rows_of_numbers(X, "X"), reset=True)
        self.encoder_ = None
        if groups is None and sample_weight is not None:
            bags = self._weighted_bags_of_one(instances, y, sample_weight)
        else:
            bags = _bags_of_rows(instances, y, groups, self._feature_names(), sample_weight)
        if groups is None:
            warn_once(_BAGS_OF_ONE, about=type(self).__name__)
        return self.fit_bags(bags)

    @abstractmethod
    def fit_bags(self, bags: Bags) -> Self:
        """Learn from bags.

        A method begins with ``bags = self._start(bags)`` and returns ``self._finish(bags)``.

        Parameters
        ----------
        bags : Bags
            The bags to learn from.

        Returns
        -------
        Self
            The fitted estimator.
        """

    def predict(self, X: Any, *, threshold: float | Mapping[Any, float] | None = None) -> Array:
        """Predict the most probable class of each row, or a rare class from a chosen probability on.

        Parameters
        ----------
        X : array-like, frame, path or Bags
            The rows, in any form that :meth:`encode` takes.
        threshold : float or mapping of class to float, default=None
            The probability from which a class is predicted, such as ``{"rare": 0.2}``. A number is the threshold
            of the second of two classes. If several classes reach theirs, the one with the largest multiple of
            its threshold is predicted. None means the most probable class.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted classes.
        """
        probabilities = self.predict_proba(X)  # first: an error for a model that is not fitted
        return self.classes_[choose_classes(probabilities, self.classes_, threshold)]

    def predict_proba(self, X: Any) -> Array:
        """Predict the probability of each class for each row.

        Parameters
        ----------
        X : array-like, frame, path or Bags
            The rows, in any form that :meth:`encode` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities, with the classes in the order of ``classes_``.
        """
        instances = self.encode(X)
        if not isinstance(X, Bags):
            return self._predict_instances(instances)
        self._refuse_other_shape(instances.shape)
        self._warn_of_other_range(instances)
        return self._predict_checked(instances)

    def predict_encoded(self, instances: Any, *, check_input: bool = True) -> Array:
        """Predict the probability of each class for instances that are already encoded.

        Parameters
        ----------
        instances : ndarray or StoredInstances
            The instances: ``bags.instances``, what :meth:`encode` returns, or any array in that form.
        check_input : bool, default=True
            Whether to check the instances. False saves time if they only have values that were checked before,
            such as those of a shuffled column.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities, with the classes in the order of ``classes_``.

        Raises
        ------
        ValueError
            If the instances do not have the shape of the training instances, or a value is not finite.
        """
        if not check_input:
            return self._predict_checked(instances)
        with warnings.catch_warnings():  # encoded columns are known by their places, not by names
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return self._predict_instances(instances)

    def _predict_instances(self, instances: Any) -> Array:
        """Check instances and predict the probability of each class."""
        check_is_fitted(self, "classes_")
        keep_freed_memory()
        if len(self.instance_shape_) > 1:  # images, whose channels scikit-learn would call features
            self._refuse_other_shape(np.shape(instances))
        instances = self._check_input(instances, reset=False)
        check_instances(instances, self._feature_names())
        self._refuse_other_shape(instances.shape)
        self._warn_of_other_range(instances)
        return self._predict_checked(instances)

    def _predict_checked(self, instances: Any) -> Array:
        """Predict and correct the probability of each class."""
        probabilities = self._probabilities(instances)
        self._refuse_no_probabilities(probabilities, instances)
        calibrator = getattr(self, "calibrator_", None)
        if calibrator is not None:
            probabilities = calibrator.apply(probabilities)
            self._refuse_no_probabilities(probabilities, instances)
        return probabilities

    def predict_set(self, X: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Predict for each row a set of classes that contains the right one with a chosen probability.

        The thresholds of the sets come from :meth:`conformalize`, which must be called before.

        Parameters
        ----------
        X : array-like, frame, path or Bags
            The rows, in any form that :meth:`encode` takes.
        coverage : float, default=0.9
            The probability with which a set must contain the right class.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            Whether each class, in the order of ``classes_``, is in the set of each row.

        Raises
        ------
        ValueError
            If the model was not conformalized, or the bags were too few for this coverage.
        """
        return self.require_sets().contain(self.predict_proba(X), coverage)

    def conformalize(
        self,
        bags: Bags,
        *,
        score: Literal["probability", "cumulative"] = "probability",
        by_class: bool = False,
        worst_case: bool = False,
        confidence: float = 0.95,
        random_state: int = 0,
    ) -> Self:
        """Find the thresholds of prediction sets from held-out random bags.

        See :func:`llpgan.evaluation.conformalize` for the method.

        Parameters
        ----------
        bags : Bags
            Random bags that the model was not trained on, with the encoding of the training bags.
        score : {"probability", "cumulative"}, default="probability"
            The score of a class: ``"probability"`` gives the smallest sets; ``"cumulative"`` (APS) gives larger
            sets to rows that are hard to classify.
        by_class : bool, default=False
            Whether to reach the coverage for the rows of each predicted class, instead of all rows together.
        worst_case : bool, default=False
            Whether to use a bound on the coverage that holds for any bags, at the price of larger sets.
        confidence : float, default=0.95
            The probability, over random draws of the bags, that the coverage is reached.
        random_state : int, default=0
            The seed of the test of randomness.

        Returns
        -------
        Self
            The estimator, with the thresholds in ``sets_``.

        Raises
        ------
        ValueError
            If the bags are too few, not random, or among the training bags.
        """
        from llpgan.evaluation.sets import conformalize

        self.refuse_training_bags(bags)
        self.sets_ = conformalize(
            bags,
            self.predict_proba(bags),
            score=score,
            by_class=by_class,
            worst_case=worst_case,
            confidence=confidence,
            random_state=random_state,
        )
        return self

    def recalibrate(
        self,
        bags: Bags,
        *,
        kind: Literal["temperature", "vector", "isotonic"] = "temperature",
        random_state: int = 0,
    ) -> Self:
        """Fit a correction of the predicted probabilities to held-out bags.

        See :func:`llpgan.evaluation.fit_calibrator` for the method. All later predictions are corrected, also
        after saving and in ONNX. Prediction sets of the model are dropped, since they belong to other
        probabilities. After an error the model is as before.

        Parameters
        ----------
        bags : Bags
            Bags that the model was not trained on, with the encoding of the training bags.
        kind : {"temperature", "vector", "isotonic"}, default="temperature"
            The correction. ``"temperature"`` has one parameter and never changes the predicted class;
            ``"isotonic"`` needs many small bags.
        random_state : int, default=0
            The seed of the test of randomness.

        Returns
        -------
        Self
            The estimator, with the correction in ``calibrator_``.

        Raises
        ------
        ValueError
            If the bags are too few, or among the training bags.
        """
        from llpgan.evaluation.calibrate import fit_calibrator

        self.refuse_training_bags(bags)
        uncorrected = copy(self)
        uncorrected._forget_corrections()
        calibrator = fit_calibrator(bags, uncorrected.predict_proba(bags), kind=kind, random_state=random_state)
        self._forget_corrections()
        self.calibrator_ = calibrator
        return self

    def require_sets(self) -> PredictionSets:
        """Return the thresholds of prediction sets.

        Returns
        -------
        PredictionSets
            The thresholds.

        Raises
        ------
        ValueError
            If the model was not conformalized.
        """
        check_is_fitted(self, "classes_")
        sets: PredictionSets | None = getattr(self, "sets_", None)
        if sets is None:
            raise ValueError(
                f"this {type(self).__name__} has no prediction sets: "
                f"call conformalize(bags), or run llpgan conformalize, with held-out random bags"
            )
        return sets

    def refuse_training_bags(self, bags: Bags) -> None:
        """Refuse bags that the model was trained on, where held-out ones are needed.

        Parameters
        ----------
        bags : Bags
            The bags.

        Raises
        ------
        ValueError
            If more than one of 50 bags is among those of the training.
        """
        check_is_fitted(self, "classes_")
        refuse_other_than_bags(bags, "bags")
        if (known := getattr(self, "training_bags_", None)) is None:
            return
        shared = count_shared_bags(known, fingerprint_bags(bags))
        if shared > bags.n_bags // 50:  # a few bags may agree by chance
            raise ValueError(
                f"{shared} of these {bags.n_bags} bags are among those that the model was trained on, where it "
                f"looks better than it is: give bags that were held out"
            )

    def _forget_corrections(self) -> None:
        for name in ("sets_", "calibrator_"):
            if hasattr(self, name):
                delattr(self, name)

    def encode(self, X: Any) -> Any:
        """Encode rows in the way in which the training rows were encoded.

        Parameters
        ----------
        X : array-like, frame, path or Bags
            The rows. If the model learned from a table, another table with the same columns: a file, a frame or a
            dict of columns. Otherwise an array or a frame of numbers. :class:`~llpgan.bags.Bags` are accepted if
            they have the encoding of the training bags.

        Returns
        -------
        ndarray or StoredInstances
            The instances that the model sees.
        """
        check_is_fitted(self, "classes_")
        if isinstance(X, Bags):
            return self._take_instances(X)
        if self.encoder_ is None:
            return _rows_of_numbers(X, "X")
        from llpgan.tables import open_rows, rows_of_array

        if isinstance(X, np.ndarray | StoredInstances):
            return self.encoder_.encode(rows_of_array(X))
        return self.encoder_.encode(open_rows(X, self.encoder_.text_columns))

    def score(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy if ``y`` holds labels, and the agreement with the bags if it holds proportions.

        The agreement is one minus the mean over bags of the total variation distance between a bag's proportions
        and its mean prediction. The best value is 1, and no label of an instance is needed.

        Parameters
        ----------
        X : array-like, frame, path or Bags
            The rows, in any form that :meth:`encode` takes.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            The labels, or in each row the proportions of its bag. The columns of a frame of proportions must be
            named after the classes; the columns of an array are in the order of ``classes_``.
        groups : array-like of shape (n_samples,), default=None
            The bag of each row. Needed if ``y`` holds proportions other than 0 and 1.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each row in the accuracy, or in the mean prediction of its bag.

        Returns
        -------
        float
            The score.
        """
        if y is None:
            raise TypeError("y must hold the labels or the proportions of the rows, got None")
        probabilities = self.predict_proba(X)
        check_same_length("rows of X", probabilities, "entries of y", y)
        y = refuse_masked(y, "y") if isinstance(y, np.ma.MaskedArray) else y
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, len(probabilities))
        if _are_labels(y):
            truth = match_labels(column_or_1d(y), self.classes_, "y")
            predicted = self.classes_[probabilities.argmax(axis=1)]
            return float(np.average(predicted == truth, weights=sample_weight))
        bags = _bags_to_check(y, groups, self.classes_)
        predicted = bags.means(probabilities, sample_weight)
        return float(1 - np.abs(predicted - bags.proportions).sum(axis=1).mean() / 2)

    def report(
        self,
        path: str | Path,
        bags: Bags,
        *,
        title: str | None = None,
        labels: Any = None,
        held_out: Bags | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write a page on this model, as one HTML file for a browser.

        See :func:`llpgan.report.write_report`, which this calls.

        Parameters
        ----------
        path : str or Path
            The file to write.
        bags : Bags
            The bags that the model was trained on.
        title : str, default=None
            The title of the page; the name of the method by default.
        labels : array-like of shape (n_instances,), default=None
            The class of each instance, in the order of ``bags.instances``; used only for scores.
        held_out : Bags, default=None
            Bags that the model was not trained on; used only for scores.
        overwrite : bool, default=False
            Replace the file if it exists.

        Returns
        -------
        Path
            The file.
        """
        from llpgan.report import write_report

        return write_report(self, bags, path, title=title, labels=labels, held_out=held_out, overwrite=overwrite)

    @abstractmethod
    def _probabilities(self, instances: Array) -> Array:
        """The probability of each class for instances that are checked."""

    def _start(self, bags: Bags) -> Bags:
        """Check bags and settings, warn of uninformative bags, and note what predictions will be of.

        The bags to learn from are returned: those given, without rows and bags of weight zero.
        """
        refuse_other_than_bags(bags, "what fit_bags takes")
        keep_freed_memory()
        self._validate_params()
        if not self.trains_together:
            refuse_processes(type(self).__name__)
        bags = bags.drop_weightless()
        self._refuse_unsupported(bags)
        if (
            said := fit_warnings.reason_uninformative(bags) or fit_warnings.reason_unlinked_classes(bags)
        ) is not None:
            warn_user(said, fit_warnings.UninformativeBagsWarning)
        self._forget_corrections()
        self.training_bags_ = fingerprint_bags(bags)
        self.classes_ = bags.classes
        self.n_features_in_ = bags.instances.shape[1]
        self.instance_shape_ = bags.instances.shape[1:]
        self.instance_type_ = bags.instances.dtype.str
        self.largest_pixel_ = _largest_pixel(bags.instances) if bags.instances.ndim > 2 else None
        self.encoder_ = bags.encoder
        if bags.features is not None and not bags.encoder:  # scikit-learn reads it only if columns have names
            self.feature_names_in_ = np.array(bags.features, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return bags

    def _weighted_bags_of_one(self, instances: Array, y: Any, sample_weight: Any) -> Bags:
        """Rows that are bags, and count as often as their weights say; those of weight zero are not there."""
        weights = check_weights(sample_weight, len(instances))
        y = y if hasattr(y, "iloc") else refuse_masked(y, "y")
        check_same_length("instances", instances, "entries of y", y)
        kept = np.flatnonzero(weights > 0)
        y = y.iloc[kept] if hasattr(y, "iloc") else y[kept]
        bags = _bags_of_rows(instances[kept], y, None, self._feature_names(), weights[kept])
        return replace(bags, bag_weights=weights[kept]) if self.takes_bag_weights else bags

    def _refuse_unsupported(self, bags: Bags) -> None:
        """Refuse weights that a method cannot respect, and bags of which it needs to know more."""
        if not self.takes_weights and bags.uneven_weights is not None:
            raise ValueError(
                f"{type(self).__name__} cannot weigh rows; "
                f"AutoLLP, BagBoosting, BagLogistic, MeanMap, LaplacianMeanMap, InvCal and DLLP can"
            )
        if not self.takes_bag_weights and bags.uneven_bag_weights is not None:
            raise ValueError(
                f"{type(self).__name__} cannot weigh bags; "
                f"AutoLLP, BagBoosting, BagLogistic, InvCal, DLLP and LLPGAN can"
            )
        if not self.takes_partial and bags.share_constraints is not None:
            raise ValueError(
                f"{type(self).__name__} needs all shares of each bag, without noise; "
                f"AutoLLP, BagBoosting, BagLogistic, DLLP, LLPGAN and LLPVAT learn from bounds, unknown shares, "
                f"shares within some classes and noise of known size"
            )

    def _finish(self, bags: Bags) -> Self:
        """Refuse predictions that are not finite, and warn where next to nothing was learned."""
        shown, missing = fit_warnings.sample_bags(bags)
        probabilities, method = self._probabilities(shown.instances), type(self).__name__
        self._refuse_no_probabilities(probabilities, shown.instances, fit_warnings.WHAT_TO_TRY)
        if bags.have_equal_shares:  # which was said before
            return self
        said = fit_warnings.describe_little_learned(method, shown, probabilities, bags.prior, missing)
        if said is not None:
            warn_user(said, fit_warnings.TrainingWarning)
        return self

    def _check_others(self, bags: Bags) -> None:
        """Refuse bags whose instances differ in kind from those of the training."""
        instances = self._take_instances(bags)
        self._refuse_other_shape(instances.shape)
        self._warn_of_other_range(instances)

    def _take_instances(self, bags: Bags) -> Array:
        """Those of bags, unless what they learned of their table differs from what the model did."""
        if self.encoder_ is not None and bags.encoder != self.encoder_:
            raise ValueError(
                f"these bags are encoded otherwise than those that this {type(self).__name__} was trained on: "
                f"give their rows, as a table, or Bags that are a part of the training's (Bags.take_bags)"
            )
        return bags.instances

    def _check_input(self, X: Any, *, reset: bool) -> Array:
        """Scikit-learn's own checks; that values are finite is ours to say, with row and column.

        Instances that stay in their file are not for scikit-learn, which would read it whole.
        """
        if isinstance(X, StoredInstances) and not reset:
            return cast(Array, X)
        X = refuse_masked(X, "X") if isinstance(X, np.ma.MaskedArray) else X
        return np.asanyarray(
            validate_data(self, X, reset=reset, allow_nd=True, ensure_all_finite=False, dtype="numeric")
        )

    def _feature_names(self) -> Sequence[str] | None:
        encoder = getattr(self, "encoder_", None)
        if encoder is not None:
            return tuple(encoder.features or ()) or None
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else names.tolist()

    def _refuse_other_shape(self, shape: tuple[int, ...]) -> None:
        if shape[1:] != self.instance_shape_:
            raise ValueError(
                f"instances of shape {shape[1:]}, but this {type(self).__name__} was trained on "
                f"{self.instance_shape_}"
            )

    def _warn_of_other_range(self, instances: Array) -> None:
        """Images from 0 to 1 are nearly black to a model that was trained on images from 0 to 255."""
        trained = getattr(self, "largest_pixel_", None)
        if not isinstance(trained, int | float) or (instances.dtype == np.uint8 == np.dtype(self.instance_type_)):
            return
        largest = _largest_pixel(instances)
        if largest and trained and not 1 / _OTHER_RANGE < largest / trained < _OTHER_RANGE:
            warnings.warn(
                f"the values of these images go up to {largest:g}, and those that this {type(self).__name__} was "
                f"trained on up to {trained:g}: give images in the range of the training, 0 to 255 or 0 to 1",
                stacklevel=4,
            )

    def _refuse_no_probabilities(self, probabilities: Array, instances: Array, advice: str = _TRAIN_AGAIN) -> None:
        """No NaN leaves a model: it comes from the instances, or from what was learned."""
        wrong = ~np.isfinite(probabilities).all(axis=1)
        if not wrong.any():
            return
        check_finite(instances, self._feature_names())
        raise fit_warnings.TrainingError(
            f"{type(self).__name__} gives row {int(wrong.argmax())} no probabilities, but "
            f"{probabilities[wrong.argmax()].tolist()}: what it learned is not finite, or the row lies too far "
            f"from all that it learned from; {advice}"
        )


def _largest_pixel(images: Array) -> float:
    """About the largest absolute value of images."""
    return float(np.abs(fit_warnings.sample_rows(images, _LOOKED_AT).astype(np.float64)).max(initial=0))


def _are_labels(y: Any) -> bool:
    shape = np.shape(y)
    return len(shape) < 2 or shape[1] == 1


def _rows_of_numbers(X: Any, name: str) -> Any:
    """Rows for scikit-learn to check, unless they are of a kind that it does not know."""
    if isinstance(X, np.ndarray | StoredInstances) or hasattr(X, "tocsr"):
        return X
    if isinstance(X, str | bytes | Path | Mapping | Set | Iterator) or hasattr(X, "to_frame"):
        one_row = "; for one row of a frame, df.iloc[[0]]" if hasattr(X, "iloc") else ""
        raise TypeError(
            f"{name} must be an array or a frame of numbers, one row per instance, got a {type(X).__name__}"
            f"{one_row}; a model that learned from Bags.from_tables predicts from files and tables"
        )
    if is_frame(X) or isinstance(X, Sequence):
        with check_argument(name):
            numbers = check_numbers(X, name)
        return X if is_frame(X) else numbers
    return X


def _bags_of_rows(
    instances: Array, y: Any, groups: Any, features: Sequence[str] | None, weights: Any = None
) -> Bags:
    y = y if hasattr(y, "columns") else refuse_masked(y, "y")  # a frame names its classes
    check_same_length("instances", instances, "entries of y", y)
    weights = None if weights is None else check_weights(weights, len(instances))
    if not _are_labels(y):
        return Bags.from_row_proportions(instances, y, groups, features=features, weights=weights)
    labels = column_or_1d(y, warn=True)
    check_classification_targets(labels)
    return Bags.from_labels(instances, labels, groups, features=features, weights=weights)


def _bags_to_check(y: Any, groups: Any, classes: Array) -> Bags:
    """Bags without instances, with the proportions in the order of the classes."""
    rows = match_columns(y, classes, "y")
    if groups is None:
        refuse_shares_without_groups(rows)
        groups = np.arange(len(rows))
    return Bags.from_row_proportions(np.zeros((len(rows), 1)), rows, groups, classes=classes)


_PLAIN = (str, int, float, tuple, list, type(None))


class Setting(NamedTuple):
    """A setting's name, its value, the value that it has where nobody sets it, and whether somebody did."""

    name: str
    value: str
    usual: str
    differs: bool


def changed_settings(model: LLPClassifier) -> tuple[Setting, ...]:
    """All settings of a model.

    >>> from llpgan import MeanMap
    >>> changed_settings(MeanMap(C=2.0))[0]
    Setting(name='C', value='2.0', usual='None', differs=True)
    """
    usual = type(model)().get_params(deep=False)
    return tuple(
        Setting(name, _describe_value(value), _describe_value(usual[name]), _differ(value, usual[name]))
        for name, value in model.get_params(deep=False).items()
    )


def _differ(value: Any, usual: Any) -> bool:
    """3 and 3.0 do not; functions and networks do, unless they are the same one."""
    if isinstance(value, tuple | list) and isinstance(usual, tuple | list):
        return tuple(value) != tuple(usual)
    return bool(value != usual) if isinstance(value, _PLAIN) or is_dataclass(value) else value is not usual


def describe_method(model: LLPClassifier) -> str:
    """What the method is: its docstring's first line."""
    return (inspect.getdoc(type(model)) or "").partition("\n")[0]


def _describe_value(value: Any) -> str:
    """Plain values as Python writes them; of functions, networks and generators the name, which has no address."""
    if isinstance(value, Path):
        return str(value)
    is_part = is_dataclass(value) and not isinstance(value, LLPClassifier)  # a loss or a term, with its settings
    if is_part or isinstance(value, _PLAIN):
        return repr(value)
    return getattr(value, "__name__", type(value).__name__)
