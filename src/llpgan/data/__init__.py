"""Labelled data sets, ways to make bags of them, and the experiments of the paper."""
