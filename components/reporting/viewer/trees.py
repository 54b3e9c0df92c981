"""From rows to trees: each task's prompts with all candidates that answered them. Pure.

A tree is plain JSON. Token ids and log-probs, the bulk, are apart: the page loads them on demand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from components.reporting.viewer.surprise import far_from_mean, is_silent, unlikely_winner

Json = dict[str, Any]
KEY = ("task_id", "node", "turn", "role")
"""Rows that agree in these answered the same prompt."""
_FACTS = (
    "episode_id", "candidate", "text", "reward", "reward_parts", "advantage", "weight", "chosen",
    "status", "finish_reason", "error", "seed",
)  # fmt: skip
_ONCE = ("policy", "policy_version", "temperature", "top_p", "top_k", "max_new_tokens")


@dataclass(frozen=True)
class Tree:
    """All that was played of one task in one iteration."""

    task: str
    groups: list[Json]
    """In the order in which they were played: prompt, policy version, candidates."""
    tokens: list[list[list[Any]]]
    """[num_groups][num_candidates] of `[completion_ids, logprobs]`."""

    @property
    def size(self) -> int:
        """Characters of text, to cut chunks by."""
        prompts = sum(len(m[1]) for group in self.groups for m in group["messages"])
        return prompts + sum(len(a["text"]) + 200 for g in self.groups for a in g["answers"])


def trees(table: pa.Table) -> list[Tree]:
    """The trees of a Sample or Scored table, tasks in order of first appearance."""
    groups = grouped(table)
    if not groups:
        return []
    firsts = table.take([rows[0] for rows in groups.values()])
    once = {name: firsts[name].to_pylist() for name in ("messages", "prompt_ids", *_ONCE)}
    facts = {name: _column(table, name) for name in _FACTS}
    ids, logprobs = _column(table, "completion_ids"), _column(table, "logprobs")
    found: dict[str, Tree] = {}
    for number, (key, rows) in enumerate(groups.items()):
        values = dict(zip(KEY, key, strict=True))
        tree = found.setdefault(values["task_id"], Tree(values["task_id"], [], []))
        shared = {name: column[number] for name, column in once.items()}
        answers = [_answer({n: c[row] for n, c in facts.items()}, logprobs[row]) for row in rows]
        tree.groups.append(_group(values, shared, answers))
        tree.tokens.append([[ids[row], [round(p, 3) for p in logprobs[row]]] for row in rows])
    return list(found.values())


def grouped(table: pa.Table) -> dict[tuple[Any, ...], list[int]]:
    """(task, node, turn, role) -> rows, in order of first appearance."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for row, key in enumerate(zip(*(table[name].to_pylist() for name in KEY), strict=True)):
        groups.setdefault(key, []).append(row)
    return groups


def index_row(tree: Tree, episode: Mapping[str, Any], roles: Sequence[str]) -> Json:
    """What the list filters and sorts by, for one episode: counts and surprises by role."""
    own = [
        group
        for group in tree.groups
        if any(answer["episode"] == episode["episode_id"] for answer in group["answers"])
    ]
    by_role = {role: [group for group in own if group["role"] == role] for role in roles}
    return {
        "episode": episode["episode_id"], "status": episode["status"],
        "turns": episode["num_turns"], "reward": episode["team_reward"],
        "tokens": sum(answer["tokens"] for group in own for answer in group["answers"]),
        "groups": {role: len(groups) for role, groups in by_role.items()},
        "silent": {role: sum(g["silent"] for g in groups) for role, groups in by_role.items()},
        "far": {role: max((g["far"] for g in groups), default=0.0)
                for role, groups in by_role.items()},
        "unlikely": {role: max((g["unlikely"] for g in groups), default=0.0)
                     for role, groups in by_role.items()},
    }  # fmt: skip


def _group(key: Json, shared: Json, answers: list[Json]) -> Json:
    rewards = [answer["reward"] for answer in answers]
    return {
        "role": key["role"], "turn": key["turn"], "node": key["node"],
        "messages": [[m["role"], m["content"]] for m in shared["messages"]],
        "prompt_tokens": len(shared["prompt_ids"]),
        **{name: shared[name] for name in _ONCE},
        "silent": is_silent(rewards), "far": round(far_from_mean(rewards), 4),
        "unlikely": round(unlikely_winner(answers), 3),
        "answers": answers,
    }  # fmt: skip


def _answer(row: Json, logprobs: Sequence[float]) -> Json:
    return {
        "episode": row["episode_id"], "candidate": row["candidate"], "text": row["text"],
        "reward": row["reward"], "parts": row["reward_parts"], "advantage": row["advantage"],
        "weight": row["weight"], "chosen": row["chosen"], "status": row["status"],
        "finish": row["finish_reason"], "error": row["error"], "seed": str(row["seed"]),
        "tokens": len(logprobs), "logprob": round(sum(logprobs), 3),
    }  # fmt: skip


def _column(table: pa.Table, name: str) -> list[Any]:
    """A column's values; None for all where the table has none (answers without groups)."""
    if name not in table.column_names:
        return [None] * table.num_rows
    values: list[Any] = table[name].to_pylist(maps_as_pydicts="strict")
    return values
