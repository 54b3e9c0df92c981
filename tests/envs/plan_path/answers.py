"""Option sets whose answers are worth mutating; the shared fuzz test reads them."""

from tests.envs.plan_path.drawings import QUICKSTART

PROGRAM = {"tool": "program", "height": 5, "width": 5, "sandbox": {"cpu_s": 0.5}}
FUZZED = (
    ({}, "dense"),
    ({"tool": "search", "action_language": "cells"}, "outcome"),
    (QUICKSTART, "dense"),
    ({**QUICKSTART, "roles": "planner"}, "outcome"),
    ({**QUICKSTART, "roles": "tool"}, "dense"),
    (PROGRAM, "dense"),
)
"""(options, reward preset)."""
