"""From a frontier and the candidates of its prompts to the scored rows and the next frontier.

Pure: the same arguments give the same result, in one process or with files in between.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from components.env_execution.frontier import Frontier, Node, acting, num_phases, prompts
from components.env_execution.rules import Rules, candidate_indices
from components.env_execution.scoring import Judged, Report, judge_all, unjudged
from components.env_execution.selection import choose, pick_rng, place
from components.errors import RolewiseError
from components.records import Candidate, Episode, Scored, Turn
from envs.base import Environment, Status


class Advanced(NamedTuple):
    """What one phase made."""

    scored: list[Scored]
    """One row per candidate: by node, then role, then candidate."""
    frontier: Frontier
    ended: list[Episode]
    """Those that ended in this phase; the frontier holds all that ever did."""


def advance(
    env: Environment,
    frontier: Frontier,
    candidates: Sequence[Candidate],
    rules: Rules,
    report: Report | None = None,
) -> Advanced:
    """Score every candidate, execute only the picks, end what is over.

    One role's candidates on all nodes are judged in one go. RolewiseError if the candidates are
    not exactly those that the frontier's prompts ask for.
    """
    answers = _match(prompts(env, frontier, rules), candidates, rules)
    num_roles = len(acting(env, frontier))
    branches = [_Branch([node]) for node in frontier.nodes]
    for index in range(num_roles):
        _play_role(env, branches, answers[index::num_roles], rules, report)
    scored = [row for branch in branches for row in branch.scored]
    children = [node for branch in branches for node in branch.nodes]
    return _close_phase(env, frontier, scored, children, rules)


@dataclass
class _Branch:
    """What becomes of one node of the frontier during one phase."""

    nodes: list[Node]
    """The node itself, then its children; one where several roles act in the phase."""
    scored: list[Scored] = field(default_factory=list)


def _play_role(
    env: Environment,
    branches: Sequence[_Branch],
    answers: Sequence[Sequence[Candidate]],
    rules: Rules,
    report: Report | None,
) -> None:
    """One role's answers at every node.

    Serial order has one role in a phase; in parallel order each role's candidates are judged on
    the state that the picks before it made. Where a pick ended the episode, or a role had none,
    the later roles' candidates have no state to be judged in: as in serial order they do not
    count, their rows stay without reward and are never chosen.
    """
    live = []
    for branch, items in zip(branches, answers, strict=True):
        if branch.nodes[0].status == Status.RUNNING:
            live.append((branch, items))
        else:
            ended = branch.nodes[0].status
            branch.scored += [unjudged(item, ended).scored(False) for item in items]
    states = [branch.nodes[0].state for branch, _ in live]
    judged = judge_all(env, states, [items for _, items in live], rules.alpha, report)
    for (branch, items), of_node in zip(live, judged, strict=True):
        picks = choose([it.reward for it in of_node], rules.beam, pick_rng(rules, items[0].turn))
        branch.scored += [item.scored(index in picks) for index, item in enumerate(of_node)]
        parent = branch.nodes[0]
        children = [_child(parent, of_node[index], index == picks[0]) for index in picks]
        branch.nodes = children or [replace(parent, status=Status.ERROR)]


def _child(parent: Node, judged: Judged, first: bool) -> Node:
    """The node after executing one answer."""
    step = str(judged.candidate.candidate)
    assert judged.parts is not None
    return replace(
        parent,
        state=judged.state,
        path=f"{parent.path}.{step}" if parent.path else step,
        spine=parent.spine and first,
        team_reward=judged.parts["team"],
        status=judged.status,
    )


def _close_phase(
    env: Environment, before: Frontier, scored: list[Scored], branches: list[Node], rules: Rules
) -> Advanced:
    turn, phase = before.turn, before.phase + 1
    if phase == num_phases(env):
        turn, phase = turn + 1, 0
    if turn == rules.num_turns:
        branches = [_out_of_turns(node) for node in branches]
    live = tuple(node for node in branches if node.status == Status.RUNNING)
    over = [node for node in branches if node.spine and node.status != Status.RUNNING]
    ended = [_episode(env, before, node) for node in over]
    return Advanced(
        scored, Frontier(before.benchmark, turn, phase, live, (*before.ended, *ended)), ended
    )


def _out_of_turns(node: Node) -> Node:
    return replace(node, status=Status.OUT_OF_TURNS) if node.status == Status.RUNNING else node


def _episode(env: Environment, frontier: Frontier, node: Node) -> Episode:
    return Episode(
        episode_id=node.episode_id,
        task_id=node.task_id,
        env=env.name,
        benchmark=frontier.benchmark,
        seed=node.seed,
        num_turns=frontier.turn + 1,
        status=node.status,
        team_reward=node.team_reward,
    )


def _match(
    turns: Sequence[Turn], candidates: Sequence[Candidate], rules: Rules
) -> list[list[Candidate]]:
    """Each prompt's candidates in candidate order, whatever the order they came in."""
    found: dict[tuple[str, str, int, str], dict[int, Candidate]] = {_key(t): {} for t in turns}
    for item in candidates:
        of_turn = found.get(_key(item.turn))
        if of_turn is None or item.candidate in of_turn:
            fault = "nobody asked for it" if of_turn is None else "it is there twice"
            raise RolewiseError(f"{place(item.turn)} candidate {item.candidate}: {fault}")
        of_turn[item.candidate] = item
    return [_complete(turn, found[_key(turn)], rules) for turn in turns]


def _complete(turn: Turn, found: Mapping[int, Candidate], rules: Rules) -> list[Candidate]:
    expected = candidate_indices(turn, rules)
    if sorted(found) != list(expected):
        raise RolewiseError(
            f"{place(turn)}: got candidates {sorted(found)}, expected {list(expected)}"
        )
    for item in found.values():
        if item.turn != turn:
            raise RolewiseError(
                f"{place(turn)} candidate {item.candidate}: answers another prompt or policy "
                "than the frontier's; expected the rows that came with it"
            )
    return [found[index] for index in expected]


def _key(turn: Turn) -> tuple[str, str, int, str]:
    return turn.episode_id, turn.node, turn.turn, turn.role
