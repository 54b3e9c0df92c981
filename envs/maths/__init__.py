"""Maths: reasoners think, tools compute, a judge may decide (see README.md)."""
