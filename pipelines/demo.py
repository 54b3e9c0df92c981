"""The quickstart as one command: train, show what was learned, promote, and see a refusal.

What it shows is what the run and promote verbs show; it only chooses the experiment, starts a
local S3 server if asked, and asks the gate about the untrained team as well.
"""

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from components.config import ExperimentConfig, load_config
from components.errors import StorageError
from pipelines.closing import close, is_promoted, verdict_text
from pipelines.display import Display
from pipelines.driver import Options, promote, train

EXPERIMENT = "experiments/quickstart/config.yaml"
S3_FOLDER = Path("build/seaweed")


def demo_config(seed: int, store: str, engine: str, overrides: list[str]) -> ExperimentConfig:
    """The quickstart with a seed, an engine and a store (`file` or `s3`).

    Each seed has a team of its own in the registry, so that it is compared with its own start
    and not with the champion of another seed.
    """
    chosen = [f"seed={seed}", f"rollout.engine={engine}", f"promotion.team=quickstart-seed-{seed}"]
    if store == "s3":
        chosen.append("storage.uri=s3://rolewise/quickstart")
    return load_config(EXPERIMENT, [*chosen, *overrides])


def object_storage(store: str) -> AbstractContextManager[Any]:
    """A local S3 server for `s3`, nothing for `file`. StorageError for another word."""
    if store == "file":
        return nullcontext()
    if store != "s3":
        raise StorageError(f"store is {store!r}, expected file or s3")
    from pipelines.seaweed import serving

    return serving(S3_FOLDER)


def demo(config: ExperimentConfig, store: str, display: Display) -> bool:
    """Train, close, and ask for the promotion of the untrained team; whether the team passed."""
    with object_storage(store) as server:
        if server is not None:
            os.environ.update(server.environment)
            display.say(f"object storage: SeaweedFS at {server.endpoint}, data in {S3_FOLDER}")
        run = train(config, Options(announced=True), display)
        refusal = promote(config, Options(announced=True), 0, display)
        passed = close(config, run, display.say)
        display.say(f"the team of iteration 0, untrained: {verdict_text(refusal)}")
    return passed and not is_promoted(refusal)
