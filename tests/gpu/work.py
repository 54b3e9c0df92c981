"""What the check does on a device: play groups, update, read log-probs."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from components import records
from components.engine import Completion, Request, Sampling
from components.policies import FolderRef, PolicyRef, Team
from components.records import Candidate, Sample, Scored, Turn
from components.settings import RolloutConfig, UpdateConfig
from components.update.job import Job
from envs.base import Status
from tests.gpu.model import SPECIAL, Shape

POLICY = "solo"


@dataclass(frozen=True)
class Load:
    """How much is played and trained."""

    num_groups: int
    group_size: int
    prompt_tokens: int
    new_tokens: int

    @property
    def num_samples(self) -> int:
        return self.num_groups * self.group_size


@dataclass(frozen=True)
class Played:
    """What a rollout leaves."""

    rows: list[Sample]
    seconds: float
    num_tokens: int


class Folders:
    """Policies that lie on this machine already."""

    def download_folder(self, ref: FolderRef, cache: Path) -> Path:
        return Path(ref.uri)


def reference(folder: Path, base: PolicyRef | None = None) -> PolicyRef:
    """A policy in a local folder."""
    return PolicyRef(POLICY, 0, str(folder), f"{abs(hash(str(folder))):064d}", 1, base)


def play(ref: PolicyRef, shape: Shape, load: Load, dtype: str, seed: int = 0) -> Played:
    """Groups of answers to random prompts, by the transformers engine, with random advantages."""
    from components.rollout.transformers_engine import TransformersEngine

    settings = RolloutConfig(
        engine="transformers", dtype=dtype, max_new_tokens=load.new_tokens,  # type: ignore[arg-type]
        max_prompt_tokens=load.prompt_tokens + 8,
    )  # fmt: skip
    engine = TransformersEngine(
        settings, Team({POLICY: ref}, {"tool": POLICY}), Folders(), Path(".")
    )
    rng = np.random.default_rng(seed)
    sampling = Sampling(
        max_new_tokens=load.new_tokens, max_prompt_tokens=settings.max_prompt_tokens
    )
    requests = [_request(rng, at, shape, load) for at in range(load.num_groups)]
    began = time.perf_counter()
    answers = engine.generate(requests, load.group_size, sampling)
    seconds = time.perf_counter() - began
    engine.close()
    faults = [answer.error for answer in answers if answer.error]
    if faults:
        raise RuntimeError(f"{len(faults)} answers failed, the first: {faults[0]}")
    rows = [_sample(answer, ref, load, float(rng.normal())) for answer in answers]
    return Played(rows, seconds, sum(len(answer.completion_ids) for answer in answers))


def write_job(
    rows: Sequence[Sample], ref: PolicyRef, out: Path, settings: UpdateConfig, exact: bool
) -> Job:
    """The update's job on these samples, as the step writes it."""
    out.mkdir(parents=True)
    records.write(out / "samples.parquet", Sample, records.to_table(Sample, list(rows)))
    return Job(
        kind="reinforce", step=f"update-{out.name}", policy=POLICY, policy_version=ref.tag,
        folder=ref.uri, base=ref.base.uri if ref.base else None,
        data=str(out / "samples.parquet"), out=str(out), seed=0, settings=settings,
        exact_sampler=exact,
    )  # fmt: skip


def logprobs(folder: Path, rows: Sequence[Sample], dtype: str, device: str) -> list[Any]:
    """Per sample `[num_tokens]`, one unpadded sequence at a time: the plain way."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype))
    model = model.to(device).eval()
    found = []
    for row in rows:
        candidate = row.scored.candidate
        prompt, answer = candidate.prompt_ids, candidate.completion_ids
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([[*prompt, *answer]], device=device)).logits
        chosen = torch.log_softmax(logits[0, len(prompt) - 1 : -1].float(), -1)
        index = torch.tensor(answer, device=device)[:, None]
        found.append(chosen.gather(1, index)[:, 0].cpu())
    return found


def _request(rng: Any, at: int, shape: Shape, load: Load) -> Request:
    length = int(rng.integers(load.prompt_tokens // 2, load.prompt_tokens))
    words = rng.integers(len(SPECIAL), shape.vocab_size, length)
    text = " ".join(f"w{word}" for word in words)
    seeds = tuple(int(seed) for seed in rng.integers(0, 2**62, load.group_size))
    return Request(f"g{at}", POLICY, ({"role": "user", "content": text},), seeds)


def _sample(answer: Completion, ref: PolicyRef, load: Load, advantage: float) -> Sample:
    task = answer.request_id
    turn = Turn(
        episode_id=task, task_id=task, env="random", node="", turn=0, role="tool", policy=POLICY,
        messages=(),
    )  # fmt: skip
    candidate = Candidate(
        turn=turn, candidate=answer.candidate, seed=answer.seed, temperature=1.0, top_p=1.0,
        top_k=0, max_new_tokens=load.new_tokens, policy_version=ref.tag,
        prompt_ids=answer.prompt_ids, completion_ids=answer.completion_ids,
        logprobs=answer.logprobs, text=answer.text, finish_reason=answer.finish_reason,
        error=answer.error,
    )  # fmt: skip
    scored = Scored(candidate, 0.5, {}, answer.candidate == 0, Status.RUNNING)
    return Sample(scored, int(task[1:]), advantage, 1.0)
