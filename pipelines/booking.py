"""Adds steps to a pipeline: the inputs all steps share, caching off, and the profile's settings."""

from collections.abc import Callable
from typing import Any

from kfp import kubernetes

from components.errors import ConfigError
from components.rollout.warm.lease import NEEDS_SERVER
from pipelines.profile import RUNTIMES, Profile, StepSettings

Add = Callable[..., Any]
"""`add(component, **inputs)` returns the component's task."""


def booking(profile: Profile, config: str, run: Any, iteration: Any, served: bool = False) -> Add:
    """A function that adds one step to the pipeline being built and books what it needs.

    Caching is off for every task: a step finds its own committed output in our store. `served`:
    warm servers hold the accelerators of the steps that sample.
    """

    def add(component: Any, **inputs: Any) -> Any:
        task = component(config=config, run=run, iteration=iteration, **inputs)
        task.set_caching_options(False)
        if component.component_spec.implementation.graph is not None:
            return task
        runtime = runtime_of(component)
        task.set_container_image(profile.images[runtime])  # complete: see pinning.check_images
        settings = profile.settings(component.python_func.__name__, runtime)
        if served and component.python_func.__name__ in NEEDS_SERVER:
            settings = settings.model_copy(update={"accelerator": None})
        book(task, settings)
        return task

    return add


def runtime_of(component: Any) -> str:
    """The runtime that a component's image constant names."""
    image = component.component_spec.implementation.container.image
    if image not in RUNTIMES:
        raise ConfigError(
            f"step {component.name!r} has image {image!r}; expected one of {sorted(RUNTIMES)}"
        )
    return RUNTIMES[image]


def book(task: Any, settings: StepSettings) -> None:
    """Write pod settings into a task."""
    if settings.cpu:
        task.set_cpu_limit(settings.cpu).set_cpu_request(settings.cpu)
    if settings.memory:
        task.set_memory_limit(settings.memory).set_memory_request(settings.memory)
    if settings.accelerator:
        task.set_accelerator_type(settings.accelerator.type)
        task.set_accelerator_limit(settings.accelerator.count)
    if settings.retries:
        task.set_retry(settings.retries, backoff_duration="10s", backoff_max_duration="300s")
    for name, value in settings.env.items():
        task.set_env_variable(name, value)
    _book_pod(task, settings)


def _book_pod(task: Any, settings: StepSettings) -> None:
    if settings.timeout_s:
        kubernetes.set_timeout(task, settings.timeout_s)
    for key, value in settings.node_selector.items():
        kubernetes.add_node_selector(task, key, value)
    for toleration in settings.tolerations:
        kubernetes.add_toleration(task, **toleration.model_dump(exclude_none=True))
    if settings.shm:
        kubernetes.empty_dir_mount(
            task, "shm", mount_path="/dev/shm", medium="Memory", size_limit=settings.shm
        )
    for secret, keys in settings.secrets.items():
        kubernetes.use_secret_as_env(task, secret, keys)
    for secret, keys in settings.optional_secrets.items():
        kubernetes.use_secret_as_env(task, secret, keys, optional=True)
    if settings.image_pull_secrets:
        kubernetes.set_image_pull_secrets(task, settings.image_pull_secrets)
    for key, value in settings.labels.items():
        kubernetes.add_pod_label(task, key, value)
