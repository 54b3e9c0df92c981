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
from tests.pipelines.experiment import BUCKET, make_config, pinned

FOLDER = Path(__file__).parent / "golden"
GOLDEN: dict[str, tuple[str, str, dict[str, Any]]] = {
    "fused": ("cpu", "iteration", {}),
    "staged": ("cpu", "iteration", {"rollout": {"placement": "staged", "num_turns": 2}}),
    "separate_policies": ("cpu", "iteration", {"update": {"share_process": False}}),
    "preparation": ("cpu", "preparation", {"warm_start": {"steps": 10}}),
    "promotion": ("cpu", "promotion", {}),
    "evaluation": ("cpu", "evaluation", {}),
    "training": ("cpu", "training", {}),
    "single_gpu_preparation": ("single-gpu", "preparation", {"storage": BUCKET}),
    "8xh100_fused": ("8xh100", "iteration", {"storage": BUCKET}),
    "8xh100_training": ("8xh100", "training", {"storage": BUCKET}),
}
"""File name -> profile, pipeline, sections of the configuration."""


def golden_config(name: str) -> ExperimentConfig:
    """The configuration of one golden file."""
    return make_config(**GOLDEN[name][2])


def compiled_text(name: str) -> str:
    """The pipeline's wiring as YAML: without kfp's version, the code and words of the components
    and the values of the configuration, which other tests look after."""
    config, (profile, pipeline, _) = golden_config(name), GOLDEN[name]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "pipeline.yaml"
        compile(config, "cpu" if profile == "cpu" else pinned(profile), path, pipeline)
        text = path.read_text().replace(config.to_json(), "(the resolved configuration)")
    spec, *platform = yaml.safe_load_all(text)
    del spec["sdkVersion"]
    _drop_profile(spec["root"]["dag"]["tasks"])
    for executor in spec["deploymentSpec"]["executors"].values():
        del executor["container"]["command"]
    _drop_descriptions(spec["components"])
    return yaml.safe_dump_all([spec, *platform], width=100)


def _drop_profile(tasks: Any) -> None:
    """The profile that the driver gets is data, seen in the other files."""
    if "train" in tasks:
        value = tasks["train"]["inputs"]["parameters"]["profile"]["runtimeValue"]
        value["constant"] = "(the resolved profile)"


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
