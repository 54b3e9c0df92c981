"""A step's side of warm servers: have a team's weights loaded, and proved to be what answers.

Adapters are fetched into the server's container and loaded under a name that holds their digest;
full weights are replaced in place. Then every policy is probed, whether it was loaded now or was
there already.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from components.config import ExperimentConfig
from components.errors import RolewiseError
from components.policies import PolicyRef, Team
from components.probes import Probe, read_probe
from components.rollout.server_client import ServerClient, ServerError, ServerGone
from components.rollout.server_engine import Endpoint
from components.rollout.warm import probe as proof
from components.rollout.warm.control import EXPECTED
from components.rollout.warm.layout import Server, layout
from components.rollout.warm.lease import announced
from components.rollout.warm.process import NAME
from components.storage import Store


class WarmServers:
    """Implements Servers by those that the run's driver keeps."""

    def __init__(self, store: Store, run: str, config: ExperimentConfig) -> None:
        if config.rollout.server is None:
            raise RolewiseError("rollout.server is not configured")
        self._store, self._run, self._config = store, run, config
        self._settings = config.rollout.server
        self._clients: dict[str, ServerClient] = {}

    def arrange(self, team: Team) -> Mapping[str, Endpoint]:
        """See `Servers.arrange`. A server that is gone is waited for; StaleWeights if one answers
        with other weights than it was told to load."""
        endpoints: dict[str, Endpoint] = {}
        for server in layout(self._config, self._run, team.policies):
            wanted = {
                name: team.policies[name] for name in server.policies if name in team.roles.values()
            }
            if wanted:
                endpoints |= self._patiently(server, wanted)
        return endpoints

    def _patiently(self, server: Server, wanted: Mapping[str, PolicyRef]) -> Mapping[str, Endpoint]:
        """Try until the server has what is wanted, for `patience_s`. NotAnnounced at once."""
        end, pause_s, told = time.monotonic() + self._settings.patience_s, 0.5, False
        while True:
            try:
                return self._load(self._client(server), server, wanted)
            except ServerGone as error:
                if time.monotonic() + pause_s > end:
                    raise RolewiseError(
                        f"warm server {server.name} has not come back for "
                        f"{self._settings.patience_s} s (rollout.server.patience_s): {error}"
                    ) from error
                if not told:
                    print(f"warm server {server.name}: {error}; waiting for it", flush=True)
                told = True
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 10.0)

    def _client(self, server: Server) -> ServerClient:
        """A connection by the newest address and key: both change when a server starts again."""
        found = announced(self._store, self._run, server.name)
        if found is None:
            raise ServerGone(f"{server.name} is starting")
        lease, door = found
        known = self._clients.pop(server.name, None)
        if known:
            known.close()
        client = ServerClient(lease.url, door.key, concurrency=self._settings.concurrency)
        self._clients[server.name] = client
        return client

    def _load(
        self, client: ServerClient, server: Server, wanted: Mapping[str, PolicyRef]
    ) -> dict[str, Endpoint]:
        adapted = {name: ref for name, ref in wanted.items() if ref.base is not None}
        full = {name: ref for name, ref in wanted.items() if ref.base is None}
        base = next(iter(adapted.values())).base if adapted else None
        weights = (base or next(iter(full.values()))).sha256
        before = self._load_full(client, weights, base or next(iter(full.values())))
        headers = {EXPECTED: weights}
        if adapted:
            load_adapters(client, adapted)
        found = {name: Endpoint(client, NAME, headers) for name in full} | {
            name: Endpoint(client, adapter_name(ref), headers) for name, ref in adapted.items()
        }
        for name, endpoint in found.items():
            print(self._prove(server, name, wanted[name], endpoint, before), flush=True)
        return found

    def _load_full(
        self, client: ServerClient, weights: str, ref: PolicyRef
    ) -> Sequence[float] | None:
        """Have these weights loaded. Log-probs under those that were there, if they had to go."""
        loaded = client.get("/warm/state")["weights"]
        if loaded == weights:
            return None
        before = client.logprobs(NAME, UNKNOWN_TEXT) if loaded else None
        client.post("/warm/weights", asdict(ref.folder))
        return before

    def _prove(
        self,
        server: Server,
        name: str,
        ref: PolicyRef,
        endpoint: Endpoint,
        before: Sequence[float] | None,
    ) -> str:
        """One line that says what was proved. StaleWeights if the weights are others."""
        who = f"warm server {server.name}, policy {ref.tag}"
        probe = read_probe(self._store, ref.sha256)
        if probe is None:
            changed = _changed(endpoint, before, who)
            return f"{who}: loaded; no update made it, so nothing was probed{changed}"
        verdict = proof.judge(probe, answers(endpoint, probe))
        proof.check(verdict, proof.max_gap(self._config.rollout), who)
        return f"{who}: probed: {verdict}"


UNKNOWN_TEXT = tuple(range(3, 19))
"""Token ids that every vocabulary has, for weights of which nothing is known."""


def _changed(endpoint: Endpoint, before: Sequence[float] | None, who: str) -> str:
    """Weights that were replaced must answer otherwise than those before them."""
    if before is None:
        return ""
    if endpoint.client.logprobs(endpoint.model, UNKNOWN_TEXT, endpoint.headers) == before:
        raise proof.StaleWeights(f"{who}: answers exactly as the weights before it")
    return ", but it answers otherwise than the weights before it"


def answers(endpoint: Endpoint, probe: Probe) -> list[list[float]]:
    """Log-probs of the probe's completion tokens by the server."""
    return [
        endpoint.client.logprobs(endpoint.model, (*prompt, *completion), endpoint.headers)[
            len(prompt) - 1 :
        ]
        for prompt, completion in zip(probe.prompts, probe.completions, strict=True)
    ]


def adapter_name(ref: PolicyRef) -> str:
    """The name under which an adapter answers: it holds the digest, so no other one can."""
    return f"{ref.name}-{ref.sha256}"


def load_adapters(client: ServerClient, adapted: Mapping[str, PolicyRef]) -> None:
    """Load what is missing and unload what no role is played by."""
    there = set(client.models()) - {NAME}
    wanted = {adapter_name(ref): ref for ref in adapted.values()}
    for name in sorted(there - set(wanted)):
        client.unload_adapter(name)
    for name, ref in wanted.items():
        if name not in there:
            folder = client.post("/warm/fetch", asdict(ref.folder))["folder"]
            try:
                client.load_adapter(name, folder)
            except ServerError as error:
                raise RolewiseError(f"policy {ref.tag}: {error}") from error
