"""The update step: state, samples and certificate in; new policies and optimiser states out.

Training happens in this pod (`launch`) or on several nodes (`nodes`). Imports no model library
until a job runs here.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from components import records
from components.config import ExperimentConfig, parse_config
from components.errors import ConfigError, RecordError
from components.state import TrainingState, load_state
from components.step import StepContext, input_digests, run_step, step_key
from components.update.exchange import Updated, fetch_job, unchanged, updated
from components.update.launch import import_libraries, run_jobs
from components.update.nodes.main import train_on_nodes
from components.update.nodes.pod import NodePod
from components.update.samples import of_policy


def update(
    config: str,
    run: str,
    iteration: int,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    policies: Sequence[str] = (),
    pod: str | None = None,
) -> dict[str, float]:
    """Update the named policies, or all trainable ones.

    Inputs: state, samples, certificate. Output: result, `{"policies": {name: PolicyRef},
    "optimizers": {name: FolderRef}}`. Metrics: `update/<policy>/<name>`. `pod`: what each node
    gets (JSON of a NodePod), if training happens on several; None: here.
    """

    def compute(context: StepContext) -> dict[str, float]:
        check_certificate(inputs["certificate"])
        state = load_state(inputs["state"])
        names, samples = updated_policies(context, policies), inputs["samples"]
        live = _live(samples, names)
        trained: dict[str, Updated] = {}
        if live and pod is not None:
            key = committed_key(config, run, iteration, inputs, policies)
            trained = train_on_nodes(context, state, samples, live, key, NodePod.from_json(pod))
        elif live:
            trained = _train_here(context, state, samples, live)
        results = {name: trained.get(name) or unchanged(state, name) for name in names}
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


def _live(samples: str, names: Sequence[str]) -> list[str]:
    """Those of `names` that have a sample with a signal."""
    table = records.read(samples, records.Sample)
    players = set(table["policy"].unique().to_pylist())
    if not players:
        raise RecordError(f"samples {samples}: no rows at all, expected those of {list(names)}")
    return [
        name
        for name in names
        if name in players and any(of_policy(table, name)["weight"].to_pylist())
    ]


def _train_here(
    context: StepContext, state: TrainingState, samples: str, names: Sequence[str]
) -> dict[str, Updated]:
    """Train in this pod, on all its GPUs."""
    num_processes = context.config.update.num_processes
    with TemporaryDirectory(prefix="rolewise-update-") as scratch:
        jobs = [fetch_job(context, state, samples, name, Path(scratch) / name) for name in names]
        with context.meter.measure("load"):
            import_libraries(num_processes)
        run_jobs(jobs, num_processes)
        results = {}
        for job in jobs:
            optimizer = context.store.upload_folder(job.optimizer_out, "optimizers")
            results[job.policy] = updated(context, state, job, optimizer)
        return results


def _write_result(path: Path, results: Mapping[str, Updated]) -> None:
    content = {
        "policies": {name: item.policy.to_json() for name, item in results.items()},
        "optimizers": {
            name: asdict(item.optimizer) for name, item in results.items() if item.optimizer
        },
    }
    path.write_text(json.dumps(content, indent=1, sort_keys=True))
