"""From requests to drawing jobs, and from drawn tokens to completions: the same for all engines.

An engine only turns jobs into draws; order, texts, versions and errors are settled here.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from components.engine import Completion, FinishReason, Request, Sampling
from components.errors import RolewiseError
from components.rollout.deployments import Deployment
from components.rollout.prompts import Tokenizer, encode, load_tokenizer, prompt_limit, stop_ids


@dataclass(frozen=True)
class Speaker:
    """What is needed to talk to one deployment."""

    deployment: Deployment
    tokenizer: Tokenizer
    stop_ids: frozenset[int]
    max_length: int
    """Tokens of prompt and answer together that its engine was opened for."""


@dataclass(frozen=True)
class Job:
    """One candidate to draw; nothing else may influence it."""

    policy: str
    prompt_ids: tuple[int, ...]
    seed: int


@dataclass(frozen=True)
class Draw:
    """What an engine drew for one job."""

    ids: tuple[int, ...]
    """`[num_tokens]`, the stop token included when it was drawn."""
    logprobs: tuple[float, ...]
    """`[num_tokens]`"""
    finish_reason: FinishReason
    error: str | None = None


def failed(reason: str) -> Draw:
    """A draw that came to nothing."""
    return Draw((), (), FinishReason.ERROR, reason)


def make_speaker(deployment: Deployment, max_prompt_tokens: int, max_new_tokens: int) -> Speaker:
    """Load the tokenizer and settle the length: prompt and answer, cut to what the model holds."""
    tokenizer = load_tokenizer(deployment)
    length = min(max_prompt_tokens + max_new_tokens, deployment.max_length)
    prompt_limit(Sampling(max_new_tokens=max_new_tokens), length)
    return Speaker(deployment, tokenizer, stop_ids(deployment.folder, tokenizer), length)


def speakers_by_policy(speakers: Sequence[Speaker]) -> dict[str, Speaker]:
    """Policy -> who answers for it."""
    return {policy: speaker for speaker in speakers for policy in speaker.deployment.refs}


def make_jobs(
    requests: Sequence[Request], n: int, sampling: Sampling, speakers: Mapping[str, Speaker]
) -> list[Job]:
    """`n` jobs per request, in request order, then candidate order.

    Raises RolewiseError for an unknown policy, a wrong number of seeds, too long a prompt.
    """
    for request in requests:
        if request.policy not in speakers:
            raise RolewiseError(
                f"request {request.request_id}: policy {request.policy!r} is not loaded, "
                f"expected one of {sorted(speakers)}"
            )
        if len(request.seeds) != n:
            raise RolewiseError(
                f"request {request.request_id} (policy {request.policy}): "
                f"got {len(request.seeds)} seeds, expected {n}"
            )
    prompts = [
        encode(speaker.tokenizer, [request], prompt_limit(sampling, speaker.max_length))[0]
        for request in requests
        for speaker in [speakers[request.policy]]
    ]
    return [
        Job(request.policy, ids, seed)
        for request, ids in zip(requests, prompts, strict=True)
        for seed in request.seeds
    ]


def make_completions(
    requests: Sequence[Request],
    jobs: Sequence[Job],
    draws: Sequence[Draw],
    speakers: Mapping[str, Speaker],
) -> list[Completion]:
    """One completion per job, in the jobs' order."""
    answers = zip(_candidates(requests), jobs, draws, strict=True)
    completions = []
    for (request, candidate), job, raw in answers:
        speaker, draw = speakers[job.policy], checked(raw)
        completions.append(
            Completion(
                request_id=request.request_id,
                candidate=candidate,
                seed=job.seed,
                policy=job.policy,
                policy_version=speaker.deployment.refs[job.policy].tag,
                prompt_ids=job.prompt_ids,
                completion_ids=draw.ids,
                logprobs=draw.logprobs,
                text=_text(speaker, draw),
                finish_reason=draw.finish_reason,
                error=draw.error,
            )
        )
    return completions


def checked(draw: Draw) -> Draw:
    """The draw, or an error in its place: no tokens, or a log-prob that is no number."""
    if draw.finish_reason is FinishReason.ERROR:
        return replace(draw, ids=(), logprobs=())
    if not draw.ids:
        return failed("the engine returned no tokens")
    if len(draw.ids) != len(draw.logprobs):
        return failed(f"{len(draw.ids)} tokens came with {len(draw.logprobs)} log-probs")
    if not all(math.isfinite(value) for value in draw.logprobs):
        return failed("a log-prob is not finite: the weights are broken")
    return draw


def _candidates(requests: Sequence[Request]) -> Iterator[tuple[Request, int]]:
    for request in requests:
        for candidate in range(len(request.seeds)):
            yield request, candidate


def _text(speaker: Speaker, draw: Draw) -> str:
    """Decoded without special tokens and without the token that ended the answer."""
    ids = draw.ids[:-1] if draw.finish_reason is FinishReason.STOP else draw.ids
    return str(
        speaker.tokenizer.decode(
            list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
    )
