"""Checks before anything is booked: what a run would trip over, found in seconds."""
