"""Generation by OpenAI-compatible servers of vLLM: the Engine protocol over HTTP.

Every candidate is a request with its own seed, all in flight side by side; the server batches
them. Which server answers for which policy is the `Servers`' affair, see `FixedServers` here and
`warm/team.py`. Needs tokenizers, no weights and no GPU.
"""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from components.engine import Completion, Request, Sampling
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
from components.rollout.deployments import Folders, deploy
from components.rollout.server_client import ServerClient, ServerGone
from components.settings import RolloutConfig

MAX_ROUNDS = 4
"""How often the same requests are sent to a server that keeps dying."""


@dataclass(frozen=True)
class Endpoint:
    """Where a policy answers."""

    client: ServerClient
    model: str
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of every request, such as the weights that it is meant for."""


class Servers(Protocol):
    """Who answers for a team."""

    def arrange(self, team: Team) -> Mapping[str, Endpoint]:
        """Policy -> endpoint, once all of them answer with the team's weights.

        RolewiseError if that cannot be had.
        """
        ...


class FixedServers:
    """Servers that are somebody else's and have the team loaded: a promoted team in service."""

    def __init__(self, endpoints: Mapping[str, Endpoint], patience_s: float = 60.0) -> None:
        self._endpoints, self._patience_s = endpoints, patience_s

    def arrange(self, team: Team) -> Mapping[str, Endpoint]:
        """See `Servers.arrange`. The weights are taken on trust."""
        for policy in dict.fromkeys(team.roles.values()):
            if policy not in self._endpoints:
                known = sorted(self._endpoints)
                raise RolewiseError(f"policy {policy!r} has no server, expected one of {known}")
            await_ready(self._endpoints[policy].client, self._patience_s)
        return self._endpoints


class ServerEngine:
    """Implements Engine. Greedy log-probs are those of the untruncated T = 1 distribution."""

    name = "server"

    def __init__(
        self,
        settings: RolloutConfig,
        team: Team,
        store: Folders,
        cache: Path,
        servers: Servers,
        concurrency: int = 256,
    ) -> None:
        self._settings, self._store, self._cache = settings, store, cache
        self._servers, self._concurrency = servers, concurrency
        self._stats = dict.fromkeys(
            ("num_prompt_tokens", "num_completion_tokens", "generate_s", "load_s"), 0.0
        )
        self._speakers: dict[str, Speaker] = {}
        self._endpoints: Mapping[str, Endpoint] = {}
        self.reload(team)

    def reload(self, team: Team) -> None:
        """Play another team from now on."""
        start = time.perf_counter()
        settings, self._team = self._settings, team
        self._speakers = speakers_by_policy(
            [
                make_speaker(deployment, settings.max_prompt_tokens, settings.max_new_tokens)
                for deployment in deploy(team, self._store, self._cache)
            ]
        )
        self._endpoints = self._servers.arrange(team)
        self._stats["load_s"] += time.perf_counter() - start

    def generate(self, requests: Sequence[Request], n: int, sampling: Sampling) -> list[Completion]:
        """See `Engine.generate`. RolewiseError names a server that does not come back."""
        jobs = make_jobs(requests, n, sampling, self._speakers)
        start = time.perf_counter()
        draws = self._draw_all(jobs, sampling)
        self._stats["generate_s"] += time.perf_counter() - start
        completions = make_completions(requests, jobs, draws, self._speakers)
        self._stats["num_prompt_tokens"] += sum(len(job.prompt_ids) for job in jobs[::n])
        self._stats["num_completion_tokens"] += sum(len(c.completion_ids) for c in completions)
        return completions

    def _draw_all(self, jobs: Sequence[Job], sampling: Sampling) -> list[Draw]:
        """What a dying server left unanswered is asked again once it is back. What it never
        answers, while others are answered, are failed generations."""
        found: dict[int, Draw] = {}
        for number in range(MAX_ROUNDS):
            missing = [index for index in range(len(jobs)) if index not in found]
            lost: ServerGone | None = None
            with ThreadPoolExecutor(max(1, min(self._concurrency, len(missing)))) as pool:
                futures = {i: pool.submit(self._draw, jobs[i], sampling) for i in missing}
                for index, future in futures.items():
                    try:
                        found[index] = future.result()
                    except ServerGone as error:
                        lost = error
            if lost is None:
                break
            if number + 1 < MAX_ROUNDS:
                print(f"{lost}; waiting for it, then asking again", flush=True)
                time.sleep(0.2 * 2**number)
                self._endpoints = self._servers.arrange(self._team)
        if not found:
            raise RolewiseError(f"{lost}; {MAX_ROUNDS} times in a row")
        return [found.get(index) or failed(str(lost)) for index in range(len(jobs))]

    def _draw(self, job: Job, sampling: Sampling) -> Draw:
        endpoint, speaker = self._endpoints[job.policy], self._speakers[job.policy]
        stop_ids = sorted(speaker.stop_ids)
        return endpoint.client.draw(
            endpoint.model, job.prompt_ids, job.seed, sampling, stop_ids, endpoint.headers
        )

    def stats(self) -> Mapping[str, float]:
        """See `Engine.stats`. A prompt counts once for all its candidates."""
        return dict(self._stats)

    def close(self) -> None:
        """Close the connections; the servers stay."""
        for endpoint in self._endpoints.values():
            endpoint.client.close()
        self._endpoints, self._speakers = {}, {}


def await_ready(client: ServerClient, patience_s: float) -> None:
    """Wait until a server answers. RolewiseError after `patience_s`."""
    end, pause_s = time.monotonic() + patience_s, 0.2
    while not client.is_ready():
        if time.monotonic() > end:
            raise RolewiseError(f"{client.url}: no server has answered for {patience_s:g} s")
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 5.0)
