"""
In scikit-learn pipelines
=========================

The estimators follow scikit-learn's conventions, so pipelines and searches work. The bag of each row is passed as
``groups``, which requires metadata routing.
"""

# %%
# ``y`` holds labels here, of which ``fit`` uses only the shares in each bag. Without labels, ``y`` has one row per
# instance with the shares of its bag.
import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer

# With routing, groups reach the splitter, fit and the scorer.
sklearn.set_config(enable_metadata_routing=True)
X, y = load_breast_cancer(return_X_y=True)
bag_of_row = np.arange(len(X)) // 16

# %%
# A pipeline. ``set_fit_request`` says that its last step takes ``groups``.
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from llpgan import MeanMap

pipeline = make_pipeline(
    StandardScaler(), PCA(10), MeanMap().set_fit_request(groups=True)
)
pipeline.fit(X, y, groups=bag_of_row)
pipeline

# %%
# A search for the best setting that is scored on held-out bags: it needs no labels either. ``GroupKFold`` keeps
# bags whole.
from sklearn.model_selection import GridSearchCV, GroupKFold

from llpgan.evaluation import bag_scorer

settings = [0.01, 0.03, 0.1, 1.0, 10.0]
search = GridSearchCV(
    pipeline, {"meanmap__C": settings}, cv=GroupKFold(4), scoring=bag_scorer()
)
search.fit(X, y, groups=bag_of_row)
search.best_params_

# %%
# The bag error of each setting, and the accuracy on single rows, which the search has not seen.
import matplotlib.pyplot as plt
from sklearn.base import clone

accuracy = [
    clone(pipeline).set_params(meanmap__C=C).fit(X, y, groups=bag_of_row).score(X, y)
    for C in settings
]
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
left.semilogx(settings, -search.cv_results_["mean_test_score"], "o-")
left.set(xlabel="C", ylabel="error of held-out bags")
right.semilogx(settings, accuracy, "o-")
right.set(xlabel="C", ylabel="accuracy of single rows")

# %%
sklearn.set_config(enable_metadata_routing=False)
