"""Runs in the peers' environment: times verl's vectorised GRPO advantages beside ours.

Prints one JSON object. Each side gets the group ids that its trainer has: verl's are UUID
strings in an object array, ours are integers. The same integers for both are timed as well.
Started as a script, because one of the peers brings a package named `tests`.
"""

import json
import uuid
from typing import Any

import numpy as np
import torch
from harness import compare
from verl.trainer.ppo.core_algos import compute_grpo_vectorized_outcome_advantage

from components.grouping.advantages import group_advantages

NUM_SAMPLES = 65_536
TOKENS = 256
"""verl takes and returns one value per token. 256 is the default `rollout.max_new_tokens`; one
token, its cheapest case, is timed as well."""
REPEATS = 25


def main() -> None:
    """Time three ways of naming the groups, and compare the values."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    sizes = rng.integers(4, 9, NUM_SAMPLES)
    dense = np.repeat(np.arange(NUM_SAMPLES), sizes)[:NUM_SAMPLES]
    num_groups = int(dense[-1]) + 1
    rewards = rng.normal(size=NUM_SAMPLES)
    uids = np.array([str(uuid.uuid4()) for _ in range(num_groups)], dtype=object)[dense]
    wide = rng.integers(-(2**62), 2**62, num_groups)[dense]
    order = rng.permutation(NUM_SAMPLES)

    def theirs(index: Any, values: Any = rewards, tokens: int = 1) -> Any:
        scores = torch.zeros(NUM_SAMPLES, tokens)
        scores[:, -1] = torch.from_numpy(values)
        mask = torch.ones(NUM_SAMPLES, tokens)
        return lambda: compute_grpo_vectorized_outcome_advantage(scores, mask, index)[0]

    def ours(ids: Any, values: Any = rewards) -> Any:
        return lambda: group_advantages(ids, values)

    wide_pair = (wide[order], rewards[order])
    pairs = {
        "dense": (ours(dense), theirs(uids, tokens=TOKENS)),
        "wide": (ours(*wide_pair), theirs(uids[order], rewards[order], TOKENS)),
        "dense, one token": (ours(dense), theirs(uids)),
        "wide, one token": (ours(*wide_pair), theirs(uids[order], rewards[order])),
        "same, one token": (ours(dense), theirs(dense)),
    }
    result: dict[str, Any] = {name: compare(*pair, REPEATS) for name, pair in pairs.items()}
    several = np.bincount(dense)[dense] > 1
    gap = np.abs(ours(dense)() - theirs(dense)()[:, -1].numpy())
    print(json.dumps(result | {"difference": float(gap[several].max())}))


if __name__ == "__main__":
    main()
