"""Probes: log-probs of a few sequences that an update writes down for whoever loads its policy.

They lie in object storage beside the policy, under its digest: the policy's own bytes stay what
they are. Written by the update, read by warm servers' clients.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from components.errors import RecordError
from components.storage import Store


@dataclass(frozen=True)
class Probe:
    """A few of the samples that a policy was trained on, with log-probs at T = 1."""

    prompts: tuple[tuple[int, ...], ...]
    """`[num_sequences][num_prompt_tokens]`"""
    completions: tuple[tuple[int, ...], ...]
    """`[num_sequences][num_tokens]`"""
    before: tuple[tuple[float, ...], ...]
    """`[num_sequences][num_tokens]` under the weights before the update."""
    after: tuple[tuple[float, ...], ...]
    """`[num_sequences][num_tokens]` under the policy's own."""

    def to_json(self) -> str:
        """`from_json` is its inverse."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> "Probe":
        """RecordError for a missing or an unknown field."""
        try:
            return Probe(**{name: _nested(value) for name, value in content.items()})
        except TypeError as error:
            raise RecordError(f"probe: bad field {error}; got {sorted(content)}") from error


def probe_key(sha256: str) -> str:
    """Where the probe of a policy with this digest lies."""
    return f"probes/{sha256}.json"


def read_probe(store: Store, sha256: str) -> Probe | None:
    """The probe of a policy; None if nobody wrote one: a policy that no update made."""
    key = probe_key(sha256)
    return Probe.from_json(json.loads(store.read(key))) if store.exists(key) else None


def write_probe(store: Store, sha256: str, probe: Probe) -> None:
    """Keep the probe of a policy."""
    store.write(probe_key(sha256), probe.to_json().encode())


def _nested(value: Any) -> Any:
    return tuple(tuple(each) for each in value)
