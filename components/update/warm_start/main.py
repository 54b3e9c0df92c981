"""The warm start step: fresh policies in, policies that imitate demonstrations out.

Training is the update's (`components.update`): same engine, same batches, another loss.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from components.config import ExperimentConfig
from components.errors import ConfigError
from components.members import open_members, parts_of
from components.policies import PolicyRef
from components.seeds import derive_seed
from components.settings import UpdateConfig, WarmStartConfig
from components.step import StepContext, run_step
from components.update.job import Job
from components.update.launch import import_libraries, run_jobs
from components.update.warm_start.demonstrations import Demonstration, demonstrate


def warm_start(
    config: str, run: str, iteration: int, inputs: Mapping[str, str], outputs: Mapping[str, str]
) -> dict[str, float]:
    """Imitate demonstrations with every trainable policy, side by side.

    Inputs and outputs: policies, `{"policies": {name: PolicyRef}}`. Metrics:
    `warm_start/<policy>/<name>`.
    """

    def compute(context: StepContext) -> dict[str, float]:
        if context.config.warm_start is None:
            raise ConfigError("warm_start: the configuration has no `warm_start` section")
        content = json.loads(Path(inputs["policies"]).read_text())["policies"]
        refs = {name: PolicyRef.from_json(value) for name, value in content.items()}
        with TemporaryDirectory(prefix="rolewise-warm-start-") as scratch:
            jobs = _jobs(context, context.config.warm_start, refs, Path(scratch))
            with context.meter.measure("load"):
                import_libraries(context.config.update.num_processes)
            run_jobs(jobs, context.config.update.num_processes)
            for job in jobs:
                refs[job.policy] = _upload(context, refs[job.policy], job)
            found = {
                f"warm_start/{job.policy}/{name}": value
                for job in jobs
                for name, value in job.metrics().items()
            }
        result = {"policies": {name: ref.to_json() for name, ref in refs.items()}}
        Path(outputs["policies"]).write_text(json.dumps(result, indent=1, sort_keys=True))
        return found

    return run_step("warm_start", config, run, iteration, inputs, outputs, compute)


def training_settings(config: UpdateConfig, warm_start: WarmStartConfig) -> UpdateConfig:
    """The update's optimiser and placement, with the warm start's steps."""
    return config.model_copy(
        update={
            "learning_rate": warm_start.learning_rate,
            "warmup_steps": warm_start.warmup_steps,
            "minibatch_size": warm_start.batch_size,
        }
    )


def _jobs(
    context: StepContext, settings: WarmStartConfig, refs: Mapping[str, PolicyRef], scratch: Path
) -> list[Job]:
    shown = _demonstrations(context.config, settings)
    jobs = []
    for name in context.config.trainable:
        ref, out = refs[name], scratch / name
        data = scratch / f"{name}.json"
        data.write_text(json.dumps(shown[name]))
        job = Job(
            kind="imitate",
            step=f"warm_start-{name}",
            policy=name,
            policy_version=ref.tag,
            folder=str(context.store.download_folder(ref.folder, context.cache)),
            base=str(context.store.download_folder(ref.base.folder, context.cache))
            if ref.base
            else None,
            data=str(data),
            out=str(out),
            seed=derive_seed("warm_start", context.config.seed, name),
            settings=training_settings(context.config.update, settings),
            total_steps=settings.steps,
        )
        jobs.append(job)
    return jobs


def _demonstrations(
    config: ExperimentConfig, settings: WarmStartConfig
) -> dict[str, Sequence[Demonstration]]:
    """Policy -> what it is shown, environment after environment; training shuffles it."""
    seed = derive_seed("warm_start", config.seed)
    members = open_members(config)
    parts = parts_of(members, 0, settings.num_tasks)
    shown: dict[str, Sequence[Demonstration]] = {name: [] for name in config.policies}
    for member in members:
        roles = {role: config.roles[role] for role in member.env.roles}
        count = len(parts[member.name])
        found = demonstrate(member.env, roles, seed, count, member.num_turns)
        shown |= {name: [*shown[name], *items] for name, items in found.items()}
    return shown


def _upload(context: StepContext, old: PolicyRef, job: Job) -> PolicyRef:
    folder = context.store.upload_folder(job.policy_out)
    return PolicyRef(old.name, 0, folder.uri, folder.sha256, folder.bytes, old.base)
