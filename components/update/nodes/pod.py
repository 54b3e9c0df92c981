"""What the pod of each node gets: the profile's settings of the step `update`, as plain JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from components.errors import ConfigError

RUNTIME = "rolewise-deepspeed"
"""Name of the training runtime in images/deepspeed/runtime."""
DEADLINE_S = 86400
"""Of a TrainJob whose profile names no time limit."""


@dataclass(frozen=True)
class NodePod:
    """Pod settings; None or empty: the cluster's default."""

    image: str
    runtime: str = RUNTIME
    runtime_kind: str = "TrainingRuntime"
    """TrainingRuntime (of the namespace) or ClusterTrainingRuntime."""
    cpu: str | None = None
    """Limit and request, a Kubernetes quantity; as memory."""
    memory: str | None = None
    accelerator: str | None = None
    """Resource name, e.g. `nvidia.com/gpu`."""
    num_accelerators: int = 0
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """secret name -> key -> environment variable."""
    optional_secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: Sequence[Mapping[str, Any]] = field(default_factory=list)
    shm: str | None = None
    """Size of an in-memory volume at /dev/shm."""
    image_pull_secrets: Sequence[str] = field(default_factory=list)
    labels: Mapping[str, str] = field(default_factory=dict)
    timeout_s: int = DEADLINE_S
    """From the first look for nodes to the last upload."""

    def to_json(self) -> str:
        """Compact JSON without what is the default; `from_json` is its inverse."""
        default = asdict(NodePod(""))
        content = {key: value for key, value in asdict(self).items() if value != default[key]}
        return json.dumps(content, sort_keys=True, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> "NodePod":
        """ConfigError for text that `to_json` did not write."""
        try:
            return NodePod(**json.loads(text))
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"pod settings of the update's nodes: {error}; got {text!r}"
            ) from error
