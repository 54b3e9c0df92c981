"""A store with runs in it, whose policies are a few bytes each."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from components.manifests import OutputRef, StepManifest, output_key, step_key
from components.policies import FolderRef, PolicyRef
from components.promotion import audit
from components.promotion.audit import Action
from components.state import TrainingState, register_run, write_state
from components.storage import Store
from tests.doubles.experiment import make_config

CONFIG = make_config(policies={"tool": {"base": "file://tool"}}, roles={"tool": "tool"})


@dataclass
class Made:
    """A store, and what was put into it."""

    store: Store
    folder: Path
    """For files on their way into the store."""
    config: Any = CONFIG
    states: dict[tuple[str, int], TrainingState] = field(default_factory=dict)

    def put(self, text: str, prefix: str = "policies") -> FolderRef:
        """A folder whose content is a text."""
        path = self.folder / text.replace("/", "_")
        path.mkdir(parents=True, exist_ok=True)
        (path / "weights").write_text(text)
        return self.store.upload_folder(path, prefix)

    def policy(self, text: str, version: int) -> PolicyRef:
        """A policy whose content is a text."""
        ref = self.put(text)
        return PolicyRef("tool", version, ref.uri, ref.sha256, ref.bytes)

    def run(self, name: str, last: int, first: str = "start") -> None:
        """Iterations 0 to `last`; all runs with the same `first` begin with the same policy."""
        register_run(self.store, name, self.config)
        start = {"tool": self.policy(first, 0)}
        for i in range(last + 1):
            policies = {"tool": self.policy(f"{name}/{i}", i)} if i else start
            optimizers = {"tool": self.put(f"{name}/{i}/adam", "optimizers")} if i else {}
            state = TrainingState(
                name, i, self.config.digest(), policies, optimizers, start, next_task=i
            )
            write_state(self.store, state)
            self.states[name, i] = state

    def step(
        self, run: str, iteration: int, name: str, outputs: dict[str, Any], **metrics: float
    ) -> None:
        """A committed step; `metrics` with `__` for `/`."""
        key = step_key(self.config, run, iteration, name, {})
        refs = {}
        for output, value in outputs.items():
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.store.write(output_key(key, output), data)
            refs[output] = OutputRef(len(data), "0" * 64)
        named = {metric.replace("__", "/"): value for metric, value in metrics.items()}
        manifest = StepManifest(
            run, iteration, name, self.config.digest(), {}, {}, refs, named, finished_unix_s=0.0
        )
        content = manifest.__dict__ | {"outputs": {n: ref.__dict__ for n, ref in refs.items()}}
        self.store.write(key, json.dumps(content).encode())

    def promote(self, run: str, iteration: int, action: Action = Action.PROMOTED) -> None:
        """An entry of the team's audit log."""
        label = f"{run}@{iteration}"
        entry = audit.Entry(action, label, None, {"label": label, "versions": {}})
        audit.append(self.store, "tiny", replace(entry, who="somebody"))

    def there(self) -> set[str]:
        """The texts of all folders in the store."""
        keys = [key for key in self.store.list("") if key.endswith("/weights")]
        return {self.store.read(key).decode() for key in keys}
