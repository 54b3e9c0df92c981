"""Sample rows by hand: one group per call, only what matters to a test."""

from typing import Any

import pyarrow as pa

from components.engine import FinishReason
from components.records import Candidate, Sample, Scored, Turn, to_table
from envs.base import Status


def make_group(
    task: str = "t/0",
    turn: int = 0,
    role: str = "tool",
    node: str = "",
    rewards: tuple[float | None, ...] = (0.0, 1.0),
    texts: tuple[str, ...] | None = None,
    logprobs: tuple[float, ...] | None = None,
    prompt: str = "where to?",
    pick: int | None = None,
    episodes: tuple[str, ...] | None = None,
    version: str = "tool@2-0123456789ab",
    status: Status = Status.RUNNING,
) -> list[Sample]:
    """One candidate per reward; the first best is picked, the others are left running."""
    alive = [reward for reward in rewards if reward is not None]
    best = rewards.index(max(alive)) if pick is None and alive else pick
    rows = []
    for k, reward in enumerate(rewards):
        episode = episodes[k] if episodes else task
        asked = Turn(episode, task, "maze", node, turn, role, role, (
            {"role": "user", "content": prompt},
        ))  # fmt: skip
        total = logprobs[k] if logprobs else -1.0
        answer = Candidate(
            asked, k, 2**62 + k, 1.0, 1.0, 0, 8, version, (1, 2), (5, 6), (total / 2, total / 2),
            texts[k] if texts else f"answer {k}",
            FinishReason.STOP if reward is not None else FinishReason.ERROR,
            None if reward is not None else "engine: gone",
        )  # fmt: skip
        parts = None if reward is None else {"team": reward, "local/format": 0.0}
        chosen = k == best
        scored = Scored(answer, reward, parts, chosen, status if chosen else Status.RUNNING)
        advantage = None if reward is None else reward - sum(alive) / len(alive)
        rows.append(Sample(scored, 0, advantage, 1.0))
    return rows


def make_table(*groups: list[Sample]) -> pa.Table:
    return to_table(Sample, [row for group in groups for row in group])


def make_episode(episode: str = "t/0", status: str = "solved", **changes: Any) -> dict[str, Any]:
    values = {
        "episode_id": episode, "task_id": episode.partition("#")[0], "env": "maze",
        "benchmark": "train", "seed": 0, "num_turns": 1, "status": status, "team_reward": 1.0,
    }  # fmt: skip
    return values | changes
