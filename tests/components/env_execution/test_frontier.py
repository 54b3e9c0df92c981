"""The frontier as a stored value, and the keys of parallel sampling."""

import json

import pytest

from components.env_execution.advance import advance
from components.env_execution.frontier import decode, encode, prompt_digest, prompts, start
from components.errors import RecordError
from envs.base import Order, Split, Status
from tests.doubles.environments import Tracer
from tests.doubles.rows import SCORES, answers, make_rules, play_texts


@pytest.mark.parametrize("order", list(Order))
def test_json_round_trip_at_every_phase(order: Order) -> None:
    env, rules = Tracer(order=order, endings={"0:A5": Status.SOLVED}), make_rules()
    frontier = start(env, env.tasks(Split.TRAIN, 0, 0, 2), rules)
    while frontier.nodes:
        assert decode(env, encode(env, frontier)) == frontier
        frontier = advance(
            env, frontier, answers(prompts(env, frontier, rules), rules), rules
        ).frontier
    assert len(frontier.ended) == 2
    assert decode(env, encode(env, frontier)) == frontier


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"schema_version": 0}, "f.json.*schema_version 0, expected 1"),
        ({"env_version": "0"}, r"f.json.*\('tracer', '0'\), expected \('tracer', '1'\)"),
        ({"nodes": [{}]}, "f.json: not a frontier"),
    ],
)
def test_another_version_is_refused_by_name(change: dict[str, object], match: str) -> None:
    env, rules = Tracer(), make_rules()
    frontier = start(env, env.tasks(Split.TRAIN, 0, 0, 1), rules)
    text = json.dumps(json.loads(encode(env, frontier)) | change)
    with pytest.raises(RecordError, match=match):
        decode(env, text, "f.json")


def test_text_that_is_not_json_is_refused() -> None:
    with pytest.raises(RecordError, match="not a frontier"):
        decode(Tracer(), "{")


def test_parallel_sampling_is_k_independent_episodes() -> None:
    rules = make_rules(sampling="parallel", num_turns=2)
    scored, frontier = play_texts(Tracer(), rules)
    assert [episode.episode_id for episode in frontier.ended] == [
        f"tracer/train/0/0#{replica}" for replica in range(4)
    ]
    assert all(row.chosen for row in scored)
    for row in scored:
        turn = row.candidate.turn
        assert turn.episode_id == f"{turn.task_id}#{row.candidate.candidate}"
        own = [f"{role}{SCORES[role][row.candidate.candidate]}" for role in "AB"]
        log = (own * 2)[: 2 * turn.turn + (turn.role == "B")]
        assert turn.messages[0]["content"].endswith(f"[{','.join(log)}]")


def test_parallel_sampling_shares_a_node_only_between_equal_prompts() -> None:
    rules = make_rules(sampling="parallel", num_turns=2)
    texts = {"A": "1123", "B": "7777"}
    scored, _ = play_texts(Tracer(), rules, texts)
    nodes: dict[tuple[int, str], list[str]] = {}
    for row in scored:
        turn = row.candidate.turn
        assert turn.node == prompt_digest(turn.messages)
        nodes.setdefault((turn.turn, turn.role), []).append(turn.node)
    assert len(set(nodes[0, "A"])) == 1
    assert [nodes[0, "B"].index(node) for node in nodes[0, "B"]] == [0, 0, 2, 3]


def test_parallel_sampling_ends_every_replica_alone() -> None:
    env = Tracer(endings={"A5": Status.SOLVED})
    _, frontier = play_texts(env, make_rules(sampling="parallel", num_turns=1))
    ends = {e.episode_id[-1]: e.status for e in frontier.ended}
    assert ends["1"] == Status.SOLVED
    assert {ends[replica] for replica in "023"} == {Status.OUT_OF_TURNS}


def test_parallel_sampling_in_parallel_order_and_with_a_failure() -> None:
    rules = make_rules(sampling="parallel", num_turns=1)
    texts = {"A": ["1", None, "2", "3"], "B": "7129"}
    scored, frontier = play_texts(Tracer(order=Order.PARALLEL), rules, texts)
    assert [e.status for e in sorted(frontier.ended, key=lambda e: e.episode_id)] == [
        Status.OUT_OF_TURNS, Status.ERROR, Status.OUT_OF_TURNS, Status.OUT_OF_TURNS,
    ]  # fmt: skip
    assert sum(row.reward is None for row in scored) == 2
