"""Estimators: every method behind scikit-learn's interface."""
