"""One iteration's inputs of the update step: a store with a model for every policy, and files."""

import json
from collections.abc import Mapping
from pathlib import Path

from components import records
from components.config import ExperimentConfig, parse_config
from components.policies import FolderRef, PolicyRef
from components.records import Sample
from components.state import TrainingState, save_state
from components.storage import open_store
from components.update.main import update


def make_config(tmp_path: Path, policies: Mapping[str, str], **update_: object) -> ExperimentConfig:
    """`policies`: role -> policy."""
    return parse_config(
        {
            "name": "fake",
            "env": {"name": "fake"},
            "policies": {name: {"base": "file://x"} for name in dict.fromkeys(policies.values())},
            "roles": dict(policies),
            "update": {"minibatch_size": 8, "learning_rate": 0.01, **update_},
            "storage": {"uri": f"file://{tmp_path}/store", "cache": str(tmp_path / "cache")},
        }
    )


class World:
    """A store with one uploaded model for every policy, and the files of one iteration."""

    def __init__(
        self, tmp_path: Path, folder: Path, roles: Mapping[str, str],
        adapters: Mapping[str, Path] | None = None, **update_: object,
    ) -> None:  # fmt: skip
        """`adapters`: policy -> an adapter's folder, on the base in `folder`."""
        self.path, self.config = tmp_path, make_config(tmp_path, roles, **update_)
        self.store = open_store(self.config.storage)
        self.pod: str | None = None
        """JSON of a NodePod: several nodes train."""
        base = self._policy("base", folder, None)
        self.refs = {
            name: self._policy(name, (adapters or {})[name], base)
            if name in (adapters or {})
            else self._policy(name, folder, None)
            for name in self.config.policies
        }
        self.inputs = {name: str(tmp_path / name) for name in ("state", "samples", "certificate")}
        self.outputs = {"result": str(tmp_path / "result.json")}
        self.violations([])
        self.state(0)

    def _policy(self, name: str, folder: Path, base: PolicyRef | None) -> PolicyRef:
        ref = self.store.upload_folder(folder)
        return PolicyRef(name, 0, ref.uri, ref.sha256, ref.bytes, base)

    def violations(self, lines: list[str]) -> None:
        Path(self.inputs["certificate"]).write_text(json.dumps({"violations": lines}))

    def state(self, iteration: int, optimizers: Mapping[str, FolderRef] | None = None) -> None:
        state = TrainingState(
            "r", iteration, self.config.digest(), self.refs, dict(optimizers or {}), self.refs, 0
        )
        save_state(self.inputs["state"], state)

    def samples(self, rows: list[Sample]) -> None:
        records.write(self.inputs["samples"], Sample, records.to_table(Sample, rows))

    def run(self, iteration: int = 1, policies: tuple[str, ...] = ()) -> dict[str, float]:
        config = self.config.to_json()
        return update(config, "r", iteration, self.inputs, self.outputs, policies, self.pod)

    def result(self) -> tuple[dict[str, PolicyRef], dict[str, FolderRef]]:
        content = json.loads(Path(self.outputs["result"]).read_text())
        policies = {n: PolicyRef.from_json(v) for n, v in content["policies"].items()}
        return policies, {n: FolderRef(**v) for n, v in content["optimizers"].items()}
