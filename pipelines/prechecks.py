"""The checks of `preflight` with a profile's GPUs and images, and a cluster's API."""

import argparse
import re
from collections.abc import Iterator
from contextlib import suppress

from components.config import ExperimentConfig
from components.errors import RolewiseError
from components.preflight.capacity import Gpus, check_cost, check_rollout, check_update, check_use
from components.preflight.environment import (
    Language,
    check_environment,
    distant_problems,
    language_of,
)
from components.preflight.findings import Finding, ok, run_checks, warn
from components.preflight.places import check_model_registry, check_storage, check_tracking
from components.preflight.policies import check_policies
from components.preflight.servers import check_servers
from components.preflight.shapes import ModelShape
from components.preflight.trainer import check_trainer
from components.rollout.warm.layout import expected
from pipelines.access import find_access
from pipelines.api import Api
from pipelines.compiling import check_places
from pipelines.pinning import check_images
from pipelines.profile import Profile
from pipelines.warm.manifest import RUNTIME, STEP

OLDEST = (2, 17)
"""Version of Kubeflow Pipelines that all of this was written for."""
_ASK = "tasks and prompts were not looked at: run again without --offline"


def findings(
    config: ExperimentConfig, profile: Profile, options: argparse.Namespace
) -> Iterator[Finding]:
    """All checks in the order in which a run would meet them."""
    yield ok("configuration", f"{len(config.to_json())} bytes, digest {config.digest()[:8]}")
    away = distant_problems(config) if options.offline else []
    if away:
        yield warn("environment", f"{', '.join(away)} was not asked", _ASK)
    else:
        yield from run_checks([("environment", lambda: check_environment(config))])
    shapes: dict[str, ModelShape] = {}
    with suppress(RolewiseError, ValueError):  # said by check_environment
        language = Language((), None) if away else language_of(config)
        found, shapes = check_policies(config, language.prompts, language.words, options.offline)
        yield from found
    if not options.offline:
        yield from run_checks(
            [
                ("storage", lambda: check_storage(config)),
                ("tracking", lambda: check_tracking(config)),
                ("model registry", lambda: check_model_registry(config)),
            ]
        )
    if profile.pinned:
        yield from run_checks([("profile", lambda: _check_profile(config, profile))])
    plays = "evaluate" if config.rollout.server else "rollout"  # else servers do
    rollout, update = gpus(profile, plays, "vllm"), gpus(profile, "update", "deepspeed")
    yield from check_use(config, rollout, update, plays)
    if rollout is not None and rollout.memory_gib:
        yield from check_rollout(config, shapes, rollout, plays)
    if config.rollout.server:
        others = {
            name: own.count if own else 0 for name, own in ((plays, rollout), ("update", update))
        }
        server = gpus(profile, STEP, RUNTIME)
        yield from check_servers(config, shapes, expected(config), server, others)
    if update is not None and update.memory_gib:
        yield from check_update(config, shapes, update)
    nothing = Gpus(1, 0.0)
    yield from check_cost(config, shapes, rollout or nothing, update or nothing)
    if not options.offline:
        yield from run_checks([("cluster", lambda: _check_cluster(profile, options))])
        yield from run_checks([("trainer", lambda: _check_trainer(config, profile, options))])


def gpus(profile: Profile, step: str, runtime: str) -> Gpus | None:
    """What the profile books for a step; None for CPUs. 0 GiB: not said."""
    booked = profile.settings(step, runtime).accelerator
    if booked is None:
        return None
    return Gpus(booked.count, booked.memory_gib or 0.0, booked.peak_tflops, booked.price_per_hour)


def _check_profile(config: ExperimentConfig, profile: Profile) -> Iterator[Finding]:
    check_images(profile)
    check_places(config, profile)
    yield ok("images", "all by digest; results are kept outside the pods")
    known = profile.settings("commit", "cpu").env
    if config.tracking.uri is None and "MLFLOW_TRACKING_URI" not in known:
        text = "no tracking.uri: metrics end with the pods, unless Kubeflow's MLflow plugin is on"
        yield warn("profile", text, "set tracking.uri to the server's address, as pods meet it")


def _check_trainer(
    config: ExperimentConfig, profile: Profile, options: argparse.Namespace
) -> Iterator[Finding]:
    wanted = profile.trainjob
    nodes = config.update.num_nodes
    yield from check_trainer(nodes, wanted.runtime, wanted.kind, options.namespace)


def _check_cluster(profile: Profile, options: argparse.Namespace) -> Iterator[Finding]:
    access = find_access(options.endpoint, options.token_file, options.namespace, options.ca_file)
    if access is None:
        if profile.pinned:
            fix = "give --endpoint URL, or set KF_PIPELINES_ENDPOINT"
            yield warn("cluster", "no API was named, so none was asked", fix)
        return
    version = Api(access).check()
    yield ok("cluster", f"{access.endpoint}: the API {version or 'of unknown version'} lets us in")
    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]]
    if numbers < [*OLDEST]:
        text = f"the API's version is {version or 'not said'}, older ones break S3 checksums"
        yield warn("cluster", text, f"use {OLDEST[0]}.{OLDEST[1]} or newer")
