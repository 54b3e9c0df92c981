"""Option sets that are worth fuzzing, and answers that are read but can be worth nothing."""

QUICK = {"sandbox": {"cpu_s": 0.2}, "max_golden_tests": 2, "max_tests": 2}
"""Few runs for each of many completions, and endless loops soon over."""
FUZZED = [
    (QUICK, "dense"),
    ({**QUICK, "problems": "envs/code/example.jsonl", "roles": "coder"}, "outcome"),
]


def invalid(env, state, role):
    """A program that does not compile; tests in the wrong order, or without an output."""
    if role == "coder":
        return ["```python\nreturn 1\n```", "```python\nprint(\n```", "```\nfor\n```"]
    return [
        "```output\n1\n```\n```input\n1\n```\n```output\n1\n```",
        "```input\n1\n```\n```input\n2\n```\n```output\n2\n```",
        "```input\n1\n```\n```output\n\n```",
    ]
