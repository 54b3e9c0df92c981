"""The engine of a step whose run keeps warm servers."""

from typing import TYPE_CHECKING

from components.policies import Team
from components.rollout.server_engine import ServerEngine
from components.rollout.server_files import LightFolders
from components.rollout.warm.lease import NEEDS_SERVER, NotAnnounced
from components.rollout.warm.team import WarmServers

if TYPE_CHECKING:
    from components.step import StepContext


def warm_engine(step: "StepContext", team: Team) -> ServerEngine | None:
    """An engine that answers through the run's warm servers; None if the step's own shall play."""
    config = step.config
    if config.rollout.server is None:
        return None
    servers = WarmServers(step.store, step.run, config)
    try:
        engine = ServerEngine(
            config.rollout, team, LightFolders(step.store), step.cache, servers,
            config.rollout.server.concurrency,
        )  # fmt: skip
    except NotAnnounced as error:
        if step.name in NEEDS_SERVER:
            raise
        print(f"no warm server is kept now, so this step plays by itself ({error})", flush=True)
        return None
    print("engine: vllm in warm servers", flush=True)
    return engine
