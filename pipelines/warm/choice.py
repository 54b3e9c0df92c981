"""Where warm servers run: on the cluster that the pipelines run on, else on this machine."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from components.config import ExperimentConfig
from components.errors import ConfigError
from pipelines.display import Display
from pipelines.runner import RUNS
from pipelines.warm.places import LocalPlace, Place
from pipelines.warm.servers import Start, keep


def with_servers(
    config: ExperimentConfig, run: str, start: Start, display: Display
) -> AbstractContextManager[Start]:
    """`start` for as long as the block lasts, with the servers that `rollout.server` asks for."""
    if config.rollout.server is None:
        return nullcontext(start)
    return keep(config, run, _place(config, run, start), display, start)


def _place(config: ExperimentConfig, run: str, start: Start) -> Place:
    from pipelines.cluster import ClusterRunner

    settings = config.rollout.server
    assert settings is not None
    if not isinstance(start, ClusterRunner):
        return LocalPlace(run, settings, Path(RUNS) / run / "servers")
    from components.cluster import connect
    from pipelines.warm.cluster import KubernetesPlace

    cluster = connect()
    space = start.api.access.namespace or cluster.namespace
    return KubernetesPlace(replace(cluster, namespace=space), run, settings, start.profile)


def check_waits(config: ExperimentConfig) -> None:
    """ConfigError for a run that no driver waits for."""
    if config.rollout.server is not None:
        raise ConfigError(
            "rollout.server: servers end with their driver, but without --wait there is none; "
            "add --wait, or --set rollout.server=null"
        )
