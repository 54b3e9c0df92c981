"""Generation with plain transformers models: where vLLM does not run, and as its oracle in tests.

Each prompt is computed once, its cache repeated for the group's candidates; rows that have ended
leave the batch. Randomness comes from (seed, position) alone, see `drawing.py`.
"""

import gc
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from components.engine import Completion, FinishReason, Request, Sampling
from components.policies import Team
from components.rollout.answers import (
    Draw,
    Job,
    Speaker,
    failed,
    make_completions,
    make_jobs,
    make_speaker,
    speakers_by_policy,
)
from components.rollout.deployments import Deployment, Folders, deploy
from components.rollout.drawing import draw, sampling_logprobs, uniforms
from components.settings import RolloutConfig

TOKENS_PER_BATCH = 1 << 16
"""Bounds the cache: rows of a batch x (longest prompt + max_new_tokens)."""


class TransformersEngine:
    """Implements Engine."""

    name = "transformers"

    def __init__(self, settings: RolloutConfig, team: Team, store: Folders, cache: Path) -> None:
        self._settings, self._store, self._cache = settings, store, cache
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        if self._device.type == "cpu":
            torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
        self._models: dict[str, Any] = {}
        self._stats = dict.fromkeys(
            ("num_prompt_tokens", "num_completion_tokens", "generate_s", "load_s"), 0.0
        )
        self._speakers: dict[str, Speaker] = {}
        self.reload(team)

    def reload(self, team: Team) -> None:
        """Play another team from now on. Weights that both teams use stay loaded."""
        start = time.perf_counter()
        deployments = deploy(team, self._store, self._cache)
        wanted = [_model_key(deployment) for deployment in deployments]
        kept = {key: model for key, model in self._models.items() if key in wanted}
        if len(kept) < len(self._models):
            self._models = kept
            gc.collect()
        settings = self._settings
        speakers = [
            make_speaker(deployment, settings.max_prompt_tokens, settings.max_new_tokens)
            for deployment in deployments
        ]
        for key, speaker in zip(wanted, speakers, strict=True):
            if key not in self._models:
                self._models[key] = _open_model(speaker.deployment, settings.dtype, self._device)
        self._speakers = speakers_by_policy(speakers)
        self._stats["load_s"] += time.perf_counter() - start

    def generate(self, requests: Sequence[Request], n: int, sampling: Sampling) -> list[Completion]:
        """See `Engine.generate`."""
        jobs = make_jobs(requests, n, sampling, self._speakers)
        start = time.perf_counter()
        draws: list[Draw] = [failed("not drawn")] * len(jobs)
        for policy, speaker in self._speakers.items():
            model = self._models[_model_key(speaker.deployment)]
            mine = [index for index, job in enumerate(jobs) if job.policy == policy]
            with _adapter(model, speaker.deployment, policy):
                for batch in _batches(jobs, mine, sampling.max_new_tokens):
                    ours = [jobs[index] for index in batch]
                    drawn = _draw_or_fail(model, ours, speaker.stop_ids, sampling)
                    for index, one in zip(batch, drawn, strict=True):
                        draws[index] = one
        self._stats["generate_s"] += time.perf_counter() - start
        completions = make_completions(requests, jobs, draws, self._speakers)
        self._stats["num_prompt_tokens"] += sum(len(job.prompt_ids) for job in jobs[::n])
        self._stats["num_completion_tokens"] += sum(len(c.completion_ids) for c in completions)
        return completions

    def stats(self) -> Mapping[str, float]:
        """See `Engine.stats`. A prompt counts once for all its candidates."""
        return dict(self._stats)

    def close(self) -> None:
        """Free the weights."""
        self._models, self._speakers = {}, {}
        gc.collect()


def _model_key(deployment: Deployment) -> str:
    versions = [deployment.refs[policy].tag for policy in deployment.adapters]
    return " ".join([deployment.sha256, *versions])


def _open_model(deployment: Deployment, dtype: str, device: torch.device) -> Any:
    """The model, with one PEFT adapter per policy where there are adapters."""
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    model = AutoModelForCausalLM.from_pretrained(
        str(deployment.folder), dtype=getattr(torch, dtype), local_files_only=True
    )
    if deployment.adapters:
        from peft import PeftModel

        (first, folder), *others = deployment.adapters.items()
        names = _adapter_names(deployment)
        model = PeftModel.from_pretrained(model, str(folder), adapter_name=names[first])
        for policy, folder in others:
            model.load_adapter(str(folder), adapter_name=names[policy])
    return model.to(device).eval()


def _adapter_names(deployment: Deployment) -> dict[str, str]:
    """Policy -> name inside PEFT, which forbids dots."""
    return {policy: f"adapter_{index}" for index, policy in enumerate(deployment.adapters)}


def _adapter(model: Any, deployment: Deployment, policy: str) -> AbstractContextManager[Any]:
    """The policy's weights are in force inside the context."""
    if not deployment.adapters:
        return nullcontext()
    if policy not in deployment.adapters:
        disabled: AbstractContextManager[Any] = model.disable_adapter()
        return disabled
    model.set_adapter(_adapter_names(deployment)[policy])
    return nullcontext()


def _batches(
    jobs: Sequence[Job], indices: Sequence[int], max_new_tokens: int
) -> Iterator[list[int]]:
    """Batches of job indices with prompts of similar length, within TOKENS_PER_BATCH each."""
    batch: list[int] = []
    for index in sorted(indices, key=lambda i: (len(jobs[i].prompt_ids), jobs[i].prompt_ids)):
        length = len(jobs[index].prompt_ids) + max_new_tokens
        if batch and (len(batch) + 1) * length > TOKENS_PER_BATCH:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _draw_or_fail(
    model: Any, jobs: Sequence[Job], stop_ids: frozenset[int], sampling: Sampling
) -> list[Draw]:
    try:
        return draw_batch(model, jobs, stop_ids, sampling)
    except RuntimeError as error:  # out of memory, a kernel's failure: recorded as data
        reason = " ".join(str(error).split())[:300]
        return [failed(f"{type(error).__name__}: {reason}")] * len(jobs)


@dataclass
class _Rows:
    """The candidates still being drawn."""

    jobs: list[int]
    """Row -> position in the batch's jobs."""
    seeds: Any
    """uint64 `[num_rows]`"""
    mask: torch.Tensor
    """`[num_rows, num_columns]`; 0 on left padding."""
    positions: torch.Tensor
    """`[num_rows]`: of the next token."""
    cache: Any
    ids: list[list[int]] = field(default_factory=list)
    """Per job of the batch."""
    logprobs: list[list[float]] = field(default_factory=list)

    def keep(self, rows: torch.Tensor) -> None:
        """Drop all rows but these (indices, `[num_kept]`)."""
        self.cache.batch_select_indices(rows)
        self.mask, self.positions = self.mask[rows], self.positions[rows]
        self.seeds = self.seeds[rows.cpu().numpy()]
        self.jobs = [self.jobs[row] for row in rows.tolist()]


@torch.no_grad()
def draw_batch(
    model: Any, jobs: Sequence[Job], stop_ids: frozenset[int], sampling: Sampling
) -> list[Draw]:
    """Draw one answer per job, side by side. `model` is a causal language model of transformers."""
    logits, rows = _prefill(model, jobs)
    stops = torch.tensor(sorted(stop_ids), device=logits.device)
    reasons = [FinishReason.LENGTH] * len(jobs)
    for position in range(sampling.max_new_tokens):
        logprobs = sampling_logprobs(logits, sampling.temperature, sampling.top_p, sampling.top_k)
        numbers = uniforms(rows.seeds, position)
        tokens = logprobs.argmax(-1) if sampling.greedy else draw(logprobs, numbers)
        chosen = logprobs.gather(-1, tokens[:, None])[:, 0]
        for job, token, logprob in zip(rows.jobs, tokens.tolist(), chosen.tolist(), strict=True):
            rows.ids[job].append(token)
            rows.logprobs[job].append(logprob)
            if token in stop_ids:
                reasons[job] = FinishReason.STOP
        going = (~torch.isin(tokens, stops)).nonzero()[:, 0]
        if len(going) == 0 or position + 1 == sampling.max_new_tokens:
            break
        if len(going) < len(tokens):
            rows.keep(going)
        logits = _forward(model, rows, tokens[going])
    drawn = zip(rows.ids, rows.logprobs, reasons, strict=True)
    return [Draw(tuple(ids), tuple(logprobs), reason) for ids, logprobs, reason in drawn]


def _prefill(model: Any, jobs: Sequence[Job]) -> tuple[torch.Tensor, _Rows]:
    """Each distinct prompt computed once, left-padded; then one row per job.

    Returns the logits after the prompt, `[num_jobs, vocab]`.
    """
    prompts = list(dict.fromkeys(job.prompt_ids for job in jobs))
    width = max(len(prompt) for prompt in prompts)
    ids = torch.tensor([[0] * (width - len(p)) + list(p) for p in prompts], device=model.device)
    lengths = torch.tensor([len(prompt) for prompt in prompts], device=model.device)
    mask = (torch.arange(width, device=model.device) >= width - lengths[:, None]).long()
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    output = model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        use_cache=True,
        logits_to_keep=1,
    )
    index = {prompt: row for row, prompt in enumerate(prompts)}
    rows = torch.tensor([index[job.prompt_ids] for job in jobs], device=model.device)
    cache = output.past_key_values
    cache.batch_select_indices(rows)
    state = _Rows(
        jobs=list(range(len(jobs))),
        seeds=np.array([job.seed for job in jobs], np.uint64),
        mask=mask[rows],
        positions=lengths[rows],
        cache=cache,
        ids=[[] for _ in jobs],
        logprobs=[[] for _ in jobs],
    )
    return output.logits[rows, -1], state


def _forward(model: Any, rows: _Rows, tokens: torch.Tensor) -> torch.Tensor:
    """Append one token to each row; the next logits, `[num_rows, vocab]`."""
    rows.mask = torch.cat([rows.mask, rows.mask.new_ones(len(tokens), 1)], dim=1)
    output = model(
        input_ids=tokens[:, None],
        attention_mask=rows.mask,
        position_ids=rows.positions[:, None],
        past_key_values=rows.cache,
        use_cache=True,
    )
    rows.positions = rows.positions + 1
    logits: torch.Tensor = output.logits[:, -1]
    return logits
