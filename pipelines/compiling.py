"""Compiles pipelines to YAML, and refuses what a cluster would refuse later."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from components.config import ExperimentConfig
from components.errors import ConfigError
from components.storage.disk import is_full
from pipelines.nodes import check_ranks
from pipelines.pinning import STEP_RUNTIMES, check_images
from pipelines.profile import Profile, load_profile

MAX_DAG_BYTES = 64 * 1024
MAX_PARAMETERS = 10
MAX_TASKS = 40
"""Of one run: an Argo Workflow grows by about 35 KiB a task, and etcd takes 1.5 MiB."""
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
PIPELINES = ("iteration", "preparation", "promotion", "evaluation", "training")


def compile(
    config: ExperimentConfig,
    profile: str | Profile,
    output: str | Path,
    pipeline: str = "iteration",
) -> dict[str, Any]:
    """Write a pipeline's YAML to `output` and return its PipelineSpec.

    Two compiles of one configuration are byte-identical. ConfigError if a DAG or the number of
    tasks or parameters is more than a cluster takes, the profile is unknown or lacks an image, or
    `output` cannot be written.
    """
    return write_checked(build(config, profile, pipeline), output, {})


def compile_manifest(
    config: ExperimentConfig,
    profile: str | Profile,
    output: str | Path,
    pipeline: str = "iteration",
    namespace: str | None = None,
) -> dict[str, Any]:
    """Write the Kubernetes resources Pipeline and PipelineVersion instead, for GitOps.

    A version's content cannot be changed, so its name ends in 8 hex digits of the content.
    """
    from kfp.compiler.compiler_utils import KubernetesManifestOptions

    if namespace is not None and not _NAMESPACE.fullmatch(namespace):
        raise ConfigError(
            f"--namespace {namespace!r}: expected a name such as teams: at most 63 lower case "
            "letters, digits and '-'"
        )
    built = build(config, profile, pipeline)
    with TemporaryDirectory() as folder:
        plain = Path(folder) / "pipeline.yaml"
        name = write_checked(built, plain, {})["pipelineInfo"]["name"]
        digest = hashlib.sha256(plain.read_bytes()).hexdigest()[:8]
    names = KubernetesManifestOptions(
        pipeline_name=name, pipeline_version_name=f"{name}-{digest}", namespace=namespace,
        include_pipeline_manifest=True,
    )  # fmt: skip
    manifest = {"kubernetes_manifest_format": True, "kubernetes_manifest_options": names}
    return write_checked(built, output, manifest)


def build(config: ExperimentConfig, profile: str | Profile, pipeline: str) -> Any:
    """The pipeline as kfp's object."""
    if pipeline not in PIPELINES:
        raise ConfigError(f"pipeline {pipeline!r} is unknown; known: {', '.join(PIPELINES)}")
    chosen = open_profile(profile) if isinstance(profile, str) else profile
    check_images(chosen, (*STEP_RUNTIMES, *(["driver"] if pipeline == "training" else [])))
    check_places(config, chosen)
    check_ranks(config, chosen)
    return _builder(pipeline)(config, chosen)


def open_profile(name: str) -> Profile:
    """The profile of that name, its steps checked."""
    from pipelines.steps import STEPS

    return load_profile(name, {**STEPS, "train": None, "serve": None})


def check_places(config: ExperimentConfig, profile: Profile) -> None:
    """ConfigError if a profile for clusters meets results that would stay inside one pod."""
    if not profile.pinned:
        return
    if not config.storage.uri.startswith("s3://"):
        raise ConfigError(
            f"storage.uri is {config.storage.uri!r}, but the pods of profile {profile.name} share "
            "no disk; expected s3://bucket/prefix: --set storage.uri=s3://..."
        )
    if (config.tracking.uri or "").startswith(("sqlite:", "file:")):
        raise ConfigError(
            f"tracking.uri is {config.tracking.uri!r}, which ends with a pod of profile "
            f"{profile.name}; expected a server's http(s):// address"
        )


def read_spec(path: str | Path) -> dict[str, Any]:
    """The PipelineSpec of a compiled pipeline: of its YAML's documents, plain or as resources."""
    documents = list(yaml.load_all(Path(path).read_text(), Loader=yaml.CSafeLoader))
    for document in documents:
        if document.get("kind") == "PipelineVersion":
            return dict(document["spec"]["pipelineSpec"])
    return dict(documents[0])


def check_spec(spec: Mapping[str, Any]) -> None:
    """ConfigError if a DAG is too large, or there are too many tasks or run parameters, or the
    UI could not say what a run parameter is."""
    parameters = spec["root"].get("inputDefinitions", {}).get("parameters", {})
    if len(parameters) > MAX_PARAMETERS:
        raise ConfigError(
            f"pipeline has {len(parameters)} run parameters, expected at most {MAX_PARAMETERS}"
        )
    silent = sorted(name for name, value in parameters.items() if not value.get("description"))
    if silent:
        raise ConfigError(f"run parameters {silent} have no description in the docstring's Args")
    dags = {"root": spec["root"], **spec["components"]}
    for name, component in dags.items():
        size = len(json.dumps(component["dag"]).encode()) if "dag" in component else 0
        if size > MAX_DAG_BYTES:
            raise ConfigError(
                f"DAG {name} has {size} bytes, expected at most {MAX_DAG_BYTES}; "
                "set rollout.placement to fused, or shorten the configuration"
            )
    count = count_tasks(spec, spec["root"])
    if count > MAX_TASKS:
        raise ConfigError(
            f"pipeline has {count} tasks, expected at most {MAX_TASKS}; "
            "set rollout.placement to fused and update.share_process to true"
        )


def count_tasks(spec: Mapping[str, Any], component: Mapping[str, Any]) -> int:
    """Tasks that run a container, in a component's DAG and those nested in it."""
    if "dag" not in component:
        return 1
    tasks = component["dag"].get("tasks", {}).values()
    return sum(count_tasks(spec, spec["components"][t["componentRef"]["name"]]) for t in tasks)


def write_checked(built: Any, output: str | Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Compile into a file and check what is in it."""
    from kfp import compiler

    if Path(output).suffix not in (".yaml", ".yml"):
        raise ConfigError(f"output {str(output)!r}: expected a name that ends in .yaml")
    try:
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        compiler.Compiler().compile(built, str(output), **options)
    except OSError as error:
        if is_full(error):  # no fault of the name: the command line has the words for it
            raise
        raise ConfigError(f"output {str(output)!r} cannot be written: {error.strerror}") from error
    spec = read_spec(output)
    try:
        check_spec(spec)
    except ConfigError:
        Path(output).unlink()  # nobody shall upload it
        raise
    return spec


def _builder(pipeline: str) -> Callable[..., Any]:
    if pipeline == "preparation":
        from pipelines.preparation import preparation_pipeline

        return preparation_pipeline
    if pipeline == "promotion":
        from pipelines.promotion import promotion_pipeline

        return promotion_pipeline
    if pipeline == "evaluation":
        from pipelines.promotion import evaluation_pipeline

        return evaluation_pipeline
    if pipeline == "training":
        from pipelines.training import training_pipeline

        return training_pipeline
    from pipelines.iteration import iteration_pipeline

    return iteration_pipeline
