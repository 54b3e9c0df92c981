"""Real warm servers for the longer tests: vLLM's CPU build, kept as a local driver would."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from components.policies import PolicyRef
from components.rollout.server_client import ServerClient
from components.rollout.warm.layout import Server
from components.rollout.warm.lease import Lease, forget, read_door, write_lease
from components.rollout.warm.process import Plan
from components.settings import RolloutConfig, ServerConfig, StorageConfig
from components.storage import Store
from pipelines.warm.places import LocalPlace

SETTINGS = RolloutConfig(max_prompt_tokens=64, max_new_tokens=16)
LEASE = Lease("test", 1, lease_s=3600.0, renewed_unix_s=0.0)
START_S = 600.0


@dataclass
class Real:
    """A running server."""

    place: LocalPlace
    server: Server
    store: Store
    url: str

    @property
    def client(self) -> ServerClient:
        """Let in by the newest key."""
        door = read_door(self.store, "r", self.server.name)
        assert door
        return ServerClient(self.url, door.key)

    def await_door(self, other_than: object = None) -> None:
        """Wait until the keeper says that vLLM answers."""
        end = time.monotonic() + START_S
        while read_door(self.store, "r", self.server.name) in (None, other_than):
            assert time.monotonic() < end and self.place.is_ready(self.server), self.log
            time.sleep(0.2)

    @property
    def log(self) -> str:
        return self.place.log(self.server).read_text()


@contextmanager
def real_server(
    store: Store, folder: Path, ref: PolicyRef, ranks: Sequence[int] = (), name: str = "real",
    settings: RolloutConfig = SETTINGS,
) -> Iterator[Real]:  # fmt: skip
    """A server that begins with a policy's weights; it answers when the block begins."""
    place = LocalPlace("r", ServerConfig(), folder / "logs")
    server = Server(f"warm-{name}", ref.folder, (ref.name,), tuple(ranks))
    write_lease(store, "r", server.name, replace(LEASE, renewed_unix_s=time.time()))
    plan = Plan(StorageConfig(uri=store.uri), settings, ref.folder, tuple(ranks))
    real = Real(place, server, store, place.begin(server, plan, "test").url)
    try:
        real.await_door()
        yield real
    finally:
        place.stop(server.name)
        forget(store, "r", server.name)


def expected_logprobs(
    folder: Path, sequences: Sequence[Sequence[int]], base: Path | None = None
) -> list[list[float]]:
    """Log-probs at T = 1 of every token but the first, by a forward pass of transformers (and
    PEFT): as the update writes them down."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(base or folder, dtype=torch.float32).eval()
    if base is not None:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, str(folder)).eval()
    found = []
    for ids in sequences:
        with torch.no_grad():
            logits = model(torch.tensor([list(ids)])).logits[0, :-1].log_softmax(-1)
        found.append(logits.gather(-1, torch.tensor(list(ids)[1:])[:, None])[:, 0].tolist())
    return found
