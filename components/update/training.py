"""The optimiser loop that both kinds of job share: epochs, minibatches, exact means, metrics.

What a micro-batch contributes to the loss is the caller's; see `reinforce` and `imitate`.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import torch
from torch import Tensor

from components.errors import PolicyError
from components.progress import progress
from components.update.batching import MicroBatch
from components.update.deepspeed_engine import TrainingEngine
from components.update.job import Job
from components.update.samples import Tokens, TrainSample

Objective = Callable[[MicroBatch, Tensor], tuple[Tensor, Mapping[str, float]]]
"""(micro-batch, scale of its tokens) -> (its share of the loss, sums over its tokens to report)."""

_NOT_MEANS = ("tokens", "loss", "sampler_gap")


@dataclass
class Totals:
    """Sums over all steps of this rank; `metrics` makes means of them."""

    sums: Counter[str]
    positions: int = 0
    """Input positions computed, padding included."""
    inputs: int = 0
    """Without padding."""
    steps: int = 0
    grad_norms: float = 0.0
    learning_rate: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True)
class Minibatch:
    """One optimiser step's work on this rank."""

    batches: Sequence[MicroBatch]
    scales: Sequence[Tensor]
    """Per micro-batch `[num_tokens]`; zeros for a batch that another rank counts."""


def share_of_rank(batches: Sequence[MicroBatch], rank: int, world_size: int) -> list[MicroBatch]:
    """Every world_size-th micro-batch. All ranks get equally many (a collective each), so the
    last ranks may get one that `is_repeated`."""
    count = -(-len(batches) // world_size)
    return [batches[min(rank + at * world_size, len(batches) - 1)] for at in range(count)]


def is_repeated(position: int, rank: int, world_size: int, num_batches: int) -> bool:
    """Whether the position-th batch of a rank only fills up: its loss must not count."""
    return rank + position * world_size >= num_batches


def prepare(
    engine: TrainingEngine, batches: Sequence[MicroBatch], token_scales: Tensor
) -> Minibatch:
    """This rank's micro-batches with the scale of their tokens (`token_scales` of all tokens)."""
    mine = share_of_rank(batches, engine.rank, engine.world_size)
    scales = []
    for position, batch in enumerate(mine):
        scale = token_scales[torch.from_numpy(batch.tokens)].to(engine.device)
        if is_repeated(position, engine.rank, engine.world_size, len(batches)):
            scale = torch.zeros_like(scale)
        scales.append(scale)
    return Minibatch(mine, scales)


def train_step(
    engine: TrainingEngine,
    minibatch: Minibatch,
    objective: Objective,
    learning_rate: float,
    totals: Totals,
    job: Job,
    before_step: Callable[[], None] | None = None,
) -> None:
    """Sum the gradients of a minibatch and take one step. PolicyError if they are not finite."""
    begun = time.perf_counter()
    for batch, scale in zip(minibatch.batches, minibatch.scales, strict=True):
        loss, sums = objective(batch, scale)
        engine.backward(loss)
        totals.sums.update(sums)
        totals.positions += batch.input_ids.size
        totals.inputs += batch.num_inputs
    if before_step is not None:
        before_step()
    norm = engine.step(learning_rate)
    if norm is not None and not isfinite(norm):
        raise PolicyError(
            f"policy {job.policy}: gradient norm is {norm} at step {totals.steps + 1}, expected a "
            f"finite number; lower update.learning_rate ({learning_rate:g})"
        )
    totals.steps += 1
    totals.grad_norms += norm or 0.0
    totals.learning_rate = learning_rate
    totals.seconds += time.perf_counter() - begun


def report(job: Job, engine: TrainingEngine, totals: Totals, total: int, **rates: float) -> None:
    """A progress line, from rank 0."""
    if engine.rank == 0:
        speed = totals.inputs * engine.world_size / max(totals.seconds, 1e-9)
        progress(job.step, totals.steps, total, "steps", tokens_per_s=round(speed), **rates)


def metrics(
    engine: TrainingEngine, totals: Totals, samples: Sequence[TrainSample], tokens: Tokens
) -> dict[str, float]:
    """Means over all tokens trained, by name; collective."""
    names = sorted(totals.sums)
    values = [totals.sums[name] for name in names] + [totals.positions, totals.inputs]
    vector = torch.tensor(values, dtype=torch.float64, device=engine.device)
    summed = engine.sum_over_ranks(vector).tolist()
    sums = dict(zip([*names, "positions", "inputs"], summed, strict=True))
    trained = max(sums["tokens"], 1.0)
    means = {name: sums[name] / trained for name in names if name not in _NOT_MEANS}
    return means | {
        "loss": sums["loss"] / max(totals.steps, 1),
        "grad_norm": totals.grad_norms / max(totals.steps, 1),
        "num_steps": totals.steps,
        "num_samples": len(samples),
        "num_tokens": float(tokens.offsets[-1]),
        "learning_rate": totals.learning_rate,
        "padding_share": 1.0 - sums["inputs"] / max(sums["positions"], 1.0),
        "tokens_per_s": sums["inputs"] / max(totals.seconds, 1e-9),
    }
