"""Option sets of Sokoban that are worth fuzzing."""

from tests.envs.sokoban.drawings import TINY

FUZZED = [
    ({}, "dense"),
    (TINY, "dense"),
    ({"prompt_style": "compact", "action_language": "cells", "roles": "planner"}, "dense"),
    ({"tool": "search", "action_language": "pushes", "num_boxes": 2}, "outcome"),
    ({"tool": "program", "action_language": "cells"}, "dense"),
]
