"""The engine of a step whose run keeps warm servers."""

from typing import TYPE_CHECKING

from components.policies import Team
from components.rollout.server_engine import ServerEngine
from components.rollout.server_files import LightFolders
from components.rollout.warm.lease import NEEDS_SERVER
from components.rollout.warm.team import WarmServers

if TYPE_CHECKING:
    from components.step import StepContext


def warm_engine(step: "StepContext", team: Team) -> ServerEngine | None:
    """An engine that answers through the run's warm servers; None if the step's own shall play."""
    config = step.config
    if config.rollout.server is None or step.name not in NEEDS_SERVER:
        return None
    engine = ServerEngine(
        config.rollout, team, LightFolders(step.store), step.cache,
        WarmServers(step.store, step.run, config), config.rollout.server.concurrency,
    )  # fmt: skip
    print("engine: vllm in warm servers", flush=True)
    return engine
