"""All steps by name: for profiles, for the runner in this process, and for the signature test."""

from typing import Any

from components.commit.component import commit, commit_initial
from components.env_execution.component import execute_turn, open_turns
from components.evaluation.component import evaluate
from components.grouping.component import group
from components.load_state.component import load_state
from components.promotion.component import promote
from components.rollout.component import evaluate_team, rollout, sample_turn
from components.update.component import update, update_on_nodes
from components.update.initialise.component import initialise
from components.update.warm_start.component import warm_start

_COMPONENTS = (
    initialise, warm_start, commit_initial, load_state, rollout, open_turns, sample_turn,
    execute_turn, evaluate_team, group, update, update_on_nodes, commit, evaluate, promote,
)  # fmt: skip

STEPS: dict[str, Any] = {step.python_func.__name__: step for step in _COMPONENTS}
