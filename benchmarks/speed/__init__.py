"""Time and memory, as ratios of things that took turns on one machine."""
