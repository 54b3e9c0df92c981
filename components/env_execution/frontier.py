"""The live ends of all episodes: what must be answered next, as a value that can be stored.

Between two phases a frontier is all there is to know; with the candidates of its prompts
`advance` turns it into the next one. A phase is one role's move (serial order) or the moves of
all roles (parallel order).
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.env_execution.rules import Rules, check_branching
from components.errors import RecordError, RolewiseError
from components.members import check_roles
from components.records import Episode, Turn
from envs.base import Environment, Message, Order, State, Status, Task

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Node:
    """One live branch of one episode."""

    episode_id: str
    task_id: str
    seed: int
    """The task's stream."""
    state: State
    path: str = ""
    """The executed candidates from the root, e.g. `2.0.3`."""
    spine: bool = True
    """Whether every pick on the path was the first one: the branch that beam 1 would play.
    Its end is the episode's."""
    team_reward: float = 0.0
    """Of the last executed action."""
    status: Status = Status.RUNNING


@dataclass(frozen=True)
class Frontier:
    """All live nodes before one phase of one turn, and the episodes that are over."""

    benchmark: str
    """`train`, or the benchmark's name."""
    turn: int
    """From 0."""
    phase: int
    """Index of the acting role in serial order, 0 in parallel order."""
    nodes: tuple[Node, ...]
    """Empty when nothing is left to play."""
    ended: tuple[Episode, ...] = ()


def start(
    env: Environment, tasks: Sequence[Task], rules: Rules, benchmark: str = "train"
) -> Frontier:
    """The first frontier: one node per task, or K replicas of it in parallel sampling."""
    check_roles(env, rules.roles)
    check_branching(env, rules)
    seen: set[str] = set()
    for task in tasks:
        if task.task_id in seen:
            raise RolewiseError(
                f"task {task.task_id!r} was drawn twice in one batch of environment {env.name!r}: "
                "expected distinct tasks; lower rollout.num_tasks or add tasks"
            )
        seen.add(task.task_id)
    nodes = [
        Node(episode_id, task.task_id, task.seed, env.reset(task))
        for task in tasks
        for episode_id in _episode_ids(task, rules)
    ]
    return Frontier(benchmark, turn=0, phase=0, nodes=tuple(nodes))


def acting(env: Environment, frontier: Frontier) -> tuple[str, ...]:
    """The roles that write in this phase, in their order."""
    return env.roles if env.order == Order.PARALLEL else (env.roles[frontier.phase],)


def num_phases(env: Environment) -> int:
    """Phases per turn."""
    return 1 if env.order == Order.PARALLEL else len(env.roles)


def prompts(env: Environment, frontier: Frontier, rules: Rules) -> list[Turn]:
    """One row per live node and acting role; in parallel order all from the start of the turn."""
    return [
        _prompt(env, node, role, frontier.turn, rules)
        for node in frontier.nodes
        for role in acting(env, frontier)
    ]


def prompt_digest(messages: Sequence[Message]) -> str:
    """16 hex of sha256 over the messages' canonical JSON: the node of parallel sampling."""
    text = json.dumps(list(messages), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def encode(env: Environment, frontier: Frontier) -> str:
    """The frontier as JSON; `decode` is its inverse."""
    content = {
        "schema_version": SCHEMA_VERSION,
        "env": env.name,
        "env_version": env.version,
        "benchmark": frontier.benchmark,
        "turn": frontier.turn,
        "phase": frontier.phase,
        "nodes": [_flat(node) | {"state": env.encode_state(node.state)} for node in frontier.nodes],
        "ended": [_flat(episode) for episode in frontier.ended],
    }
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def decode(env: Environment, text: str, source: str = "frontier") -> Frontier:
    """Read what `encode` wrote. RecordError for another version, environment or shape."""
    try:
        content = json.loads(text)
        _check_origin(env, content, source)
        return Frontier(
            content["benchmark"],
            content["turn"],
            content["phase"],
            tuple(_node(env, item) for item in content["nodes"]),
            tuple(Episode(**_with_status(item)) for item in content["ended"]),
        )
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise RecordError(f"{source}: not a frontier: {type(error).__name__}: {error}") from error


def _check_origin(env: Environment, content: Mapping[str, Any], source: str) -> None:
    version = content.get("schema_version")
    if version != SCHEMA_VERSION:
        raise RecordError(
            f"{source}: frontier has schema_version {version!r}, expected {SCHEMA_VERSION}; "
            "play the iteration again from its first turn"
        )
    found = (content["env"], content["env_version"])
    if found != (env.name, env.version):
        raise RecordError(
            f"{source}: frontier of environment and version {found}, "
            f"expected {(env.name, env.version)}; play the iteration again from its first turn"
        )


def _prompt(env: Environment, node: Node, role: str, turn: int, rules: Rules) -> Turn:
    messages = tuple(env.observe(node.state, role))
    return Turn(
        episode_id=node.episode_id,
        task_id=node.task_id,
        env=env.name,
        node=prompt_digest(messages) if rules.sampling == "parallel" else node.path,
        turn=turn,
        role=role,
        policy=rules.roles[role],
        messages=messages,
    )


def _episode_ids(task: Task, rules: Rules) -> list[str]:
    if rules.sampling == "tree":
        return [task.task_id]
    return [f"{task.task_id}#{replica}" for replica in range(rules.num_candidates)]


def _flat(value: Node | Episode) -> dict[str, Any]:
    """Fields by name, one level deep: states stay as they are."""
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _node(env: Environment, item: Mapping[str, Any]) -> Node:
    return Node(**(_with_status(item) | {"state": env.decode_state(item["state"])}))


def _with_status(item: Mapping[str, Any]) -> dict[str, Any]:
    return {**item, "status": Status(item["status"])}
