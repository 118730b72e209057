"""The types that a saved model may hold, by name, with the modules that define them: nothing else is ever made."""

from llpgan.tables.store.store_folder import ENCODER_TYPES

SAVED_TYPES = {
    **ENCODER_TYPES,
    "AlternatingMeanMap": "llpgan.estimators.alternating_mean_map",
    "BagBoosting": "llpgan.estimators.bag_boosting",
    "BagLogistic": "llpgan.estimators.bag_logistic",
    "KernelMap": "llpgan.estimators.kernels",
    "KernelSigmoid": "llpgan.estimators.inv_cal",
    "LaplacianMeanMap": "llpgan.estimators.laplacian_mean_map",
    "Linear": "llpgan.estimators.linear_scores",
    "MeanMap": "llpgan.estimators.mean_map",
    "NamedKernel": "llpgan.estimators.kernels",
    "Sigmoid": "llpgan.estimators.one_vs_rest",
    "ValueEncoder": "llpgan.tables.value_encoder",
}
