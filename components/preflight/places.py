"""Whether object storage, MLflow and Kubeflow's Model Registry are there and let us work."""

import uuid
from collections.abc import Iterator

from components.config import ExperimentConfig
from components.errors import StorageError, TrackingError
from components.preflight.findings import Finding, fail, ok, warn
from components.storage import open_store


def check_storage(config: ExperimentConfig) -> Iterator[Finding]:
    """Write, write only if free, read, list and delete an object of our own."""
    store = open_store(config.storage)
    key, data = f"preflight/{uuid.uuid4().hex}", b"rolewise"
    try:
        if not store.create(key, data):
            raise StorageError(f"{store.uri}: a key that nobody can have written is taken")
        second = store.create(key, b"other")
        if store.read(key) != data or store.list("preflight/").count(key) != 1:
            raise StorageError(f"{store.uri}: read or listed something else than was written")
    finally:
        store.delete(key)
    if second:
        text = "a conditional write replaced an object"
        yield fail("storage", f"{store.uri}: {text}", "use a server that honours If-None-Match")
    elif store.exists(key):
        yield warn("storage", f"{store.uri}: a deleted object is still there", "check versioning")
    else:
        yield ok("storage", f"{store.uri}: write, conditional write, read, list, delete")


def check_tracking(config: ExperimentConfig) -> Iterator[Finding]:
    """Experiments and registered models can be listed."""
    from components.tracking.connection import open_client, tracking_uri, translated

    uri = tracking_uri(config.tracking)
    client = open_client(config.tracking)
    with translated(uri, "list experiments"):
        experiments = client.search_experiments(max_results=1000)
    name = config.tracking.experiment or config.name
    known = any(experiment.name == name for experiment in experiments)
    yield ok("tracking", f"{uri}: experiment {name!r} {'exists' if known else 'will be made'}")
    with translated(uri, "list registered models"):
        models = client.search_registered_models(
            filter_string=f"name = '{config.team_name}'", max_results=1
        )
    yield _check_team(config, uri, bool(models))


def _check_team(config: ExperimentConfig, uri: str, known: bool) -> Finding:
    """Whether the team may be registered under its name."""
    from components.tracking.succession import FIX, check_succession

    if not known:
        return ok("registry", f"{uri}: team {config.team_name!r} is new")
    try:
        check_succession(config)
    except TrackingError as error:
        return fail("registry", f"{uri}: {str(error).removesuffix(f'; {FIX}')}", FIX)
    return ok("registry", f"{uri}: team {config.team_name!r} has versions")


def check_model_registry(config: ExperimentConfig) -> Iterator[Finding]:
    """Kubeflow's Model Registry, where the configuration names one: it speaks our version.

    A warning, not a failure: MLflow decides, and a promotion goes on without it.
    """
    from components.tracking.kubeflow import VERSION, ModelRegistry

    url = config.promotion.model_registry_url
    if url is None:
        return
    try:
        registry = ModelRegistry(url)
        known = registry.check(config.team_name)
    except TrackingError as error:
        fix = (
            "set promotion.model_registry_url to the registry's service as pods meet it (from "
            "outside forward its port), or to null; promotions go on without it"
        )
        yield warn("model registry", str(error), fix)
    else:
        what = "is known" if known else "is new"
        text = f"{registry.url}: API {VERSION}, team {config.team_name!r} {what}"
        yield ok("model registry", text)
