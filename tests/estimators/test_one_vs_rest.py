import subprocess
import sys

import numpy as np
import pytest

from llpgan import AlterSVM, ConvSVM, InvCal
from llpgan.estimators import METHODS
from llpgan.estimators.one_vs_rest import renormalised

WITH_TORCH = {"DLLP", "LLPGAN"}


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


def test_rows_that_no_class_claims_are_probabilities_too():
    np.testing.assert_allclose(renormalised(np.zeros((1, 4))), np.full((1, 4), 0.25))


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
