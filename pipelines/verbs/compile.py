"""`python -m pipelines compile`: writes a pipeline's YAML for a cluster."""

import argparse
from typing import Any

from pipelines import arguments

TEXT = "write a pipeline's YAML for a cluster"


def add(verbs: Any) -> None:
    """Add the verb."""
    from pipelines.compiling import PIPELINES

    verb = arguments.add_config(verbs, "compile", _compile, TEXT)
    verb.add_argument("--pipeline", default="iteration", choices=PIPELINES)
    arguments.add_profile(verb)
    verb.add_argument("-o", "--output", required=True, metavar="FILE")
    verb.add_argument(
        "--kubernetes-manifest", action="store_true",
        help="write the resources Pipeline and PipelineVersion, for GitOps",
    )  # fmt: skip
    verb.add_argument("--namespace", metavar="NS", help="of these resources")


def _compile(options: argparse.Namespace) -> int:
    from pipelines.compiling import compile, compile_manifest

    config, profile = arguments.load(options), arguments.open_profile(options)
    if options.kubernetes_manifest:
        place = (options.output, options.pipeline, options.namespace)
        spec = compile_manifest(config, profile, *place)
    else:
        spec = compile(config, profile, options.output, options.pipeline)
    num_steps = len(spec["deploymentSpec"]["executors"])
    print(f"{options.output}: {spec['pipelineInfo']['name']}, {num_steps} steps")
    return arguments.OK
