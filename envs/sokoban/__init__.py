"""Sokoban: push all boxes onto goals (see README.md)."""
