"""The container of a warm server: `python -m components.rollout.warm --run R --name N --plan JSON`.

Started by a driver; see docs/warm_servers.md.
"""

import argparse
import os
import sys
from pathlib import Path

from components.errors import RolewiseError
from components.rollout.warm.keeper import Keeper
from components.rollout.warm.process import Plan
from components.rollout.warm.removal import Account, own_account


def main() -> int:
    """0: it ended as it should; 1: vLLM or the storage failed."""
    parser = argparse.ArgumentParser(prog="python -m components.rollout.warm", description=__doc__)
    add = parser.add_argument
    add("--run", required=True, help="the training run that it serves")
    add("--name", required=True, help="of the server, its Deployment and its Service")
    add("--plan", required=True, help="what is served, as JSON")
    add("--host", default=os.environ.get("POD_IP") or "127.0.0.1", help="default: POD_IP")
    add("--port", type=int, default=8000)
    add("--max-age-s", type=float, required=True, help="after which it ends in any case")
    add("--holder", help="the only driver that may renew its lease; default: any")
    add("--module", default="components.rollout.warm.process", help="the program that serves")
    add("--kubernetes-api", metavar="URL", help="default: the cluster's own")
    add("--account", type=Path, metavar="FOLDER", help="service account; default: the pod's own")
    options = parser.parse_args()
    account = own_account()
    if options.kubernetes_api and options.account:
        account = Account(options.kubernetes_api, options.account)
    try:
        return Keeper(
            options.run, options.name, Plan.from_json(options.plan), options.host, options.port,
            options.max_age_s, options.holder, account, options.module,
        ).keep()  # fmt: skip
    except RolewiseError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
