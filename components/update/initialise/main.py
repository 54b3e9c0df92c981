"""Step `initialise`: version 0 of every policy, uploaded, as a list of references."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from components.config import ExperimentConfig
from components.errors import ConfigError, PolicyError
from components.members import open_one
from components.policies import FolderRef, PolicyRef
from components.seeds import derive_seed
from components.settings import LoraConfig, PolicyConfig
from components.step import StepContext, run_step
from components.update.initialise.bases import check_language, discard, materialise
from envs.base import HasLexicon, Split


def initialise(
    config: str, run: str, iteration: int, inputs: Mapping[str, str], outputs: Mapping[str, str]
) -> dict[str, float]:
    """Write `policies`: {"policies": {name: PolicyRef}}. Metrics: megabytes per policy."""

    def compute(context: StepContext) -> dict[str, float]:
        refs = initial_policies(context)
        content = {"policies": {name: ref.to_json() for name, ref in refs.items()}}
        target = Path(outputs["policies"])
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(content, indent=1, sort_keys=True), encoding="utf-8")
        return {f"initialise/{name}/megabytes": ref.bytes / 1e6 for name, ref in refs.items()}

    return run_step("initialise", config, run, iteration, inputs, outputs, compute)


def initial_policies(context: StepContext) -> dict[str, PolicyRef]:
    """Make and upload all bases (each distinct one once) and the adapters on them."""
    bases: dict[str, tuple[Path, FolderRef]] = {}
    refs = {}
    try:
        for name, policy in context.config.policies.items():
            key = _base_key(name, policy)
            if key not in bases:
                bases[key] = _upload_base(context, name, policy)
            folder, ref = bases[key]
            refs[name] = _policy_ref(context, name, policy, folder, ref)
    finally:
        for folder, _ in bases.values():
            discard(folder, context.cache)
    return refs


def _base_key(name: str, policy: PolicyConfig) -> str:
    """Policies with equal keys begin with the same bytes. Models from scratch differ by policy,
    unless they are the frozen base of adapters: equal settings share one."""
    if policy.init is None:
        return policy.base
    return f"adapted {policy.init.model_dump_json()}" if policy.lora else f"own {name}"


def _upload_base(context: StepContext, name: str, policy: PolicyConfig) -> tuple[Path, FolderRef]:
    config = context.config
    owner = "base" if policy.lora else name
    folder = materialise(
        name,
        policy,
        lexicon=lambda: lexicon_of(config),
        seed=derive_seed(config.seed, "init", owner),
        storage=config.storage,
        cache=context.cache,
    )
    if policy.init is None:
        check_language(name, policy.base, folder, first_prompts(config, name))
    return folder, context.store.upload_folder(folder)


def _policy_ref(
    context: StepContext, name: str, policy: PolicyConfig, folder: Path, ref: FolderRef
) -> PolicyRef:
    full = PolicyRef(name, 0, ref.uri, ref.sha256, ref.bytes)
    if policy.lora is None:
        return full
    adapter = _upload_adapter(context, name, folder, policy.lora)
    base = replace(full, name=policy.base)
    return PolicyRef(name, 0, adapter.uri, adapter.sha256, adapter.bytes, base)


def _upload_adapter(context: StepContext, name: str, base: Path, lora: LoraConfig) -> FolderRef:
    from components.update.initialise.adapters import write_fresh_adapter

    seed = derive_seed(context.config.seed, "adapter", name)
    with tempfile.TemporaryDirectory() as folder:
        try:
            write_fresh_adapter(Path(folder), base, lora, seed)
        except ValueError as error:
            raise PolicyError(
                f"policy {name}: no adapter fits its base: {' '.join(str(error).split())[:300]}"
            ) from error
        return context.store.upload_folder(folder)


def first_prompts(config: ExperimentConfig, policy: str) -> list[str]:
    """What the policy's roles are shown at the start of every environment's first training task."""
    roles = [role for role, played_by in config.roles.items() if played_by == policy]
    return [
        message["content"]
        for env in (open_one(config, name) for name in config.environments)
        for task in env.tasks(Split.TRAIN, config.seed, 0, 1)
        for role in roles
        if role in env.roles
        for message in env.observe(env.reset(task), role)
    ]


def lexicon_of(config: ExperimentConfig) -> Sequence[str]:
    """The words of all environments' languages. ConfigError if one has no closed lexicon."""
    words: list[str] = []
    for name in config.environments:
        env = open_one(config, name)
        if not isinstance(env, HasLexicon):
            raise ConfigError(
                f"env.name is {name!r}: it has no lexicon, so base `init://` has no language; "
                "expected a pretrained base (pkg://, hf://, file://, s3://)"
            )
        words += env.lexicon()
    return list(dict.fromkeys(words))
