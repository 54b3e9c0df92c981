"""What the turn loop needs of the configuration, apart from the environments it is played in.

Training and evaluation differ only in their rules: evaluation is K = 1, greedy, on fixed tasks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from components.config import ExperimentConfig
from components.engine import Sampling
from components.errors import RolewiseError
from components.members import Member
from components.records import Turn
from components.seeds import EVALUATION_SEED
from envs.base import Environment, Order


@dataclass(frozen=True)
class Rules:
    """How episodes are played. K = num_candidates, T = num_turns."""

    roles: Mapping[str, str]
    """role -> policy: what is written into every prompt as the one to answer."""
    num_candidates: int = 1
    num_turns: int = 1
    beam: int = 1
    """Children kept at each node."""
    pick: Literal["greedy", "sample"] = "greedy"
    alpha: float = 1.0
    """Weight of the team reward."""
    sampling: Literal["tree", "parallel"] = "tree"
    run_seed: int = 0
    iteration: int = 0
    """With `run_seed`: where every draw of a candidate or a pick comes from."""


def training_rules(config: ExperimentConfig, iteration: int) -> Rules:
    """The rules of one iteration's training episodes."""
    settings = config.rollout
    return Rules(
        roles=config.roles,
        num_candidates=settings.num_candidates,
        num_turns=settings.num_turns,
        beam=settings.beam,
        pick=settings.pick,
        alpha=settings.alpha,
        sampling=settings.sampling,
        run_seed=config.seed,
        iteration=iteration,
    )


def training_sampling(config: ExperimentConfig) -> Sampling:
    """The distribution that training candidates are drawn from."""
    settings = config.rollout
    return Sampling(
        temperature=settings.temperature,
        top_p=settings.top_p,
        top_k=settings.top_k,
        max_new_tokens=settings.max_new_tokens,
        max_prompt_tokens=settings.max_prompt_tokens,
    )


def evaluation_rules(config: ExperimentConfig, roles: Mapping[str, str]) -> Rules:
    """K = 1 and no branching; seeds do not depend on run or iteration."""
    settings = config.rollout
    return Rules(
        roles=roles,
        num_turns=settings.num_turns,
        alpha=settings.alpha,
        run_seed=EVALUATION_SEED,
    )


def evaluation_sampling(config: ExperimentConfig) -> Sampling:
    """Greedy: the most likely token, always."""
    settings = config.rollout
    return Sampling(
        temperature=0.0,
        max_new_tokens=settings.max_new_tokens,
        max_prompt_tokens=settings.max_prompt_tokens,
    )


def rules_in(rules: Rules, member: Member) -> Rules:
    """The rules in one of several environments: its own roles and its own number of turns."""
    roles = {role: rules.roles[role] for role in member.env.roles}
    return replace(rules, roles=roles, num_turns=member.num_turns)


def check_branching(env: Environment, rules: Rules) -> None:
    """RolewiseError for a beam where roles act in parallel: their picks have no common parent."""
    if rules.beam > 1 and env.order == Order.PARALLEL and len(env.roles) > 1:
        raise RolewiseError(
            f"rollout.beam is {rules.beam}, but the roles of environment {env.name!r} act in "
            "parallel: expected 1 (branches of one role would need new prompts for the others)"
        )


def candidate_indices(turn: Turn, rules: Rules) -> tuple[int, ...]:
    """Which candidates answer this row: all K, or in parallel sampling the replica's own."""
    if rules.sampling == "parallel":
        return (int(turn.episode_id.rpartition("#")[2]),)
    return tuple(range(rules.num_candidates))
