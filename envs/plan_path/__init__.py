"""Plan-Path: walk from a start to a goal through a grid with walls (see README.md)."""
