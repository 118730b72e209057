"""Speed and memory as ratios in one run, and accuracy over seeds: ``python -m benchmarks``."""
