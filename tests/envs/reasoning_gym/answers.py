"""Option sets whose answers are worth mutating; the shared fuzz test reads them."""

FUZZED = (
    ({"task": "chain_sum"}, "dense"),
    ({"task": "knights_knaves", "roles": "team"}, "dense"),
    ({"task": "countdown", "roles": "team", "order": "parallel"}, "outcome"),
    ({"task": "prime_factorization"}, "outcome"),
    ({"task": "n_queens"}, "dense"),
)
"""(options, reward preset)."""
