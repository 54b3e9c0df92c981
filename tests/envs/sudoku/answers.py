"""Option sets that the shared fuzz test plays."""

FUZZED = (
    ({}, "dense"),
    ({"answer": "grid"}, "dense"),
    ({"tool": "search", "prompt_style": "compact"}, "dense"),
    ({"tool": "search", "size": 6}, "outcome"),
    ({"roles": "planner", "size": 9}, "dense"),
)
