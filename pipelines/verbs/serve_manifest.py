"""`python -m pipelines serve-manifest`: KServe resources that serve a team in a cluster."""

import argparse
from typing import Any

from pipelines import arguments
from pipelines.verbs.export import add_team

TEXT = "write the KServe resources that serve a team, and the same as vLLM commands"
MORE = """\
examples:
  python -m pipelines serve-manifest sokoban@champion --profile 8xh100 \\
      --images images.yaml -o team.yaml
  python -m pipelines serve-manifest sokoban@champion --per-role --profile single-gpu \\
      --images images.yaml --namespace teams -o team.yaml
  python -m pipelines serve-manifest quickstart@champion --to s3://bucket/served \\
      --profile single-gpu --images images.yaml -o team.yaml       # from a laptop's store

An InferenceService (v1beta1, KServe 0.16 or newer) per distinct weights; adapters on one base share
its server. Each answers OpenAI's protocol under the names of its roles. Image by digest from the
profile (step `serve`, else runtime `vllm`), storage credentials by the name of a secret."""


def add(verbs: Any) -> None:
    """Add the verb."""
    verb = arguments.add_verb(verbs, "serve-manifest", _serve_manifest, TEXT, MORE)
    add_team(verb)
    arguments.add_profile(verb)
    verb.add_argument("-o", "--output", required=True, metavar="FILE")
    verb.add_argument("--per-role", action="store_true", help="a server for each role")
    verb.add_argument("--to", metavar="URI", help="copy the weights into this store first (s3://)")
    verb.add_argument(
        "--storage-secret", default="rolewise-storage", metavar="NAME",
        help="with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (default: rolewise-storage)",
    )  # fmt: skip
    verb.add_argument("--namespace", metavar="NS", help="of the resources")
    verb.add_argument(
        "--min-replicas", type=arguments.not_negative, default=1, metavar="N", help="default: 1"
    )
    verb.add_argument(
        "--max-replicas", type=arguments.not_negative, default=1, metavar="N", help="default: 1"
    )


def _serve_manifest(options: argparse.Namespace) -> int:
    from pipelines.deployment import write_manifest
    from pipelines.teams import find_team

    found = find_team(options.team, options.store, options.tracking)
    for line in write_manifest(found, arguments.open_profile(options), options):
        print(line)
    return arguments.OK
