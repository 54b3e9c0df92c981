"""Trees, surprises, chunks and token spellings, from rows written by hand."""

import base64
import gzip
import json
from pathlib import Path

import pytest

from components.policies import PolicyRef
from components.records import Scored
from components.reporting.viewer.packing import chunks, packed
from components.reporting.viewer.surprise import far_from_mean, is_silent, unlikely_winner
from components.reporting.viewer.tokens import spellings, vocabulary
from components.reporting.viewer.trees import index_row, trees
from components.settings import StorageConfig
from components.storage import open_store
from tests.components.reporting.viewer.rows import make_episode, make_group, make_table


def test_a_tree_holds_every_prompt_with_its_candidates_in_order_of_play() -> None:
    table = make_table(
        make_group("t/0"), make_group("t/1"), make_group("t/0", role="planner", node="1")
    )
    first, second = trees(table)
    assert (first.task, second.task) == ("t/0", "t/1")
    assert [(g["turn"], g["role"], g["node"]) for g in first.groups] == [
        (0, "tool", ""), (0, "planner", "1"),
    ]  # fmt: skip
    group = first.groups[0]
    assert group["messages"] == [["user", "where to?"]]
    assert [a["reward"] for a in group["answers"]] == [0.0, 1.0]
    assert [a["advantage"] for a in group["answers"]] == [-0.5, 0.5]
    assert [a["chosen"] for a in group["answers"]] == [False, True]
    assert group["answers"][1]["parts"] == {"team": 1.0, "local/format": 0.0}
    assert group["answers"][0]["seed"] == str(2**62)  # a number would lose digits in JavaScript
    assert first.tokens[0][1] == [[5, 6], [-0.5, -0.5]]


def test_answers_of_held_out_play_have_no_group() -> None:
    samples = make_table(make_group(rewards=(1.0,)))
    table = samples.drop_columns(["group_id", "advantage", "weight"])
    assert table.num_columns > len(Scored.__dataclass_fields__)
    (tree,) = trees(table)
    answer = tree.groups[0]["answers"][0]
    assert answer["advantage"] is None and answer["weight"] is None
    assert not tree.groups[0]["silent"]
    assert trees(table.slice(0, 0)) == []


def test_parallel_episodes_share_a_tree_and_count_their_own_prompts() -> None:
    table = make_table(
        make_group(episodes=("t/0#0", "t/0#1")),
        make_group(turn=1, rewards=(0.5,), episodes=("t/0#1",)),
    )
    (tree,) = trees(table)
    rows = [index_row(tree, make_episode(f"t/0#{i}"), ["tool"]) for i in (0, 1)]
    assert [row["groups"]["tool"] for row in rows] == [1, 2]


def test_index_by_role() -> None:
    table = make_table(
        make_group(rewards=(1.0, 1.0)), make_group(role="planner", rewards=(0.0, 0.0, 3.0))
    )
    row = index_row(trees(table)[0], make_episode(), ["tool", "planner", "judge"])
    assert row["silent"] == {"tool": 1, "planner": 0, "judge": 0}
    assert row["far"] == {"tool": 0.0, "planner": 2.0, "judge": 0.0}
    assert row["groups"] == {"tool": 1, "planner": 1, "judge": 0}
    assert row["tokens"] == 10


@pytest.mark.parametrize(
    ("rewards", "silent"),
    [((1.0, 1.0), True), ((1.0, 1.0 + 1e-12), True), ((1.0, 0.0), False), ((1.0,), False),
     ((1.0, None), True), ((None, None), True), ((1.0, None, 0.0), False)],
)  # fmt: skip
def test_groups_without_a_signal(rewards: tuple[float | None, ...], silent: bool) -> None:
    assert is_silent(rewards) is silent


def test_the_farthest_reward() -> None:
    assert far_from_mean((0.0, 0.0, 0.0, 1.0)) == 0.75
    assert far_from_mean((0.0, None, 1.0)) == 0.5
    assert far_from_mean((1.0,)) == far_from_mean((None, None)) == 0.0


def answer(reward: float | None, logprob: float, chosen: bool = False) -> dict[str, object]:
    return {"reward": reward, "logprob": logprob, "chosen": chosen}


def test_an_unlikely_winner_is_picked_better_than_the_mean_and_less_likely() -> None:
    likely = [answer(0.0, -1.0), answer(0.0, -1.0)]
    assert unlikely_winner([*likely, answer(1.0, -7.0, True)]) == pytest.approx(4.0)
    assert unlikely_winner([*likely, answer(1.0, -7.0)]) == 0.0
    assert unlikely_winner([*likely, answer(1.0, -0.5, True)]) == 0.0
    assert unlikely_winner([*likely, answer(0.0, -7.0, True)]) == 0.0
    assert unlikely_winner([answer(None, -9.0), answer(1.0, -7.0, True)]) == 0.0


def test_packed_is_base64_of_gzip_and_the_same_every_time() -> None:
    value = {"text": "</script>\u202e\x00\ud800", "n": [1, None]}
    text = packed(value)
    assert text == packed(value) and set(text) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
    )
    back = json.loads(gzip.decompress(base64.b64decode(text)))
    assert back == {"text": "</script>\u202e\x00?", "n": [1, None]}


def test_chunks_are_cut_between_trees() -> None:
    table = make_table(*(make_group(f"t/{i}", prompt="x" * 300) for i in range(5)))
    found = trees(table)
    cut = list(chunks(found, limit=2 * found[0].size))
    assert [len(chunk) for chunk in cut] == [2, 2, 1]
    assert [tree for chunk in cut for tree in chunk] == found
    assert [len(chunk) for chunk in chunks(found, limit=1)] == [1] * 5


def test_spellings_of_word_level_and_byte_level_vocabularies() -> None:
    words = {"model": {"vocab": {"path": 0, "a1": 1}}, "decoder": None, "added_tokens": [
        {"id": 7, "content": "<end>"}]}  # fmt: skip
    assert vocabulary(words, {0, 7, 9}) == {0: "path", 7: "<end>"}
    pieces = {"model": {"vocab": {"Ġcaf": 0, "Ã©": 1, "Ċ": 2}}, "decoder": {"type": "ByteLevel"}}
    assert vocabulary(pieces, {0, 1, 2}) == {0: " caf", 1: "é", 2: "\n"}
    unigram = {"model": {"vocab": [["<unk>", 0.0], ["▁the", -1.0]]}}
    assert vocabulary(unigram, {1}) == {1: " the"}


def test_spellings_from_the_policy_else_its_base_else_none(tmp_path: Path) -> None:
    store = open_store(StorageConfig(uri=f"file://{tmp_path}/store"))
    content = {"model": {"vocab": {"go": 5}}}
    store.write("policies/b/tokenizer.json", json.dumps(content).encode())

    def ref(name: str, base: PolicyRef | None = None) -> PolicyRef:
        return PolicyRef(name, 0, f"{store.uri}/policies/{name}", name * 64, 1, base)

    assert spellings(store, ref("a", ref("b")), [5, 6]) == {5: "go"}
    assert spellings(store, ref("a"), [5]) == {}
    moved = PolicyRef("b", 0, "file://elsewhere/policies/b", "b" * 64, 1)
    assert spellings(store, moved, [5]) == {5: "go"}
