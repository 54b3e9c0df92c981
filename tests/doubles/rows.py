"""Candidates without an engine: what a phase's prompts were answered, text by text."""

from collections.abc import Mapping, Sequence

from components.engine import FinishReason
from components.env_execution.advance import advance
from components.env_execution.frontier import Frontier, prompts, start
from components.env_execution.rules import Rules, candidate_indices
from components.records import Candidate, Scored, Turn
from envs.base import Environment, Split

SCORES: Mapping[str, Sequence[str | None]] = {"A": "1523", "B": "7129", "C": "4860"}
"""The texts of candidates 0..3 by role; in the tracer the reward is the digit."""


def make_rules(roles: Sequence[str] = ("A", "B"), **values: object) -> Rules:
    """K = 4, T = 3, every role with a policy of its own."""
    fields = {"num_candidates": 4, "num_turns": 3} | values
    return Rules(roles={role: role.lower() for role in roles}, **fields)  # type: ignore[arg-type]


def make_candidate(turn: Turn, index: int, text: str | None) -> Candidate:
    """An answer; None is a failed generation."""
    return Candidate(
        turn=turn,
        candidate=index,
        seed=index,
        temperature=1.0,
        top_p=1.0,
        top_k=0,
        max_new_tokens=8,
        policy_version=f"{turn.policy}@0-fake",
        prompt_ids=(1, 2),
        completion_ids=(3,) if text is not None else (),
        logprobs=(-0.5,) if text is not None else (),
        text=text or "",
        finish_reason=FinishReason.ERROR if text is None else FinishReason.STOP,
        error="failed" if text is None else None,
    )


def answers(
    turns: Sequence[Turn], rules: Rules, texts: Mapping[str, Sequence[str | None]] = SCORES
) -> list[Candidate]:
    """Candidate c of a role writes the role's c-th text."""
    return [
        make_candidate(turn, index, texts[turn.role][index])
        for turn in turns
        for index in candidate_indices(turn, rules)
    ]


def play_texts(
    env: Environment,
    rules: Rules,
    texts: Mapping[str, Sequence[str | None]] = SCORES,
    num_tasks: int = 1,
) -> tuple[list[Scored], Frontier]:
    """Play to the end; the scored rows and the last frontier."""
    frontier = start(env, env.tasks(Split.TRAIN, 0, 0, num_tasks), rules)
    scored: list[Scored] = []
    while frontier.nodes:
        advanced = advance(
            env, frontier, answers(prompts(env, frontier, rules), rules, texts), rules
        )
        scored += advanced.scored
        frontier = advanced.frontier
    return scored, frontier


def logs(scored: Sequence[Scored]) -> list[str]:
    """`A0 [B1,...]`: what every prompt showed, once per prompt, in order."""
    shown = {}
    for row in scored:
        turn = row.candidate.turn
        content = turn.messages[-1]["content"]
        shown[turn.episode_id, turn.node, turn.turn, turn.role] = (
            f"{turn.role}{turn.turn} {content.partition('log ')[2]}"
        )
    return list(shown.values())


def rewards_of(scored: Sequence[Scored], role: str, turn: int) -> list[float | None]:
    """Rewards of one role's candidates in one turn, in row order."""
    rows = [row for row in scored if row.candidate.turn.role == role]
    return [row.reward for row in rows if row.candidate.turn.turn == turn]
