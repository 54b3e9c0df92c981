"""Which warm servers a run needs: one per frozen base with its adapters, one per policy of full
weights. A function of the configuration and the run's policies; nothing here starts anything."""

from collections.abc import Mapping
from dataclasses import dataclass

from components.config import ExperimentConfig
from components.policies import FolderRef, PolicyRef
from components.rollout.warm.lease import server_name

UNKNOWN_RANK = 64
"""Room for an adapter whose rank the configuration does not say."""


@dataclass(frozen=True)
class Server:
    """One server."""

    name: str
    folder: FolderRef
    """Weights to begin with."""
    policies: tuple[str, ...]
    """Who it answers for."""
    ranks: tuple[int, ...]
    """Of the adapters that it holds side by side; none: full weights, replaced in place."""


def layout(config: ExperimentConfig, run: str, policies: Mapping[str, PolicyRef]) -> list[Server]:
    """The servers of a run, in the configuration's order; `policies` of any of its states."""
    groups: dict[str, list[str]] = {}
    for name in config.policies:
        groups.setdefault(_part(config, name, policies[name]), []).append(name)
    return [_server(config, run, part, names, policies) for part, names in groups.items()]


def expected(config: ExperimentConfig) -> list[list[str]]:
    """The policies of each server that a run will need, as far as its configuration says it: two
    names of one base are taken for two."""
    groups: dict[str, list[str]] = {}
    for name, policy in config.policies.items():
        own = policy.trainable and policy.lora is None
        groups.setdefault(name if own else f"base {policy.base}", []).append(name)
    return list(groups.values())


def _part(config: ExperimentConfig, name: str, ref: PolicyRef) -> str:
    """Policies with equal parts share a server. Frozen ones keep their weights, so they can share
    one with the adapters on them."""
    if ref.base is not None:
        return f"base-{ref.base.sha256[:12]}"
    return name if config.policies[name].trainable else f"base-{ref.sha256[:12]}"


def _server(
    config: ExperimentConfig,
    run: str,
    part: str,
    names: list[str],
    policies: Mapping[str, PolicyRef],
) -> Server:
    first = policies[names[0]]
    adapters = [name for name in names if policies[name].base is not None]
    loras = [config.policies[name].lora for name in adapters]
    return Server(
        name=server_name(run, config.storage.uri.rstrip("/"), part),
        folder=(first.base or first).folder,
        policies=tuple(names),
        ranks=tuple(lora.r if lora else UNKNOWN_RANK for lora in loras),
    )
