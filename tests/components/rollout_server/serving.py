"""Stand-ins of warm servers for one test, and a small experiment that uses them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from components.config import ExperimentConfig, parse_config
from components.policies import PolicyRef
from components.rollout.warm.layout import layout
from components.rollout.warm.lease import Door, Lease, write_door, write_lease
from components.storage import open_store
from tests.doubles.warm_server import FakeServer, listening

POLICY = {"base": "init://", "init": {"hidden_size": 32, "num_layers": 1}}
ADAPTED = {"base": "pkg://some-model", "lora": {"r": 4, "alpha": 8}}


def make_config(folder: Path, policies: dict[str, Any], **server: Any) -> ExperimentConfig:
    """An experiment whose roles are its policies, with warm servers."""
    return parse_config(
        {
            "name": "warm",
            "env": {"name": "plan_path"},
            "policies": policies,
            "roles": {name: name for name in policies},
            "storage": {"uri": f"file://{folder}/store"},
            "rollout": {
                "max_new_tokens": 8,
                "max_prompt_tokens": 64,
                "server": {"patience_s": 1, "start_timeout_s": 20, **server},
            },
        }  # fmt: skip
    )


@contextmanager
def fake_server(**options: Any) -> Iterator[FakeServer]:
    """A server on a free port."""
    fake = FakeServer("key", **options)
    http = listening(fake)
    thread = threading.Thread(target=http.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield fake
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def announce(config: ExperimentConfig, policies: dict[str, PolicyRef], *fakes: FakeServer) -> None:
    """Write what a driver and its servers write, in the order of the layout."""
    store = open_store(config.storage)
    for server, fake in zip(layout(config, "r", policies), fakes, strict=True):
        write_lease(store, "r", server.name, Lease("driver", 1, 300.0, 0.0, fake.url))
        write_door(store, "r", server.name, Door(fake.key, "boot"))
