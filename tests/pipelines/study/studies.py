"""A small study on the environment of tests/doubles/words.py, in a folder of its own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.workplace import SCRATCH, words_experiment

ROLES = {"A": "a", "B": "b"}
STARTED = {"a": {"base": "run://@start/a"}, "b": {"base": "run://@start/b"}}
ARMS: dict[str, Any] = {
    "start": {"title": "the start", "candidates": 0, "shown": False},
    "team": {"title": "the team", "set": {"policies": STARTED}},
    "shared": {
        "title": "one policy",
        "set": {"policies": {"c": SCRATCH}, "roles": {"A": "c", "B": "c"}},
    },
    "mixed": {
        "title": "put together",
        "candidates": 0,
        "set": {"policies": {"a": {"base": "run://@team/a"}, "b": {"base": "run://@start/b"}}},
    },
}
CLAIMS = [{"text": "training helps", "first": "team", "second": "team/start"}]


def write_study(folder: Path, **changes: Any) -> Path:
    """`study.yaml` and `config.yaml`; `changes` replace keys of the study."""
    base = words_experiment(ROLES) | {
        "storage": {"uri": f"file://{folder}/store", "cache": f"{folder}/cache"},
        "tracking": {"uri": f"sqlite:///{folder}/mlflow.db"},
    }
    content: Mapping[str, Any] = {
        "name": "words", "title": "Words", "seeds": [0], "candidates": 20,
        "arms": ARMS, "claims": CLAIMS,
    } | changes  # fmt: skip
    (folder / "config.yaml").write_text(yaml.safe_dump(base, sort_keys=False))
    (folder / "study.yaml").write_text(yaml.safe_dump(dict(content), sort_keys=False))
    return folder / "study.yaml"
