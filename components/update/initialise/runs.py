"""A policy of an earlier run as a base: `run://<run>:<iteration>/<policy>`, from the same store."""

import re
from pathlib import Path

from components.errors import PolicyError
from components.policies import PolicyRef
from components.settings import StorageConfig
from components.state import read_state
from components.storage import open_store

_FORM = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*):(\d+)/(.+)")


def find_policy(rest: str, storage: StorageConfig) -> PolicyRef:
    """The policy that a run's iteration left. PolicyError names what is there instead."""
    form = _FORM.fullmatch(rest)
    if form is None:
        raise PolicyError(f"run://{rest}: expected run://<run>:<iteration>/<policy>")
    run, iteration, policy = form.groups()
    state = read_state(open_store(storage), run, int(iteration))
    if policy not in state.policies:
        raise PolicyError(f"run://{rest}: run {run} has the policies {sorted(state.policies)}")
    ref = state.policies[policy]
    if ref.base is not None:
        raise PolicyError(f"run://{rest}: is an adapter on {ref.base.name}, expected full weights")
    return ref


def fetch_policy(rest: str, storage: StorageConfig, cache: Path) -> Path:
    """Its local, read-only folder."""
    return open_store(storage).download_folder(find_policy(rest, storage).folder, cache)
