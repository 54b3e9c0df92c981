"""`python -m pipelines demo`: the quickstart as one command; see pipelines/demo.py."""

import argparse
import os
from typing import Any

from pipelines import arguments

TEXT = "train the quickstart team on this machine and show what it learned (`make demo`)"


def add(verbs: Any) -> None:
    """Add the verb."""
    verb = arguments.add_verb(verbs, "demo", _demo, TEXT)
    verb.add_argument("--seed", type=int, default=0, metavar="N", help="another start and tasks")
    verb.add_argument(
        "--store", choices=("file", "s3"), default="file",
        help="file: build/store; s3: a local SeaweedFS server with its data in build/seaweed",
    )  # fmt: skip
    verb.add_argument(
        "--engine", choices=("auto", "vllm", "transformers"), default="auto",
        help="auto: vLLM, or transformers with the reason where vLLM does not load",
    )  # fmt: skip
    verb.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides",
        help="replace a value of experiments/quickstart/config.yaml",
    )  # fmt: skip


def _demo(options: argparse.Namespace) -> int:
    from pipelines.demo import demo, demo_config
    from pipelines.display import Display

    config = demo_config(options.seed, options.store, options.engine, options.overrides)
    arguments.one_thread()
    with os.fdopen(os.dup(1), "w") as terminal:
        shown = demo(config, options.store, Display(terminal, config.iterations))
    return arguments.OK if shown else arguments.REFUSED
