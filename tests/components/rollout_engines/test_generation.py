"""Both engines against the Engine contract, and against a plain forward pass."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from components.engine import Completion, FinishReason, Sampling
from components.errors import RolewiseError
from components.policies import PolicyRef
from tests.components.rollout_engines.conftest import World
from tests.components.rollout_engines.tiny_team import make_requests, make_team

SAMPLING = Sampling(max_new_tokens=16, max_prompt_tokens=64)
END = 1


def oracle_logprobs(world: World, ref: PolicyRef, answer: Completion, sampling: Sampling) -> Any:
    """Log-probs of the answer's tokens by one forward pass of transformers (and PEFT)."""
    import torch
    from transformers import AutoModelForCausalLM

    from components.rollout.drawing import sampling_logprobs

    model = AutoModelForCausalLM.from_pretrained(
        world.folder(ref.base or ref), dtype=torch.float32
    ).eval()
    if ref.base is not None:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, str(world.folder(ref))).eval()
    ids = torch.tensor([answer.prompt_ids + answer.completion_ids])
    with torch.no_grad():
        logits = model(ids).logits[0, len(answer.prompt_ids) - 1 : -1]
    values = sampling_logprobs(logits, sampling.temperature, sampling.top_p, sampling.top_k)
    return values.gather(-1, torch.tensor(answer.completion_ids)[:, None])[:, 0].tolist()


@pytest.mark.parametrize(
    "sampling",
    [
        SAMPLING,
        replace(SAMPLING, temperature=0.7, top_k=12),
        replace(SAMPLING, temperature=1.3, top_p=0.8),
        replace(SAMPLING, temperature=0.0),
    ],
    ids=["plain", "top_k", "top_p", "greedy"],
)
def test_fault_5_logprobs_are_those_of_the_sampled_distribution(
    engine: Any, world: World, sampling: Sampling
) -> None:
    answers = engine.generate(make_requests(["planner", "tool"], 3, 2), 2, sampling)
    for answer in answers:
        expected = oracle_logprobs(world, world.full.policies[answer.policy], answer, sampling)
        assert answer.logprobs == pytest.approx(expected, abs=1e-4)


def test_adapters_on_one_base_answer_in_one_step(engine: Any, world: World) -> None:
    engine.reload(world.adapted)
    answers = engine.generate(make_requests(list(world.adapted.roles), 2, 2), 2, SAMPLING)
    for answer in answers:
        ref = world.adapted.policies[answer.policy]
        assert answer.policy_version == ref.tag
        expected = oracle_logprobs(world, ref, answer, SAMPLING)
        assert answer.logprobs == pytest.approx(expected, abs=1e-4)


def test_answers_come_in_order_and_carry_their_version(engine: Any, world: World) -> None:
    requests = make_requests(["tool", "planner"], 2, 3)[::-1]
    answers = engine.generate(requests, 3, SAMPLING)
    expected = [(r.request_id, k, r.seeds[k], r.policy) for r in requests for k in range(3)]
    assert [(a.request_id, a.candidate, a.seed, a.policy) for a in answers] == expected
    for answer in answers:
        assert answer.policy_version == world.full.policies[answer.policy].tag
        assert answer.error is None


def test_same_batch_same_answers_and_other_seeds_differ(engine: Any) -> None:
    requests = make_requests(["planner", "tool"], 4, 2)
    first, second = (engine.generate(requests, 2, SAMPLING) for _ in range(2))
    assert first == second
    assert all(a.completion_ids != b.completion_ids for a, b in list(pairwise(first))[::2])


def test_a_candidate_is_drawn_again_alone(engine: Any) -> None:
    requests = make_requests(["planner", "tool"], 4, 4)
    together = engine.generate(requests, 4, SAMPLING)
    for index, request in enumerate(requests):
        [alone] = engine.generate([replace(request, seeds=request.seeds[2:3])], 1, SAMPLING)
        expected = together[index * 4 + 2]
        assert alone.completion_ids == expected.completion_ids
        assert alone.logprobs == pytest.approx(expected.logprobs, abs=1e-4)


def test_finish_reasons_and_text(engine: Any) -> None:
    answers = engine.generate(make_requests(["planner"], 16, 4), 4, SAMPLING)
    reasons = {answer.finish_reason for answer in answers}
    assert reasons == {FinishReason.STOP, FinishReason.LENGTH}
    for answer in answers:
        stopped = answer.finish_reason is FinishReason.STOP
        assert (answer.completion_ids[-1] == END) == stopped
        assert END not in answer.completion_ids[:-1]
        assert stopped or len(answer.completion_ids) == SAMPLING.max_new_tokens
        assert "<end>" not in answer.text and "<pad>" not in answer.text


def test_stats_count_a_prompt_once(engine: Any) -> None:
    before = engine.stats()
    answers = engine.generate(make_requests(["planner"], 2, 2), 2, SAMPLING)
    grown = {name: value - before[name] for name, value in engine.stats().items()}
    assert grown["num_prompt_tokens"] == sum(len(a.prompt_ids) for a in answers[::2])
    assert grown["num_completion_tokens"] == sum(len(a.completion_ids) for a in answers)
    assert grown["generate_s"] > 0.0


def test_long_prompt_is_an_error_before_generation(engine: Any) -> None:
    requests = make_requests(["planner"], 1, 1, words=70)
    with pytest.raises(RolewiseError, match=r"planner-0 .policy planner.: prompt has 7\d tokens"):
        engine.generate(requests, 1, SAMPLING)


def test_unknown_policy_and_wrong_seeds_are_named(engine: Any) -> None:
    with pytest.raises(RolewiseError, match=r"judge-0: policy 'judge'.*\['planner', 'tool'\]"):
        engine.generate(make_requests(["judge"], 1, 1), 1, SAMPLING)
    with pytest.raises(RolewiseError, match="got 2 seeds, expected 4"):
        engine.generate(make_requests(["tool"], 1, 2), 4, SAMPLING)


def test_reload_plays_the_new_weights(engine: Any, world: World) -> None:
    swapped = replace(world.full, policies=dict(zip(
        world.full.policies, reversed(world.full.policies.values()), strict=True)))  # fmt: skip
    requests = make_requests(["planner"], 2, 2)
    before = engine.generate(requests, 2, SAMPLING)
    engine.reload(swapped)
    after = engine.generate(requests, 2, SAMPLING)
    assert {a.policy_version for a in after} == {world.full.policies["tool"].tag}
    for answer in after:
        ref = world.full.policies["tool"]
        assert answer.logprobs == pytest.approx(
            oracle_logprobs(world, ref, answer, SAMPLING), abs=1e-4
        )
    engine.reload(world.full)
    assert engine.generate(requests, 2, SAMPLING) == before


def test_reload_keeps_the_engines_of_policies_that_stay(engine: Any, world: World) -> None:
    requests = make_requests(["planner"], 2, 2)
    before = engine.generate(requests, 2, SAMPLING)
    kept = set(map(id, engine._models.values()))
    engine.reload(make_team({"planner": world.full.policies["planner"]}))
    assert set(map(id, engine._models.values())) < kept
    assert engine.generate(requests, 2, SAMPLING) == before
    assert set(map(id, engine._models.values())) < kept


def test_a_dead_vllm_is_opened_again(vllm_engine: Any, world: World) -> None:
    vllm_engine.reload(world.full)
    requests = make_requests(["planner", "tool"], 2, 2)
    expected = vllm_engine.generate(requests, 2, SAMPLING)
    for model in vllm_engine._models.values():
        model.llm_engine.engine_core.shutdown()
        model.llm_engine.engine_core = None
    assert vllm_engine.generate(requests, 2, SAMPLING) == expected


def test_a_batch_that_kills_vllm_twice_comes_back_as_errors(vllm_engine: Any, world: World) -> None:
    vllm_engine.reload(world.full)
    deadly = replace(SAMPLING, top_k=-7)
    answers = vllm_engine.generate(make_requests(["planner"], 1, 2), 2, deadly)
    assert [a.finish_reason for a in answers] == [FinishReason.ERROR] * 2
    assert all(a.completion_ids == () and "top_k" in (a.error or "") for a in answers)
    [healthy] = vllm_engine.generate(make_requests(["planner"], 1, 1), 1, SAMPLING)
    assert healthy.error is None
