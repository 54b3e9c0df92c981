"""The parts of `envs/checks.py`, by what they look at. Import `check_env` from there."""
