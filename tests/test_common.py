"""Every estimator, one suite: scikit-learn's own checks, and ours on bags."""


import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from llpgan import DLLP, LLPGAN

ESTIMATORS = [DLLP(random_state=0), LLPGAN(random_state=0)]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn(estimator, check):
    check(estimator)
