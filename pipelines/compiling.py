"""Compiles pipelines to YAML, and refuses what a cluster would refuse later."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from components.config import ExperimentConfig
from components.errors import ConfigError
from components.storage.disk import is_full

MAX_DAG_BYTES = 64 * 1024
MAX_PARAMETERS = 10
PIPELINES = ("iteration", "preparation", "promotion")


def compile(
    config: ExperimentConfig,
    profile: str,
    output: str | Path,
    pipeline: str = "iteration",
) -> dict[str, Any]:
    """Write a pipeline's YAML to `output` and return its PipelineSpec.

    Two compiles of one configuration are byte-identical. ConfigError if a DAG or the number of
    tasks or parameters is more than a cluster takes, the profile is unknown, or `output` cannot be
    written.
    """
    from kfp import compiler

    built = build(config, profile, pipeline)
    if Path(output).suffix not in (".yaml", ".yml"):
        raise ConfigError(f"output {str(output)!r}: expected a name that ends in .yaml")
    try:
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        compiler.Compiler().compile(built, str(output))
    except OSError as error:
        if is_full(error):  # no fault of the name: the command line has the words for it
            raise
        raise ConfigError(f"output {str(output)!r} cannot be written: {error.strerror}") from error
    spec = read_spec(output)
    check_spec(spec)
    return spec


def build(config: ExperimentConfig, profile: str, pipeline: str) -> Any:
    """The pipeline as kfp's object."""
    from pipelines.profile import load_profile
    from pipelines.steps import STEPS

    if pipeline not in PIPELINES:
        raise ConfigError(f"pipeline {pipeline!r} is unknown; known: {', '.join(PIPELINES)}")
    return _builder(pipeline)(config, load_profile(profile, STEPS))


def read_spec(path: str | Path) -> dict[str, Any]:
    """The PipelineSpec of a compiled pipeline: the first document of its YAML."""
    spec = next(yaml.load_all(Path(path).read_text(), Loader=yaml.CSafeLoader))
    return dict(spec)


def check_spec(spec: Mapping[str, Any]) -> None:
    """ConfigError if a DAG is too large or there are too many run parameters."""
    parameters = spec["root"].get("inputDefinitions", {}).get("parameters", {})
    if len(parameters) > MAX_PARAMETERS:
        raise ConfigError(
            f"pipeline has {len(parameters)} run parameters, expected at most {MAX_PARAMETERS}"
        )
    dags = {"root": spec["root"], **spec["components"]}
    for name, component in dags.items():
        size = len(json.dumps(component["dag"]).encode()) if "dag" in component else 0
        if size > MAX_DAG_BYTES:
            raise ConfigError(
                f"DAG {name} has {size} bytes, expected at most {MAX_DAG_BYTES}; "
                "set rollout.placement to fused, or shorten the configuration"
            )


def _builder(pipeline: str) -> Callable[..., Any]:
    if pipeline == "preparation":
        from pipelines.preparation import preparation_pipeline

        return preparation_pipeline
    if pipeline == "promotion":
        from pipelines.promotion import promotion_pipeline

        return promotion_pipeline
    from pipelines.iteration import iteration_pipeline

    return iteration_pipeline
