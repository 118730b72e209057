"""Bounds of parameters: the one module that knows scikit-learn's private validation of them."""

from sklearn.utils._param_validation import Interval, StrOptions

__all__ = ["Interval", "StrOptions"]
