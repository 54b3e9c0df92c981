"""Who is in the team, in which order, and what a role may read of the turn that is being played.

A tool sees what the tools before it proposed and what came of it. Tools that did not would write
to the same prompt: with a shared policy and greedy play they would all propose the same.
"""

from dataclasses import replace

from envs.plan_path.options import PlanPathOptions
from envs.plan_path.state import PlanPathState, Proposal

PLANNER = "planner"
TOOL = "tool"


def roles_of(options: PlanPathOptions) -> tuple[str, ...]:
    """In the order in which they act: `tool`, `tool_2`, ..., `planner`."""
    if options.roles != "team":
        return (options.roles,)
    more = (f"{TOOL}_{number}" for number in range(2, options.num_tools + 1))
    return (TOOL, *more, PLANNER)


def is_tool(role: str) -> bool:
    """Whether the role writes for the tool; else it decides."""
    return role != PLANNER


def proposes(options: PlanPathOptions, role: str) -> bool:
    """Whether what the role writes is tried on a copy; else it is carried out."""
    return is_tool(role) and options.roles == "team"


def number_of(tool: str) -> int:
    """From 1: 2 for `tool_2`."""
    return 1 if tool == TOOL else int(tool.removeprefix(f"{TOOL}_"))


def seen(state: PlanPathState, role: str) -> tuple[Proposal, ...]:
    """The proposals of this turn that come before the role's own; all of them for the planner."""
    return state.proposals[: number_of(role) - 1] if is_tool(role) else state.proposals


def propose(state: PlanPathState, tool: str, proposal: Proposal) -> PlanPathState:
    """The state after a tool has written; nobody has moved."""
    return replace(state, proposals=(*seen(state, tool), proposal))
