"""Where two answers part."""

from dataclasses import replace

import pytest

from components.engine import FinishReason
from components.records import Candidate, Turn
from components.replay.difference import compare_answers

TURN = Turn("t", "t", "e", "", 0, "A", "a", ({"role": "user", "content": "?"},))
THEN = Candidate(
    TURN, 1, 5, 1.0, 1.0, 0, 8, "a@0-x", (7, 8), (1, 2, 3), (-0.5, -1.0, -0.25), "x",
    FinishReason.STOP, None,
)  # fmt: skip


def test_the_same_tokens_with_rounded_logprobs() -> None:
    found = compare_answers(THEN, replace(THEN, logprobs=(-0.5, -1.0 + 1e-6, -0.25)))
    assert found.same and found.logprob_gap == pytest.approx(1e-6)
    assert "the same 3 tokens, log-probs within 1e-06" in found.line


def test_the_first_differing_token_and_its_gap() -> None:
    now = replace(THEN, completion_ids=(1, 9, 3), logprobs=(-0.5, -1.25, -4.0))
    found = compare_answers(THEN, now)
    assert (found.same, found.first, found.token_then, found.token_now) == (False, 1, 2, 9)
    assert found.gap == pytest.approx(0.25) and found.logprob_gap == 0.0


def test_log_probs_are_compared_of_the_same_tokens_alone() -> None:
    """The differing ones are two tokens, each with its log-prob; no gap is made of them."""
    now = replace(THEN, completion_ids=(1, 9, 3), logprobs=(-0.5 - 2e-6, -1.25, -4.0))
    assert compare_answers(THEN, now).line == (
        "turn 0 A candidate 1: token 1 was 2 (log-prob -1.0000), is 9 (log-prob -1.2500); "
        "log-probs of the 1 before it within 2e-06"
    )


@pytest.mark.parametrize(("ids", "words"), [((1, 2), "is the end"), ((1, 2, 3, 4), "was the end")])
def test_one_ends_earlier(ids: tuple[int, ...], words: str) -> None:
    found = compare_answers(THEN, replace(THEN, completion_ids=ids, logprobs=(-0.5,) * len(ids)))
    assert not found.same and found.gap is None and words in str(found.fault)


def test_other_prompts_and_other_ends() -> None:
    prompt = compare_answers(THEN, replace(THEN, prompt_ids=(7, 9)))
    assert "prompt's token 1 differs" in str(prompt.fault)
    end = compare_answers(THEN, replace(THEN, finish_reason=FinishReason.LENGTH))
    assert not end.same and "the end was stop, is length" in str(end.fault)
