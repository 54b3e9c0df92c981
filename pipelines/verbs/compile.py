"""`python -m pipelines compile`: writes a pipeline's YAML for a cluster."""

import argparse
from typing import Any

from components.errors import ConfigError
from pipelines import arguments
from pipelines.profile import Profile

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
    verb.add_argument(
        "--namespace", metavar="NS", help="of these resources, with --kubernetes-manifest alone"
    )
    verb.add_argument(
        "--service-account", metavar="SA",
        help="of the iterations' runs, with --pipeline training; the runs of other pipelines get "
        "theirs when they are started",
    )  # fmt: skip


def _compile(options: argparse.Namespace) -> int:
    from pipelines.compiling import compile, compile_manifest

    config, profile = arguments.load(options, ask=False), arguments.open_profile(options)
    profile = _with_account(profile, options)
    if options.namespace is not None and not options.kubernetes_manifest:
        raise ConfigError(
            "--namespace: a pipeline's YAML carries none; each run is given its own, by `submit "
            "--namespace` or in the UI. Add --kubernetes-manifest to write resources, which do"
        )
    if options.kubernetes_manifest:
        place = (options.output, options.pipeline, options.namespace)
        spec = compile_manifest(config, profile, *place)
    else:
        spec = compile(config, profile, options.output, options.pipeline)
    num_steps = len(spec["deploymentSpec"]["executors"])
    print(f"{options.output}: {spec['pipelineInfo']['name']}, {num_steps} steps")
    return arguments.OK


def _with_account(profile: Profile, options: argparse.Namespace) -> Profile:
    if options.service_account and options.pipeline != "training":
        raise ConfigError(
            f"--service-account: the pipeline {options.pipeline} does not carry it, each run is "
            "given its own: `submit --service-account`, the UI's form (Service Account), or "
            "service_account of kfp's Client; --pipeline training has a parameter for it"
        )
    return profile.with_account(options.service_account)
