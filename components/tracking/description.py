"""What MLflow is told about a run beside its metrics: parameters, tags, a note, the task streams.

Pure functions of the configuration, apart from the git commit. Nothing here imports mlflow.
"""

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from components.config import ExperimentConfig
from components.seeds import EVALUATION_SEED

MAX_PARAM = 5900
"""Characters of a parameter's value: MLflow cuts at 6,000."""
_LEFT_OUT = {"name", "iterations", "storage", "tracking"}


@dataclass(frozen=True)
class Stream:
    """A stream of tasks as an MLflow dataset."""

    name: str
    """`<env>/<split>`"""
    digest: str
    """32 hex of sha256 over what decides its tasks: environment, options, split and seed."""
    context: str
    """`training`, `validation` or `test`."""
    source: str
    """JSON that names the environment, its options, the split and the seed."""


def params(config: ExperimentConfig) -> dict[str, str]:
    """Dotted settings that decide the result; those that are unset are left out.

    `iterations` is a tag instead: a finished run may be extended, and parameters never change.
    """
    values = config.model_dump(mode="json", exclude=_LEFT_OUT)
    flat = {key: value for key, value in _flatten("", values) if value is not None}
    return {legal(key): _text(value)[:MAX_PARAM] for key, value in flat.items()}


def legal(key: str) -> str:
    """A name that MLflow takes: letters, digits and `_ - . / :` and space; others become `_`."""
    return re.sub(r"[^\w\-./: ]", "_", key)[:250]


def streams(config: ExperimentConfig) -> list[Stream]:
    """The task streams of the three splits, of every environment."""
    return [
        _stream(config, name, split, context)
        for name in config.environments
        for split, context in (
            ("train", "training"), ("validation", "validation"), ("test", "test"),
        )
    ]  # fmt: skip


def digest(value: Any) -> str:
    """sha256 of a value's canonical JSON, in hex."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def run_tags(config: ExperimentConfig, run: str) -> dict[str, str]:
    """Tags of both the training run and its iteration runs."""
    tags = {
        "rolewise.run": run,
        "rolewise.team": config.team_name,
        "rolewise.env": config.env_names,
        "rolewise.config_digest": config.digest(),
        "rolewise.group_key": ",".join(config.grouping.key),
        "rolewise.grouping": "impure" if config.grouping.allow_impure else "pure",
    }
    tags |= _dataset_tags(config)
    for name, variable in (("image", "ROLEWISE_IMAGE"), ("images", "ROLEWISE_IMAGES")):
        if value := os.environ.get(variable):
            tags[f"rolewise.{name}"] = value
    if user := os.environ.get("ROLEWISE_USER") or os.environ.get("LOGNAME"):
        tags["mlflow.user"] = user
    commit = git_commit()
    return tags | (
        {"mlflow.source.git.commit": commit, "rolewise.git_commit": commit} if commit else {}
    )


def _dataset_tags(config: ExperimentConfig) -> dict[str, str]:
    """`rolewise.dataset.<context>`; of several environments each with `.<environment>`."""
    found = streams(config)
    several = len(found) > 3
    names = [f".{item.name.rpartition('/')[0]}" if several else "" for item in found]
    return {
        f"rolewise.dataset.{item.context}{name}": item.digest
        for item, name in zip(found, names, strict=True)
    }


def git_commit() -> str | None:
    """ROLEWISE_GIT_COMMIT (images carry no .git), else HEAD of the working directory, or None."""
    if commit := os.environ.get("ROLEWISE_GIT_COMMIT"):
        return commit
    command = ["git", "rev-parse", "HEAD"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip() if result.returncode == 0 else None


def training_note(config: ExperimentConfig, run: str) -> str:
    """Markdown that a training run's page opens with."""
    team = "\n".join(
        f"| {role} | {policy} | `{config.policies[policy].base}` | {_kind(config, policy)} |"
        for role, policy in config.roles.items()
    )
    rollout = config.rollout
    return (
        f"**{config.name}**: team `{config.team_name}` on `{config.env_names}`, AT-GRPO with "
        f"K = {rollout.num_candidates} answers a turn, {rollout.num_tasks} tasks an iteration, "
        f"at most {rollout.num_turns} turns.\n\n"
        f"| role | policy | base | weights |\n|---|---|---|---|\n{team}\n\n"
        f"Continue it: `python -m pipelines run experiments/{config.name}/config.yaml "
        f"--name {run}`\n\n"
        f"Policies, states and step outputs: `{config.storage.uri}`, under `runs/{run}/`. "
        "Metrics are series over iterations (step = iteration); each iteration has a run of its "
        "own below this one. The whole configuration is the artifact `config.yaml`.\n"
    )


def config_yaml(config: ExperimentConfig) -> str:
    """The resolved configuration, in the order of its sections."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False)


def _kind(config: ExperimentConfig, policy: str) -> str:
    settings = config.policies[policy]
    if not settings.trainable:
        return "frozen"
    return f"LoRA r={settings.lora.r}" if settings.lora else "full"


def _stream(config: ExperimentConfig, name: str, split: str, context: str) -> Stream:
    member = config.environments[name]
    source = {
        "env": member.name or name, "options": member.options, "split": split,
        "seed": config.seed if split == "train" else EVALUATION_SEED,
    }  # fmt: skip
    text = json.dumps(source, sort_keys=True)
    return Stream(f"{name}/{split}", digest(source)[:32], context, text)


def _flatten(prefix: str, value: Any) -> list[tuple[str, Any]]:
    if not isinstance(value, Mapping) or not value:
        return [(prefix, value)] if value != {} else []
    return [
        pair
        for key, inner in value.items()
        for pair in _flatten(f"{prefix}.{key}" if prefix else str(key), inner)
    ]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
