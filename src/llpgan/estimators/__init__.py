"""Estimators: every method behind scikit-learn's interface."""

# The one list of methods, by class, with the module that holds it: the package's names, the common tests and the
# comparisons read it. Nothing is imported here, so that a method without torch never loads it.
METHODS = {
    "DLLP": "llpgan.estimators.dllp",
    "LLPGAN": "llpgan.estimators.llp_gan",
}
