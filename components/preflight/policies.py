"""Whether every policy's base is there, complete, and speaks the environment's language.

Bases that lie here are checked whole. Those elsewhere are asked for their config.json alone;
nothing large is fetched, and `offline` asks nobody.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from components.config import ExperimentConfig
from components.errors import PolicyError, RolewiseError
from components.preflight.findings import Finding, fail, ok, warn
from components.preflight.shapes import KNOWN, ModelShape, from_config, from_init
from components.settings import PolicyConfig
from components.storage import open_store
from components.update.initialise.bases import check_base, check_language
from components.update.initialise.packages import package_folder
from components.update.initialise.runs import fetch_policy

SPECIAL_TOKENS = 16
"""Beside the lexicon's words, at most, in the tokenizer of a model made from scratch."""
_INSTALL = "install the package, or name another base"
_UNSEEN = "run again without --offline: its memory is not estimated"
_TRUST = "its shape is known, so memory can be estimated; run again without --offline to ask it"
_REACH = "check the network, the repository's name and revision, and HF_TOKEN for a gated model"


def check_policies(
    config: ExperimentConfig, prompts: Sequence[str], words: int | None, offline: bool
) -> tuple[list[Finding], dict[str, ModelShape]]:
    """Findings for all policies, and the shapes that were seen.

    Args:
        prompts: of the environment, to see whether a tokenizer takes them.
        words: of the environment's lexicon, 0 without one, None if nobody looked.
    """
    findings: list[Finding] = []
    shapes: dict[str, ModelShape] = {}
    for name, policy in config.policies.items():
        subject = f"policy {name}"
        try:
            shape, found = _look(config, name, policy, prompts, words, offline)
            findings += found
            if shape is not None:
                shapes[name] = shape
        except (RolewiseError, ValueError, OSError) as error:
            findings.append(fail(subject, " ".join(str(error).split())))
    return findings, shapes


def _look(
    config: ExperimentConfig, name: str, policy: PolicyConfig, prompts: Sequence[str],
    words: int | None, offline: bool,
) -> tuple[ModelShape | None, list[Finding]]:  # fmt: skip
    subject, (scheme, _, rest) = f"policy {name}", policy.base.partition("://")
    if policy.init is not None:
        if words is None:
            return None, [warn(subject, "made from scratch, of unknown size", _UNSEEN)]
        if not words:
            text = "init:// needs an environment with a closed set of words (`lexicon`)"
            return None, [fail(subject, text, "use its compact style, or name a pretrained base")]
        shape = from_init(policy.init, words + SPECIAL_TOKENS)
        return shape, [ok(subject, f"made from scratch, {_size(shape, policy)}")]
    if scheme in ("file", "pkg") or (scheme == "run" and not offline):
        folder = _folder(scheme, rest, config)
        check_base(name, policy.base, folder)
        check_language(name, policy.base, folder, prompts)
        shape = from_config(json.loads((folder / "config.json").read_text()))
        return shape, [ok(subject, f"{policy.base}, {_size(shape, policy)}, tokenizer fits")]
    known = KNOWN.get(rest.partition("@")[0]) if scheme == "hf" else None
    if offline:
        return known, [_unasked(subject, policy, known)]
    shape = _stored(config, policy.base) if scheme == "s3" else _hub(subject, rest)
    return shape, [ok(subject, f"{policy.base}, {_size(shape, policy)}")]


def _unasked(subject: str, policy: PolicyConfig, shape: ModelShape | None) -> Finding:
    if policy.base.startswith("hf://") and "@" not in policy.base:
        return fail(subject, f"{policy.base} pins no revision", f"write {policy.base}@<commit>")
    if shape is None:
        return warn(subject, f"{policy.base} was not looked at", _UNSEEN)
    return warn(subject, f"{policy.base} was not asked, {_size(shape, policy)}", _TRUST)


def _size(shape: ModelShape, policy: PolicyConfig) -> str:
    text = f"{_count(shape.num_parameters)} parameters"
    if policy.lora is None:
        return text
    return f"{text}, an adapter of {_count(shape.adapter_parameters(policy.lora))}"


def _count(number: float) -> str:
    """`8.2 B`, `135 M`, `412 k`."""
    for unit, size in (("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.0f}"


def _folder(scheme: str, rest: str, config: ExperimentConfig) -> Path:
    if scheme == "file":
        return Path(rest)
    cache = Path(config.storage.cache)
    return _package(rest, cache) if scheme == "pkg" else fetch_policy(rest, config.storage, cache)


def _package(name: str, cache: Path) -> Path:
    try:
        return package_folder(name, cache)
    except ValueError as error:
        raise PolicyError(f"{error}; {_INSTALL}") from error


def _stored(config: ExperimentConfig, uri: str) -> ModelShape:
    """Of a folder in object storage, from its config.json."""
    store = open_store(config.storage.model_copy(update={"uri": uri}))
    found = store.list("")
    missing = [name for name in ("config.json", "tokenizer.json") if name not in found]
    if missing or not any(name.endswith(".safetensors") for name in found):
        raise PolicyError(f"{uri} holds {found[:8]}, expected a model's folder; missing {missing}")
    content: Mapping[str, Any] = json.loads(store.read("config.json"))
    return from_config(content)


def _hub(subject: str, repo_at_revision: str) -> ModelShape:
    from huggingface_hub import hf_hub_download

    repo, _, revision = repo_at_revision.partition("@")
    if not revision:
        raise PolicyError(f"hf://{repo} pins no revision; write hf://{repo}@<commit>")
    try:
        path = hf_hub_download(repo, "config.json", revision=revision, etag_timeout=10)
    except Exception as error:  # the hub's and the network's own kinds
        reason = " ".join(str(error).split())[:200]
        raise PolicyError(f"hf://{repo_at_revision} cannot be read: {reason}; {_REACH}") from error
    return from_config(json.loads(Path(path).read_text()))
