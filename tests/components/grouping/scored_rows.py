"""Made-up scored answers: only what a test sets differs from the next row."""

from collections.abc import Sequence
from typing import Any

from components.config import ExperimentConfig, parse_config
from components.engine import FinishReason
from components.records import Candidate, Scored, Turn
from envs.base import Status


def make_config(**sections: Any) -> ExperimentConfig:
    """Two roles, `tool` and `planner`, each with a policy of its own."""
    policies = {"tool": {"base": "init://", "init": {}}, "planner": {"base": "init://", "init": {}}}
    content = {
        "name": "probe", "env": {"name": "plan_path"}, "policies": policies,
        "roles": {"tool": "tool", "planner": "planner"},
    }  # fmt: skip
    return parse_config(content | sections)


def make_row(reward: float | None = 0.0, candidate: int = 0, **changes: Any) -> Scored:
    """One answer; `changes` are fields of its turn or of its candidate."""
    failed = reward is None
    turn: dict[str, Any] = {
        "episode_id": "X", "task_id": "X", "env": "plan_path", "node": "", "turn": 0,
        "role": "tool", "policy": changes.get("role", "tool"), "messages": (),
    }  # fmt: skip
    answer: dict[str, Any] = {
        "candidate": candidate, "seed": candidate, "temperature": 1.0, "top_p": 1.0, "top_k": 0,
        "max_new_tokens": 8, "policy_version": "tool@0-abc", "prompt_ids": (1, 2, 3),
        "completion_ids": () if failed else (4, 5), "logprobs": () if failed else (-0.5, -0.25),
        "text": "", "finish_reason": FinishReason.ERROR if failed else FinishReason.STOP,
        "error": "engine died" if failed else None,
    }  # fmt: skip
    for name, value in changes.items():
        (turn if name in turn else answer)[name] = value
    parts = None if failed else {"team": float(reward or 0.0)}
    return Scored(Candidate(Turn(**turn), **answer), reward, parts, False, Status.RUNNING)


def make_group(rewards: Sequence[float | None], **changes: Any) -> list[Scored]:
    """One answer for each reward, to one prompt."""
    return [make_row(reward, index, **changes) for index, reward in enumerate(rewards)]
