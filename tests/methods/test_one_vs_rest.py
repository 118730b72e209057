import subprocess
import sys

import numpy as np
import pytest

import llpgan
from llpgan import AlterSVM, ConvSVM, InvCal
from llpgan.methods import METHODS
from llpgan.methods.linear import renormalize

WITH_TORCH = {name for name in METHODS if hasattr(getattr(llpgan, name)(), "precision")}


@pytest.mark.parametrize(
    "estimator", [InvCal(), InvCal(kernel="rbf"), AlterSVM(n_restarts=1, random_state=0), ConvSVM()]
)
def test_four_classes_have_probabilities_that_sum_to_one(estimator, rng):
    labels = rng.integers(4, size=160)
    corners = np.array([[0, 0], [0, 6], [6, 0], [6, 6]])
    instances = rng.normal(size=(160, 2)) + corners[labels]
    model = estimator.fit(instances, labels, groups=np.arange(160) // 4)
    probabilities = model.predict_proba(instances)
    assert probabilities.shape == (160, 4)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert model.score(instances, labels) > 0.9


@pytest.mark.parametrize("estimator", [InvCal(), InvCal(kernel="rbf"), AlterSVM(n_restarts=1), ConvSVM()])
def test_a_class_with_one_share_in_all_bags_gets_that_share(estimator, rng):
    """The others are told by the first column; of the third nothing is known."""
    first = rng.integers(2, size=(20, 6))
    labels = np.column_stack([first, np.full((20, 2), 2)]).ravel()
    instances = rng.normal(size=(160, 2)) + np.column_stack([8 * (labels == 1), np.zeros(160)])
    model = estimator.fit(instances, labels, groups=np.arange(160) // 8)
    third = model.binary_[2](model._features(instances))
    np.testing.assert_allclose(third, 0.25, atol=1e-3)


@pytest.mark.parametrize("estimator", [InvCal, AlterSVM, ConvSVM])
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda rows, others: rows @ rows.T[:, :1], r"gave an array of shape \(80, 1\)"),
        (lambda rows, others: 1.0, r"gave an array of shape \(\)"),
        (lambda rows, others: np.full((len(rows), len(others)), "a"), "and type <U1, not numbers"),
        (lambda rows, others: np.full((len(rows), len(others)), np.nan), "rows 0 and 0 is nan"),
    ],
)
def test_a_kernel_that_is_no_matrix_of_numbers_is_refused(estimator, kernel, message, bags):
    with pytest.raises(ValueError, match=message):
        estimator(kernel=kernel).fit_bags(bags)


def test_rows_that_no_class_claims_are_probabilities_too():
    np.testing.assert_allclose(renormalize(np.zeros((1, 4))), np.full((1, 4), 0.25))


@pytest.mark.slow
def test_classical_methods_never_load_torch():
    program = (
        f"import sys, numpy as np, llpgan\n"
        f"X = np.arange(16.0)[:, None]\n"
        f"for name in {sorted(set(METHODS) - WITH_TORCH)}:\n"
        f"    getattr(llpgan, name)().fit(X, X[:, 0] > 7, groups=np.arange(16) // 3).predict(X)\n"
        f"    if 'torch' in sys.modules: sys.exit(name + ' loads torch')"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
