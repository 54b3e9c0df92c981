"""Eq. 2 on one policy: old log-probs, the gate on their mismatch, epochs of clipped steps."""

from collections import Counter
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from components import records
from components.errors import RecordError, RolewiseError
from components.seeds import derive_seed
from components.update.batching import MicroBatch, microbatches, minibatches
from components.update.deepspeed_engine import TrainingEngine
from components.update.folders import load_model
from components.update.forward import token_statistics
from components.update.job import Job
from components.update.loss import importance_weights, policy_loss, token_scale
from components.update.samples import (
    Tokens,
    TrainSample,
    flatten,
    of_policy,
    trainable_samples,
    truncated_sampling,
)
from components.update.training import (
    Totals,
    is_repeated,
    metrics,
    prepare,
    report,
    share_of_rank,
    train_step,
)


class Reinforce:
    """The state of one policy's update; `run` is the whole of it."""

    def __init__(self, job: Job, engine: TrainingEngine) -> None:
        """Read and check the samples."""
        rows = of_policy(records.read(job.data, records.Sample), job.policy)
        self.job, self.engine, self.settings = job, engine, job.settings
        self.samples: list[TrainSample] = trainable_samples(rows, job.policy_version)
        self.recompute = recomputes(job, truncated_sampling(rows))
        self.tokens: Tokens = flatten(self.samples)
        self.sampler = self._tensor(self.tokens.logprobs)
        self.temperatures = self._tensor(self.tokens.temperatures)
        self.advantages = self._tensor(self.tokens.advantages)
        self.old: Tensor = self.sampler
        self.importance: Tensor | None = None
        self.reference: Tensor | None = None
        self.mismatch = 0.0
        self.totals = Totals(Counter())

    def run(self) -> dict[str, float]:
        """All epochs; the metrics, names without prefix."""
        settings = self.settings
        if settings.kl_coef > 0:
            self.reference = self._reference_logprobs()
        if self.recompute:
            self._recompute_old()
        plan = [
            indices
            for epoch in range(settings.epochs)
            for indices in minibatches(
                self.samples, settings.minibatch_size, derive_seed("epoch", self.job.seed, epoch)
            )
        ]
        for number, indices in enumerate(plan):
            self._step(indices, first=number == 0)
            report(self.job, self.engine, self.totals, len(plan))
        found = metrics(self.engine, self.totals, self.samples, self.tokens)
        return found | {"logprob_mismatch": self.mismatch} | self._importance_metrics()

    def objective(self, batch: MicroBatch, scale: Tensor) -> tuple[Tensor, Mapping[str, float]]:
        """Eq. 2 on a micro-batch, and sums over its tokens that count."""
        at = torch.from_numpy(batch.tokens).to(self.engine.device)
        found = token_statistics(
            self.engine, batch, self.temperatures[at], self.settings.entropy_coef > 0
        )
        settings = self.settings
        loss = policy_loss(
            found.logprobs, self.old[at], self.advantages[at], scale,
            clip_low=settings.clip_low, clip_high=settings.clip_high,
            dual_clip=settings.dual_clip,
            importance=None if self.importance is None else self.importance[at],
            reference_logprobs=None if self.reference is None else self.reference[at],
            kl_coef=settings.kl_coef, entropies=found.entropies,
            entropy_coef=settings.entropy_coef,
        )  # fmt: skip
        live = scale > 0
        ratio = loss.ratio[live]
        difference = (found.logprobs.detach() - self.sampler[at])[live]
        sums = {
            "tokens": live.sum(),
            "loss": loss.total.detach(),
            "entropy": found.entropies.detach()[live].sum(),
            "clip_ratio": loss.clipped[live].sum(),
            "kl": (ratio - 1.0 - ratio.log()).sum(),
            "ratio_deviation": (ratio - 1.0).abs().sum(),
            "sampler_gap": difference.abs().sum(),
        }
        return loss.total, {name: float(value) for name, value in sums.items()}

    def _step(self, indices: Sequence[int], first: bool) -> None:
        settings = self.settings
        batches = microbatches(
            self.samples, indices, settings.tokens_per_microbatch, self.tokens.offsets
        )
        minibatch = prepare(self.engine, batches, self._token_scales(indices))
        gate = self._gate_on_first if first and not self.recompute else None
        rate = warmed_up(settings.learning_rate, settings.warmup_steps, self.engine.num_steps)
        train_step(self.engine, minibatch, self.objective, rate, self.totals, self.job, gate)

    def _token_scales(self, indices: Sequence[int]) -> Tensor:
        """`[num_tokens]` over all samples; zero outside the minibatch."""
        at = torch.tensor(indices)
        lengths = torch.from_numpy(self.tokens.lengths)
        weights = torch.tensor([self.samples[index].weight for index in indices])
        scales = torch.zeros(len(self.samples))
        scales[at] = token_scale(lengths[at], weights, self.settings.aggregation)
        return torch.repeat_interleave(scales, lengths)

    def _gate_on_first(self) -> None:
        """Before the first step the policy is the sampler's: the gap is pure mismatch."""
        sums = self.totals.sums
        pair = torch.tensor([sums["sampler_gap"], sums["tokens"]], dtype=torch.float64)
        gap, count = self.engine.sum_over_ranks(pair.to(self.engine.device)).tolist()
        self._gate(gap / count)

    def _gate(self, mismatch: float) -> None:
        limit = self.settings.max_logprob_mismatch
        self.mismatch = mismatch
        if not mismatch <= limit:
            raise RolewiseError(
                f"policy {self.job.policy}: mean |log-prob of the engine - recomputed| is "
                f"{mismatch:.4g}, limit update.max_logprob_mismatch {limit:g}; the engine sampled "
                f"with other weights or another tokenizer than {self.job.policy_version}"
            )

    def _recompute_old(self) -> None:
        self.old = self._all_logprobs(self.engine)
        self._gate(float((self.old - self.sampler).abs().mean()))
        self.importance = importance_weights(self.old, self.sampler, self.settings.importance_cap)

    def _importance_metrics(self) -> dict[str, float]:
        """Of pi_old / pi_sampler, where old log-probs were recomputed: the mean after truncation,
        and the share of tokens that were truncated."""
        if self.importance is None:
            return {}
        capped = self.importance >= self.settings.importance_cap
        return {
            "importance_mean": float(self.importance.mean()),
            "importance_capped": float(capped.float().mean()),
        }

    def _reference_logprobs(self) -> Tensor:
        if self.job.reference is None:
            raise RolewiseError(f"policy {self.job.policy}: kl_coef needs the run's first policy")
        model = load_model(self.job.reference, self.job.base, self.settings.dtype)
        return self._all_logprobs(model.to(self.engine.device).eval())

    @torch.no_grad()
    def _all_logprobs(self, model: object) -> Tensor:
        """`[num_tokens]` under a model, before any step."""
        engine = self.engine
        budget, offsets = self.settings.tokens_per_microbatch, self.tokens.offsets
        batches = microbatches(self.samples, range(len(self.samples)), budget, offsets)
        found = torch.zeros_like(self.sampler)
        for position, batch in enumerate(share_of_rank(batches, engine.rank, engine.world_size)):
            at = torch.from_numpy(batch.tokens).to(engine.device)
            logprobs = token_statistics(model, batch, self.temperatures[at]).logprobs
            if not is_repeated(position, engine.rank, engine.world_size, len(batches)):
                found[at] = logprobs
        return engine.sum_over_ranks(found)

    def _tensor(self, values: object) -> Tensor:
        return torch.as_tensor(values, device=self.engine.device)


def recomputes(job: Job, truncated: bool) -> bool:
    """Whether old log-probs are recomputed. RecordError if the engine's cannot be used but are
    asked for: those of top_p or top_k sampling belong to another distribution."""
    choice = job.settings.old_logprobs
    if choice == "rollout" and truncated:
        raise RecordError(
            f"policy {job.policy}: old_logprobs is rollout, but samples were drawn with top_p < 1 "
            "or top_k > 0; expected old_logprobs auto or recompute"
        )
    return choice == "recompute" or (choice == "auto" and (truncated or not job.exact_sampler))


def warmed_up(learning_rate: float, warmup_steps: int, step: int) -> float:
    """Linear warm-up over the first `warmup_steps` optimiser steps of the run, then constant."""
    return learning_rate * min(1.0, (step + 1) / max(warmup_steps, 1))
