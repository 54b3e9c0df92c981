"""Sampling: engines, and the play of whole episodes."""
