"""The update step: state, samples and certificate in; new policies and optimiser states out.

Downloads and uploads folders; what happens in between is the jobs'. Imports no model library
until a job runs.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from components import records
from components.config import ExperimentConfig, parse_config
from components.errors import ConfigError, RecordError
from components.policies import FolderRef, PolicyRef
from components.seeds import derive_seed
from components.settings import RolloutConfig
from components.state import TrainingState, load_state
from components.step import StepContext, input_digests, run_step, step_key
from components.update.job import Job
from components.update.launch import import_libraries, run_jobs
from components.update.samples import of_policy


@dataclass(frozen=True)
class Updated:
    """A policy after its update."""

    policy: PolicyRef
    optimizer: FolderRef | None
    metrics: dict[str, float]


def update(
    config: str,
    run: str,
    iteration: int,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    policies: Sequence[str] = (),
) -> dict[str, float]:
    """Update the named policies, or all trainable ones.

    Inputs: state, samples, certificate. Output: result, `{"policies": {name: PolicyRef},
    "optimizers": {name: FolderRef}}`. Metrics: `update/<policy>/<name>`.
    """

    def compute(context: StepContext) -> dict[str, float]:
        check_certificate(inputs["certificate"])
        state = load_state(inputs["state"])
        names = updated_policies(context, policies)
        results = _update_all(context, state, inputs["samples"], names)
        _write_result(Path(outputs["result"]), results)
        return {
            f"update/{policy}/{name}": value
            for policy, result in results.items()
            for name, value in result.metrics.items()
        }

    name = step_name(parse_config(config), policies)
    extra = {"policies": list(policies)}
    return run_step(name, config, run, iteration, inputs, outputs, compute, extra=extra)


def step_name(config: ExperimentConfig, policies: Sequence[str]) -> str:
    """`update` for all trainable policies, `update-<policies>` for a task of its own."""
    everyone = not policies or set(policies) == set(config.trainable)
    return "update" if everyone else f"update-{'-'.join(policies)}"


def committed_key(
    config: str, run: str, iteration: int, inputs: Mapping[str, str], policies: Sequence[str] = ()
) -> str:
    """Store key of the manifest that `update` with the same arguments committed."""
    digests = input_digests(inputs)
    extra = {"policies": list(policies)}
    parsed = parse_config(config)
    name = step_name(parsed, policies)
    return step_key(parsed, run, iteration, name, digests, extra)


def updated_policies(context: StepContext, policies: Sequence[str]) -> list[str]:
    """The names to update. ConfigError for one that is unknown or frozen."""
    trainable = context.config.trainable
    for name in policies:
        if name not in trainable:
            raise ConfigError(f"policy {name!r} is not trainable; trainable policies: {trainable}")
    return list(policies) or trainable


def check_certificate(path: str) -> None:
    """Refuse groups that may not share a baseline. RecordError shows the first violation."""
    try:
        certificate = json.loads(Path(path).read_text())
        violations = certificate["violations"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f"group certificate {path}: cannot be read: {error!r}") from error
    if violations:
        raise RecordError(
            f"group certificate: {len(violations)} violations, expected none; the first: "
            f"{violations[0]}"
        )


def _update_all(
    context: StepContext, state: TrainingState, samples: str, names: Sequence[str]
) -> dict[str, Updated]:
    table = records.read(samples, records.Sample)
    players = set(table["policy"].unique().to_pylist())
    if not players:
        raise RecordError(f"samples {samples}: no rows at all, expected those of {list(names)}")
    live = {
        name: name in players and any(of_policy(table, name)["weight"].to_pylist())
        for name in names
    }
    with TemporaryDirectory(prefix="rolewise-update-") as scratch:
        jobs = {
            name: _job(context, state, samples, name, Path(scratch) / name)
            for name in names
            if live[name]
        }
        if jobs:
            with context.meter.measure("load"):
                import_libraries(context.config.update.num_processes)
        run_jobs(list(jobs.values()), context.config.update.num_processes)
        return {
            name: _upload(context, state, jobs[name]) if live[name] else _unchanged(state, name)
            for name in names
        }


def _job(context: StepContext, state: TrainingState, samples: str, name: str, out: Path) -> Job:
    """Fetch what the job needs."""
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
    )


def _upload(context: StepContext, state: TrainingState, job: Job) -> Updated:
    folder = context.store.upload_folder(job.policy_out)
    optimizer = context.store.upload_folder(job.optimizer_out, "optimizers")
    old = state.policies[job.policy]
    ref = PolicyRef(old.name, context.iteration, folder.uri, folder.sha256, folder.bytes, old.base)
    return Updated(ref, optimizer, job.metrics())


def _unchanged(state: TrainingState, name: str) -> Updated:
    """It has no sample with a signal (none played, or all of weight 0): the policy keeps its
    weights, version and optimiser."""
    idle = {"num_samples": 0.0, "num_tokens": 0.0, "num_steps": 0.0}
    return Updated(state.policies[name], state.optimizers.get(name), idle)


def _write_result(path: Path, results: Mapping[str, Updated]) -> None:
    content = {
        "policies": {name: item.policy.to_json() for name, item in results.items()},
        "optimizers": {
            name: asdict(item.optimizer) for name, item in results.items() if item.optimizer
        },
    }
    path.write_text(json.dumps(content, indent=1, sort_keys=True))


def samples_exactly(settings: RolloutConfig) -> bool:
    """Whether the engine's log-probs are those of the weights that are trained."""
    return settings.dtype == "float32" and settings.quantization is None
