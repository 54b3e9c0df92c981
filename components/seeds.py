"""Seeds by name: every random draw has a seed that can be computed again from what it is for."""

import hashlib

MAX_SEED = 2**63 - 1
EVALUATION_SEED = 0
"""Stream of all held-out tasks: the same for every run and seed, so that any two teams pair up."""


def derive_seed(*parts: str | int) -> int:
    """A seed in [0, 2^63) that depends on every part and on their order.

    Parts are separated by a byte that no text contains, so ("ab", "c") and ("a", "bc") differ.
    """
    if not parts:
        raise ValueError("derive_seed: no parts given; a seed must say what it is for")
    text = "\x1f".join(f"{type(part).__name__[0]}{part}" for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") & MAX_SEED


def candidate_seed(
    run_seed: int, iteration: int, task_id: str, node: str, turn: int, role: str, candidate: int
) -> int:
    """The seed of one sampled completion: enough to generate that branch again, alone."""
    return derive_seed("candidate", run_seed, iteration, task_id, node, turn, role, candidate)
