"""The golden pipelines: what is compiled, and how to write them again.

`python -m tests.pipelines.regenerate` after a change that is meant to change the wiring; read
the difference before you commit it.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from components.config import ExperimentConfig
from pipelines.compiling import compile
from tests.pipelines.experiment import make_config

FOLDER = Path(__file__).parent / "golden"
GOLDEN: dict[str, tuple[str, dict[str, Any]]] = {
    "fused": ("iteration", {}),
    "staged": ("iteration", {"rollout": {"placement": "staged", "num_turns": 2}}),
    "separate_policies": ("iteration", {"update": {"share_process": False}}),
    "preparation": ("preparation", {"warm_start": {"steps": 10}}),
    "promotion": ("promotion", {}),
}
"""File name -> pipeline, sections of the configuration."""


def golden_config(name: str) -> ExperimentConfig:
    """The configuration of one golden file."""
    return make_config(**GOLDEN[name][1])


def compiled_text(name: str) -> str:
    """The pipeline's wiring as YAML: without kfp's version, the code and words of the components
    and the values of the configuration, which other tests look after."""
    config = golden_config(name)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "pipeline.yaml"
        compile(config, "cpu", path, GOLDEN[name][0])
        text = path.read_text().replace(config.to_json(), "(the resolved configuration)")
    spec, *platform = yaml.safe_load_all(text)
    del spec["sdkVersion"]
    for executor in spec["deploymentSpec"]["executors"].values():
        del executor["container"]["command"]
    _drop_descriptions(spec["components"])
    return yaml.safe_dump_all([spec, *platform], width=100)


def _drop_descriptions(content: Any) -> None:
    if isinstance(content, dict):
        if isinstance(content.get("description"), str):
            del content["description"]
        for value in content.values():
            _drop_descriptions(value)


def main() -> None:
    """Write all golden files."""
    FOLDER.mkdir(exist_ok=True)
    for name in GOLDEN:
        (FOLDER / f"{name}.yaml").write_text(compiled_text(name))
        print(FOLDER / f"{name}.yaml")


if __name__ == "__main__":
    main()
