"""Between object storage and a job's folders: what a job needs comes in, what it made goes out.

The same on the step's own pod and on every node of a TrainJob.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from components.policies import FolderRef, PolicyRef
from components.probes import Probe, write_probe
from components.seeds import derive_seed
from components.settings import RolloutConfig
from components.state import TrainingState
from components.step import StepContext
from components.update.job import Job


@dataclass(frozen=True)
class Updated:
    """A policy after its update."""

    policy: PolicyRef
    optimizer: FolderRef | None
    metrics: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; `from_json` is its inverse."""
        return asdict(self)

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "Updated":
        optimizer = value["optimizer"] and FolderRef(**value["optimizer"])
        return Updated(PolicyRef.from_json(value["policy"]), optimizer, dict(value["metrics"]))


def fetch_job(
    context: StepContext, state: TrainingState, samples: str, name: str, out: Path
) -> Job:
    """The job of one policy, with all that it reads in local folders."""
    ref, settings = state.policies[name], context.config.update

    def fetch(folder: FolderRef | None) -> str | None:
        if folder is None:
            return None
        return str(context.store.download_folder(folder, context.cache))

    return Job(
        kind="reinforce",
        step=f"update-{name}",
        policy=name,
        policy_version=ref.tag,
        folder=str(fetch(ref.folder)),
        base=fetch(ref.base.folder if ref.base else None),
        data=samples,
        out=str(out),
        seed=derive_seed("update", context.config.seed, context.iteration, name),
        settings=settings,
        optimizer=fetch(state.optimizers.get(name)),
        reference=fetch(state.initial[name].folder) if settings.kl_coef > 0 else None,
        exact_sampler=samples_exactly(context.config.rollout),
        probe=context.config.rollout.server is not None,
    )


def updated(context: StepContext, state: TrainingState, job: Job, optimizer: FolderRef) -> Updated:
    """Upload the trained policy; its optimiser state was uploaded before."""
    folder = context.store.upload_folder(job.policy_out)
    if job.probe:
        probe = Probe.from_json(json.loads(job.probe_out.read_text()))
        write_probe(context.store, folder.sha256, probe)
    old = state.policies[job.policy]
    ref = PolicyRef(old.name, context.iteration, folder.uri, folder.sha256, folder.bytes, old.base)
    return Updated(ref, optimizer, job.metrics())


def unchanged(state: TrainingState, name: str) -> Updated:
    """It has no sample with a signal (none played, or all of weight 0): the policy keeps its
    weights, version and optimiser."""
    idle = {"num_samples": 0.0, "num_tokens": 0.0, "num_steps": 0.0}
    return Updated(state.policies[name], state.optimizers.get(name), idle)


def samples_exactly(settings: RolloutConfig) -> bool:
    """Whether the engine's log-probs are those of the weights that are trained."""
    return settings.dtype == "float32" and settings.quantization is None
