"""Cross-entropy on demonstrated answers: the warm start's training."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from components.chat import answer_ids, prompt_ids
from components.errors import RecordError
from components.seeds import derive_seed
from components.update.batching import MicroBatch, microbatches, minibatches
from components.update.deepspeed_engine import TrainingEngine
from components.update.forward import token_statistics
from components.update.job import Job
from components.update.samples import TrainSample, flatten
from components.update.training import Totals, metrics, prepare, report, train_step

FINAL_RATE = 0.05
"""Of the learning rate, at the last step."""


def imitate(job: Job, engine: TrainingEngine) -> dict[str, float]:
    """Train on the job's demonstrations for `total_steps` steps of minibatch_size answers."""
    samples = demonstrations(job)
    tokens, totals = flatten(samples), Totals(Counter())
    temperatures = torch.ones(len(tokens.logprobs), device=engine.device)

    def objective(batch: MicroBatch, scale: Tensor) -> tuple[Tensor, Mapping[str, float]]:
        at = torch.from_numpy(batch.tokens).to(engine.device)
        found = token_statistics(engine, batch, temperatures[at])
        loss = -(scale * found.logprobs).sum()
        live = scale > 0
        sums = {
            "tokens": live.sum(),
            "loss": loss.detach(),
            "entropy": found.entropies[live].sum(),
        }
        return loss, {name: float(value) for name, value in sums.items()}

    settings, total = job.settings, job.total_steps
    for step, indices in enumerate(_stream(samples, settings.minibatch_size, job.seed, total)):
        batches = microbatches(samples, indices, settings.tokens_per_microbatch, tokens.offsets)
        count = sum(len(samples[index].completion_ids) for index in indices)
        scales = torch.full((len(tokens.logprobs),), 1.0 / count)
        before = totals.sums["loss"]
        rate = decayed(settings.learning_rate, settings.warmup_steps, total, step)
        train_step(engine, prepare(engine, batches, scales), objective, rate, totals, job)
        report(job, engine, totals, total, loss=totals.sums["loss"] - before)
    return metrics(engine, totals, samples, tokens)


def demonstrations(job: Job) -> list[TrainSample]:
    """The job's JSON list of `{"messages": [...], "answer": text}` as tokens.

    RecordError if it is empty.
    """
    from transformers import AutoTokenizer

    shown: list[dict[str, Any]] = json.loads(Path(job.data).read_text())
    if not shown:
        raise RecordError(f"policy {job.policy}: no demonstrations in {job.data}")
    tokenizer = AutoTokenizer.from_pretrained(job.base or job.folder, local_files_only=True)
    return [
        _sample(prompt_ids(tokenizer, item["messages"]), answer_ids(tokenizer, item["answer"]))
        for item in shown
    ]


def decayed(learning_rate: float, warmup_steps: int, total: int, step: int) -> float:
    """Linear warm-up, then linear decay to 5 % at the last step; `step` from 0."""
    if step < warmup_steps:
        return learning_rate * (step + 1) / warmup_steps
    left = (total - 1 - step) / max(total - 1 - warmup_steps, 1)
    return learning_rate * (FINAL_RATE + (1.0 - FINAL_RATE) * max(left, 0.0))


def _sample(prompt: Sequence[int], answer: Sequence[int]) -> TrainSample:
    completion = np.asarray(answer, np.int64)
    return TrainSample(
        np.asarray(prompt, np.int64), completion, np.zeros(len(answer), np.float32), 1.0, 1.0, 1.0
    )


def _stream(
    samples: Sequence[TrainSample], size: int, seed: int, total: int
) -> Iterator[Sequence[int]]:
    """`total` minibatches: epoch after epoch, each in an order of its own."""
    done, epoch = 0, 0
    while done < total:
        for indices in minibatches(samples, size, derive_seed("imitate", seed, epoch), False):
            if done < total:
                yield indices
            done += 1
        epoch += 1
