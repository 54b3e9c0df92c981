"""DeepSpeed's steps against plain PyTorch, on one process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from components.settings import UpdateConfig
from components.update.deepspeed_engine import (
    TrainingEngine,
    disable_compiled_ops,
    launcher_variables,
)
from components.update.folders import load_model
from components.update.job import Job
from components.update.reinforce import Reinforce
from components.update.samples import TrainSample
from tests.components.update.tiny import make_rows, plain_logprobs

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning:torch"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]
SETTINGS = UpdateConfig(learning_rate=1e-2, minibatch_size=8, weight_decay=0.01, adam_eps=1e-3)


def plain_gradients(model: Any, samples: list[TrainSample]) -> dict[str, torch.Tensor]:
    """Eq. 2 by hand: one unpadded sequence at a time, token mean over all."""
    model.zero_grad()
    total = sum(len(sample.completion_ids) for sample in samples)
    for sample in samples:
        ids = torch.tensor([[*sample.prompt_ids, *sample.completion_ids]])
        logits = model(input_ids=ids).logits[0, len(sample.prompt_ids) - 1 : -1]
        picked = torch.log_softmax(logits, -1).gather(
            1, torch.tensor(sample.completion_ids)[:, None]
        )
        ratio = (picked[:, 0] - torch.tensor(sample.logprobs)).exp()
        objective = torch.minimum(
            ratio * sample.advantage, ratio.clamp(0.8, 1.2) * sample.advantage
        )
        (-objective.sum() / total).backward()
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


def engine_gradients(update: Reinforce) -> dict[str, torch.Tensor]:
    """What the engine would apply in its first step."""
    from deepspeed.utils import safe_get_full_grad

    found: dict[str, torch.Tensor] = {}
    step = update.engine._engine.step

    def read_then_step() -> None:
        update.engine._engine.allreduce_gradients()
        for name, parameter in update.engine.module.named_parameters():
            if parameter.requires_grad:
                found[name] = safe_get_full_grad(parameter).clone()
        step()

    update.engine._engine.step = read_then_step
    update.run()
    return found


@pytest.mark.parametrize("kind", ["full", "lora"])
@pytest.mark.parametrize(
    "changes",
    [
        {"tokens_per_microbatch": 1},
        {"tokens_per_microbatch": 10_000},
        {"gradient_checkpointing": True},
    ],
)
def test_gradients_are_those_of_plain_pytorch(
    kind: str, changes: dict[str, int], folder: Path, adapter: Path, make_job: Callable[..., Job]
) -> None:
    rows = make_rows(folder, 3)
    settings = SETTINGS.model_copy(update={"minibatch_size": 99, **changes})
    job = make_job(rows, settings=settings)
    source, base = (folder, None) if kind == "full" else (adapter, folder)
    with launcher_variables():
        update = Reinforce(job, TrainingEngine(load_model(source, base, "float32"), settings))
        found = engine_gradients(update)
    expected = plain_gradients(load_model(source, base, "float32"), update.samples)
    assert set(found) >= set(expected) and expected
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("checkpointing", [False, True])
def test_checkpointing_computes_layers_again_without_dropout(
    checkpointing: bool, folder: Path, make_job: Callable[..., Job]
) -> None:
    settings = SETTINGS.model_copy(update={"gradient_checkpointing": checkpointing})
    job = make_job(make_rows(folder, 2), settings=settings)
    calls: list[bool] = []
    with launcher_variables():
        update = Reinforce(job, TrainingEngine(load_model(folder, None, "float32"), settings))
        inner = next(
            item for name, item in update.engine.module.named_modules() if name[-3:] == "mlp"
        )
        inner.register_forward_pre_hook(lambda module, *_: calls.append(module.training))
        update.run()
    assert len(calls) == (2 if checkpointing else 1) and not any(calls)


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_several_steps_are_those_of_adamw(
    stage: int, folder: Path, make_job: Callable[..., Job]
) -> None:
    settings = SETTINGS.model_copy(update={"zero_stage": stage, "epochs": 2, "warmup_steps": 4})
    job = make_job(make_rows(folder, 4), settings=settings)
    with launcher_variables():
        update = Reinforce(job, TrainingEngine(load_model(folder, None, "float32"), settings))
        order: list[list[int]] = []
        original = update._step
        update._step = lambda indices, first: (
            order.append(list(indices)),
            original(indices, first),
        )  # type: ignore[func-returns-value, method-assign, assignment, misc]
        metrics = update.run()
        found = update.engine.weights()
    model = load_model(folder, None, "float32")
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-2, weight_decay=0.01, eps=1e-3, betas=settings.betas
    )
    norms = []
    for number, indices in enumerate(order):
        plain_gradients(model, [update.samples[index] for index in indices])
        norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)))
        optimizer.param_groups[0]["lr"] = 1e-2 * min(1.0, (number + 1) / 4)
        optimizer.step()
    assert len(order) == 4 and metrics["num_steps"] == 4
    assert metrics["grad_norm"] == pytest.approx(sum(norms) / 4, rel=1e-4)
    assert metrics["learning_rate"] == pytest.approx(1e-2)
    for name, value in model.state_dict().items():
        torch.testing.assert_close(found[name], value, atol=1e-5, rtol=0)


def test_rule_1_the_op_still_has_its_name() -> None:
    import deepspeed.ops

    disable_compiled_ops()
    assert deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] is False


def test_rule_3_stage_0_in_bfloat16_is_refused() -> None:
    with pytest.raises(ValueError, match="zero_stage 0 with bfloat16"):
        UpdateConfig(zero_stage=0, dtype="bfloat16")


def test_fault_5_a_sample_of_temperature_two_trains_the_tempered_policy(
    folder: Path, make_job: Callable[..., Job]
) -> None:
    """The old log-probs of the rows are those of softmax(logits / 2): no mismatch, ratio 1."""
    job = make_job(make_rows(folder, 2, temperature=2.0))
    with launcher_variables():
        update = Reinforce(job, TrainingEngine(load_model(folder, None, "float32"), SETTINGS))
        metrics = update.run()
    assert metrics["logprob_mismatch"] < 1e-5
    model = load_model(folder, None, "float32")
    sample = update.samples[0]
    plain = plain_logprobs(model, sample.prompt_ids, sample.completion_ids, 1.0)
    assert (plain - torch.tensor(sample.logprobs)).abs().max() > 1e-2
