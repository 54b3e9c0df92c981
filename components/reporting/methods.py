"""What the literature calls a configuration: the rows of the paper's tables (arXiv 2510.11062).

Only what decides the row: one role or a team, trained or not, which groups, which weights.
"""

from components.config import ExperimentConfig
from components.settings import KEYS

ORDER = (
    "single agent", "single agent + GRPO", "team, prompts only", "team + GRPO",
    "team + AT-GRPO, shared policy", "team + AT-GRPO, policy per role",
    "team + AT-GRPO, LoRA per role", "team + AT-GRPO, some roles share",
)  # fmt: skip
"""As the tables list them; ablations stand behind their method."""


def untrained(config: ExperimentConfig) -> str:
    """The row of the team that a run begins with."""
    name = ORDER[0] if len(config.roles) == 1 else ORDER[2]
    return f"{name} (after a warm start)" if config.warm_start else name


def trained(config: ExperimentConfig) -> str:
    """The row of the team that a run ends with."""
    if len(config.roles) == 1:
        return ORDER[1]
    if _one_group_per_task(config):
        return ORDER[3]
    changed = [] if list(config.grouping.key) == list(KEYS) else [
        f"groups by {', '.join(config.grouping.key) or 'nothing'}"
    ]  # fmt: skip
    if config.rollout.sampling != "tree":
        changed.append(f"{config.rollout.sampling} sampling")
    frozen = [role for role in config.roles if config.roles[role] not in config.trainable]
    if frozen:
        changed.append(f"{', '.join(frozen)} frozen")
    return "; ".join([_weights(config), *changed])


def rank(method: str) -> int:
    """The method's place in the tables."""
    fits = [place for place, name in enumerate(ORDER) if method.startswith(name)]
    return max(fits, key=lambda place: len(ORDER[place]), default=len(ORDER))


def _one_group_per_task(config: ExperimentConfig) -> bool:
    """Plain GRPO on a team: all answers to a task share a baseline."""
    return list(config.grouping.key) == ["task"]


def _weights(config: ExperimentConfig) -> str:
    policies = list(config.roles.values())
    if len(set(policies)) == 1:
        return ORDER[4]
    if len(set(policies)) < len(policies):
        return ORDER[7]
    return ORDER[6] if all(config.policies[name].lora for name in policies) else ORDER[5]
