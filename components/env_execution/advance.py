"""From a frontier and the candidates of its prompts to the scored rows and the next frontier.

Pure: the same arguments give the same result, in one process or with files in between.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from components.env_execution.frontier import Frontier, Node, acting, num_phases, prompts
from components.env_execution.rules import Rules, candidate_indices
from components.env_execution.selection import Judged, choose, judge, pick_rng, place, unjudged
from components.errors import RolewiseError
from components.records import Candidate, Episode, Scored, Turn
from envs.base import Environment, Status

Answers = Mapping[str, Sequence[Candidate]]
"""role -> its candidates at one node, in candidate order."""


class Advanced(NamedTuple):
    """What one phase made."""

    scored: list[Scored]
    """One row per candidate: by node, then role, then candidate."""
    frontier: Frontier
    ended: list[Episode]
    """Those that ended in this phase; the frontier holds all that ever did."""


def advance(
    env: Environment, frontier: Frontier, candidates: Sequence[Candidate], rules: Rules
) -> Advanced:
    """Score every candidate, execute only the picks, end what is over.

    RolewiseError if the candidates are not exactly those that the frontier's prompts ask for.
    """
    answers = _match(prompts(env, frontier, rules), candidates, rules)
    roles = acting(env, frontier)
    scored: list[Scored] = []
    branches: list[Node] = []
    for index, node in enumerate(frontier.nodes):
        of_node = answers[index * len(roles) : (index + 1) * len(roles)]
        rows, children = play_node(env, node, dict(zip(roles, of_node, strict=True)), rules)
        scored += rows
        branches += children
    return _close_phase(env, frontier, scored, branches, rules)


def play_node(
    env: Environment, node: Node, answers: Answers, rules: Rules
) -> tuple[list[Scored], list[Node]]:
    """One phase at one node: (scored rows, children with their status).

    Serial order has one role here; in parallel order each role's candidates are judged on the
    state that the picks before it made. Where a pick ends the episode, or a role has none, the
    later roles' candidates have no state to be judged in: as in serial order they do not count,
    their rows stay without reward and are never chosen.
    """
    scored: list[Scored] = []
    children = [node]
    for candidates in answers.values():
        current = children[0]
        if current.status != Status.RUNNING:
            scored += [unjudged(item, current.status).scored(False) for item in candidates]
            continue
        judged = [judge(env, current.state, item, rules.alpha) for item in candidates]
        rng = pick_rng(rules, candidates[0].turn)
        picks = choose([item.reward for item in judged], rules.beam, rng)
        scored += [item.scored(index in picks) for index, item in enumerate(judged)]
        children = [_child(current, judged[index], index == picks[0]) for index in picks]
        children = children or [replace(current, status=Status.ERROR)]
    return scored, children


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
