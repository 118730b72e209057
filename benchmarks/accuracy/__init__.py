"""Accuracy on data with known labels, which choose nothing."""
