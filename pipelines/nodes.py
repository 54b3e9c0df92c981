"""What the nodes of an update get from a profile, and whether its ranks fit them."""

from components.config import ExperimentConfig
from components.errors import ConfigError
from components.update.nodes.pod import NodePod
from pipelines.profile import Profile


def node_pod(profile: Profile) -> NodePod:
    """What each node gets."""
    settings = profile.settings("update", "deepspeed")
    booked, device = settings.model_dump(exclude_none=True), settings.accelerator
    taken = ("cpu", "memory", "env", "secrets", "optional_secrets", "node_selector", "tolerations",
             "shm", "image_pull_secrets", "labels", "timeout_s")  # fmt: skip
    return NodePod(
        image=profile.images["deepspeed"],
        runtime=profile.trainjob.runtime,
        runtime_kind=profile.trainjob.kind,
        accelerator=device.type if device else None,
        num_accelerators=device.count if device else 0,
        **{name: booked[name] for name in taken if name in booked},
    )


def check_ranks(config: ExperimentConfig, profile: Profile) -> None:
    """ConfigError if a node would start more ranks than the profile gives it GPUs, or fewer than
    all on several nodes."""
    booked, settings = profile.settings("update", "deepspeed").accelerator, config.update
    count = booked.count if booked else None
    if count is not None and settings.num_processes > count:
        raise ConfigError(
            f"update.num_processes is {settings.num_processes}, but profile {profile.name} books "
            f"{count} GPUs for the step update; one rank needs one: lower it, or book more"
        )
    if count is not None and settings.num_nodes > 1 and settings.num_processes < count:
        raise ConfigError(
            f"update: num_nodes {settings.num_nodes} with num_processes {settings.num_processes}, "
            f"but profile {profile.name} books {count} GPUs on each node: fill a node first, with "
            f"update.num_processes {count}"
        )
