"""Option sets that are worth fuzzing."""

FUZZED = [({}, "dense"), ({"roles": "coder"}, "dense"), ({"max_golden_tests": 2}, "outcome")]
