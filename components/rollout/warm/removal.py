"""A server removes itself from the cluster: its own Deployment and Service, nothing else.

Plain HTTP with the pod's service account, since the images of steps hold no Kubernetes client.
"""

import json
import os
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from components.cluster import ACCOUNT

TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Account:
    """How a pod speaks to the API of its cluster."""

    url: str
    folder: Path
    """With token, namespace and, for https, ca.crt."""

    @property
    def namespace(self) -> str:
        """The pod's."""
        return (self.folder / "namespace").read_text().strip()


def own_account() -> Account | None:
    """This pod's; None outside a cluster."""
    host, port = (
        os.environ.get("KUBERNETES_SERVICE_HOST"),
        os.environ.get("KUBERNETES_SERVICE_PORT"),
    )
    if not host or not ACCOUNT.is_dir():
        return None
    address = f"[{host}]" if ":" in host else host
    return Account(f"https://{address}:{port or 443}", ACCOUNT)


def remove_self(name: str, account: Account) -> str:
    """Delete the Service, then the Deployment, whose end is the end of this pod. Says what came
    of it."""
    told = []
    for path in (
        f"api/v1/namespaces/{account.namespace}/services/{name}",
        f"apis/apps/v1/namespaces/{account.namespace}/deployments/{name}",
    ):
        told.append(f"{path.split('/')[-2]} {_delete(account, path)}")
    return ", ".join(told)


def _delete(account: Account, path: str) -> str:
    request = urllib.request.Request(
        f"{account.url}/{path}",
        method="DELETE",
        data=json.dumps({"propagationPolicy": "Background"}).encode(),
        headers={
            "Authorization": f"Bearer {(account.folder / 'token').read_text().strip()}",
            "Content-Type": "application/json",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=_context(account)):
            return "deleted"
    except urllib.error.HTTPError as error:
        with error:
            return "is gone already" if error.code == 404 else f"stays: {error.code} {error.reason}"
    except OSError as error:
        return f"stays: {error}"


def _context(account: Account) -> ssl.SSLContext | None:
    if not account.url.startswith("https:"):
        return None
    return ssl.create_default_context(cafile=str(account.folder / "ca.crt"))
