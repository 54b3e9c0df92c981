"""Sudoku of 4x4, 6x6 and 9x9 cells, each with exactly one solution (see README.md)."""
