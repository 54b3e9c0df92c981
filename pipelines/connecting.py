"""Arguments that name a cluster's API, and the checked connection to it."""

import argparse
from typing import Any

from components.errors import ConfigError
from pipelines.access import find_access
from pipelines.api import Api


def add_access(verb: Any, default: str = "default: KF_PIPELINES_ENDPOINT") -> None:
    """--endpoint, --token-file, --namespace and --ca-file."""
    add = verb.add_argument
    add("--endpoint", metavar="URL", help=f"of Kubeflow's API; {default}")
    add(
        "--token-file", metavar="FILE",
        help="bearer token, read again for every call; default: KF_PIPELINES_SA_TOKEN_PATH, "
        "or a token in KF_PIPELINES_TOKEN",
    )  # fmt: skip
    add("--namespace", metavar="NS", help="of the runs, where Kubeflow has several users")
    add("--ca-file", metavar="FILE", help="certificate authority of the endpoint")


def connect(options: argparse.Namespace) -> Api:
    """A checked connection. ConfigError without an address, ApiError if it does not let us in."""
    access = find_access(options.endpoint, options.token_file, options.namespace, options.ca_file)
    if access is None:
        raise ConfigError("no API: give --endpoint URL, or set KF_PIPELINES_ENDPOINT")
    api = Api(access)
    api.check()
    return api


def connect_if_asked(options: argparse.Namespace) -> Api | None:
    """The connection if --endpoint was given, for verbs that are about this machine otherwise."""
    return connect(options) if options.endpoint else None
