"""The turn loop: prompts, scoring, selection. Pure functions for both placements."""
