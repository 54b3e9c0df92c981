"""What `serve-manifest` writes: where the weights are, what the profile gives, words on top."""

import argparse
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from components.errors import ConfigError
from components.models.serving import Limits, Server, limits, servers, vllm_words
from components.models.tolerance import tolerant_folder
from components.policies import PolicyRef, Team
from components.storage import Store, open_store
from components.storage.disk import writing
from pipelines.kserve import Place, manifests
from pipelines.pinning import check_images
from pipelines.profile import Profile
from pipelines.teams import FoundTeam

STEP, RUNTIME = "serve", "vllm"


def write_manifest(
    found: FoundTeam, profile: Profile, options: argparse.Namespace
) -> Iterator[str]:  # fmt: skip
    """Write the file and say what is in it. ConfigError before anything is copied or written."""
    place = _place(found, profile, options)
    where = options.to or found.store.uri
    if not where.startswith("s3://"):
        raise ConfigError(
            f"the weights of {found.label} are in {where}, which no pod can read; "
            "--to s3://bucket/prefix copies them"
        )
    team, store = found.team, found.store
    scratch = sorted({p for p in team.roles.values() if found.config.policies[p].init})
    if scratch and not options.to:
        raise ConfigError(
            f"policies {scratch} were made from scratch (init://): their tokenizers refuse what "
            "vLLM's server tries when it starts; --to s3://bucket/prefix stores copies that do not"
        )
    if options.to:
        target = open_store(found.config.storage.model_copy(update={"uri": options.to}))
        team = copied(team, store, target, Path(found.config.storage.cache))
        store = target
    length = found.config.rollout.max_prompt_tokens + found.config.rollout.max_new_tokens
    planned = [(item, limits(store, item, length)) for item in servers(team, options.per_role)]
    content = manifests(found.name, found.label, planned, place)
    text = _header(found, planned, place) + yaml.safe_dump_all(content, sort_keys=False, width=100)
    with writing(Path(options.output)):
        Path(options.output).parent.mkdir(parents=True, exist_ok=True)
        Path(options.output).write_text(text, encoding="utf-8")
    for service, (server, _) in zip(content[1:], planned, strict=True):
        yield f"{options.output}: {service['metadata']['name']} plays {', '.join(server.plays)}"
    yield "the same without Kubernetes:"
    yield from commands(planned, place)


def copied(team: Team, source: Store, target: Store, cache: Path) -> Team:
    """The team with its weights in another store; versions keep the names that they had."""
    moved: dict[str, PolicyRef] = {}

    def move(ref: PolicyRef) -> PolicyRef:
        if ref.sha256 not in moved:
            folder = tolerant_folder(source.download_folder(ref.folder, cache), cache)
            moved[ref.sha256] = replace(ref, uri=target.upload_folder(folder, "served").uri)
        base = move(ref.base) if ref.base else None
        return replace(ref, uri=moved[ref.sha256].uri, base=base)

    policies = {name: move(team.policies[name]) for name in dict.fromkeys(team.roles.values())}
    return Team(policies, team.roles)


def commands(planned: Sequence[tuple[Server, Limits]], place: Place) -> Iterator[str]:
    """A line per server, with `export`'s folders in the place of what is in storage."""
    for number, (server, limit) in enumerate(planned):
        adapters = {role: _folder(ref) for role, ref in server.adapters.items()}
        words = vllm_words(_folder(server.weights), server.roles, adapters, limit, place.dtype)
        words += [*place.words, "--port", str(8000 + number)]
        yield f"vllm serve {shlex.join(words)}"


def _folder(ref: PolicyRef) -> str:
    """By its digest, as `aws s3 cp --recursive` of its URI would make it."""
    return f"./{ref.uri.rpartition('/')[2]}"


def is_loose(image: str) -> bool:
    """Whether the name has neither a digest nor a tag of its own."""
    last = image.rpartition("/")[2]
    return "@" not in image and (":" not in last or last.endswith(":latest"))


def _place(found: FoundTeam, profile: Profile, options: argparse.Namespace) -> Place:
    check_images(profile, (RUNTIME,))
    image = profile.images[RUNTIME]
    if is_loose(image):
        raise ConfigError(f"image {image!r} can change under a server; expected a digest or a tag")
    if options.max_replicas < max(1, options.min_replicas):
        raise ConfigError(
            f"--max-replicas {options.max_replicas} is less than --min-replicas "
            f"{options.min_replicas} or 1"
        )
    rollout = found.config.rollout
    return Place(
        image, profile.settings(STEP, RUNTIME), rollout.dtype, rollout.quantization,
        rollout.tensor_parallel,
        options.storage_secret, options.namespace, options.min_replicas, options.max_replicas,
    )  # fmt: skip


def _header(
    found: FoundTeam, planned: Sequence[tuple[Server, Limits]], place: Place
) -> str:  # fmt: skip
    storage: Any = found.config.storage
    lines = [
        f"Team {found.name}, {found.label}: {len(planned)} server(s). kubectl apply -f this file.",
        f"Secret {place.secret} must hold AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; KServe",
        "reads the address of a store that is not AWS from its annotations:",
        f"  kubectl annotate secret {place.secret} serving.kserve.io/s3-endpoint=HOST:PORT \\",
        f"    serving.kserve.io/s3-usehttps=1 serving.kserve.io/s3-region={storage.region}",
        'A role is asked for by its name: POST /v1/chat/completions with "model": "<role>".',
    ]
    return "".join(f"# {line}\n" for line in lines)
