"""Held-out play: benchmarks, confidence intervals, the swapped-policies test."""
