"""Estimators: every method behind scikit-learn's interface."""

# The one list of methods, by class, with the module that holds it: the package's names, the common tests and the
# comparisons read it. Nothing is imported here, so that a method without torch never loads it.
METHODS = {
    "DLLP": "llpgan.estimators.dllp",
    "LLPGAN": "llpgan.estimators.llp_gan",
    "MeanMap": "llpgan.estimators.mean_map",
    "LaplacianMeanMap": "llpgan.estimators.laplacian_mean_map",
    "AlternatingMeanMap": "llpgan.estimators.alternating_mean_map",
    "BagLogistic": "llpgan.estimators.bag_logistic",
    "AutoLLP": "llpgan.estimators.auto_llp",
    "BagBoosting": "llpgan.estimators.bag_boosting",
    "InvCal": "llpgan.estimators.inv_cal",
    "AlterSVM": "llpgan.estimators.alter_svm",
    "ConvSVM": "llpgan.estimators.conv_svm",
}
