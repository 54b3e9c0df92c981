"""Model folders from a Hugging Face hub: one commit of a repository, as plain files.

The address is HF_ENDPOINT's, by default the public hub's. A fetch that was cut short goes on: files
that are complete stay, and a lost connection continues where it broke. Checking what a folder
holds is `bases.py`.
"""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WANTED = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.txt", "LICEN[CS]E*", "NOTICE*")
"""No pickles, no code, no copies of the weights in other formats."""
DEFAULT_TOKEN = "HF_TOKEN"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Snapshot:
    """What was fetched."""

    folder: Path
    repo: str
    commit: str
    """40 hex digits, whatever name the revision had."""
    licence: str | None
    """As the model's card names it."""


def fetch(
    repo_at_revision: str,
    cache: Path,
    *,
    file: str | None = None,
    token_variable: str = DEFAULT_TOKEN,
    say: Say = lambda text: None,
) -> Snapshot:
    """Fetch `repo@revision` below `cache`. A commit that is there whole is not asked for again.

    Args:
        file: fetch this file alone, e.g. one .gguf of many.
        token_variable: the environment variable that holds the token, for gated and private
            models. Its value is sent to the hub and appears nowhere else.

    Raises ValueError that names the repository, the fault and the fix.
    """
    repo, _, revision = repo_at_revision.partition("@")
    if not revision:
        raise ValueError(f"no revision is pinned; expected hf://{repo}@<commit>")
    endpoint = os.environ.get("HF_ENDPOINT") or None
    token = os.environ.get(token_variable) or False
    try:
        if kept := _kept(_folder(cache, endpoint, repo, revision, file)):
            return kept
        info = _ask(repo, revision, endpoint, token)
        folder = _folder(cache, endpoint, repo, info.sha, file)
        say(f"fetching {repo}@{info.sha[:12]} ({'with' if token else 'without'} a token)")
        _download(repo, info.sha, folder, [file] if file else [*WANTED], endpoint, token)
    except Exception as error:  # the client lets its HTTP library's errors through
        raise ValueError(_sentence(error, repo, revision, token_variable, bool(token))) from None
    licence = getattr(info.card_data, "license", None) if info.card_data else None
    known = {"repo": repo, "commit": info.sha, "licence": str(licence) if licence else None}
    _note(folder).write_text(json.dumps(known), encoding="utf-8")
    return Snapshot(folder, **known)


def discard(snapshot: Snapshot) -> None:
    """Delete a snapshot that is stored elsewhere by now."""
    _note(snapshot.folder).unlink(missing_ok=True)
    shutil.rmtree(snapshot.folder, ignore_errors=True)


def _folder(cache: Path, endpoint: str | None, *what: str | None) -> Path:
    key = hashlib.sha256(json.dumps([endpoint, *what]).encode()).hexdigest()[:32]
    return cache / "bases" / f"hub-{key}"


def _note(folder: Path) -> Path:
    """Beside a folder that is whole: what it holds."""
    return folder.with_name(f"{folder.name}.json")


def _kept(folder: Path) -> Snapshot | None:
    if not (folder.is_dir() and _note(folder).is_file()):
        return None
    return Snapshot(folder, **json.loads(_note(folder).read_text()))


def _ask(repo: str, revision: str, endpoint: str | None, token: Any) -> Any:
    from huggingface_hub import HfApi

    info = HfApi(endpoint=endpoint, token=token).model_info(repo, revision=revision)
    if not info.sha:
        raise ValueError(f"the hub names no commit of {repo}@{revision}")
    return info


def _download(
    repo: str, commit: str, folder: Path, patterns: list[str], endpoint: str | None, token: Any
) -> None:
    """Plain files, no links into a shared cache. What the client notes for itself lies among them
    while it is under way."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars

    if not sys.stderr.isatty() and not are_progress_bars_disabled():
        disable_progress_bars()
    partial = folder.with_name(f"{folder.name}.partial")
    if folder.is_dir():
        return
    snapshot_download(
        repo, revision=commit, local_dir=partial, allow_patterns=patterns, endpoint=endpoint,
        token=token,
    )  # fmt: skip
    shutil.rmtree(partial / ".cache", ignore_errors=True)
    os.replace(partial, folder)


def _sentence(error: Exception, repo: str, revision: str, variable: str, token: bool) -> str:
    """What went wrong and how to mend it. The client's own text is used where nothing better is
    known; it names addresses and status codes, no headers."""
    from huggingface_hub import errors

    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, errors.OfflineModeIsEnabled) or "HF_HUB_OFFLINE" in str(error):
        return "HF_HUB_OFFLINE is set, so the hub is not asked; unset it"
    if isinstance(error, errors.GatedRepoError):
        held = f"the account of the token in {variable}" if token else "an account"
        more = "" if token else f", and put its token into {variable}"
        return f"{repo} is gated; accept its conditions on its page with {held}{more}"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{repo} has no revision {revision!r}; name a commit, a tag or a branch of it"
    if isinstance(error, errors.RepositoryNotFoundError):
        fix = "is its token allowed to read it?" if token else f"put a token into {variable}"
        return f"the hub has no model {repo}, or shows it to others only; if it is private: {fix}"
    if status in (401, 403):
        return f"the hub refuses the token in {variable} ({status}); make a new one that may read"
    reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    where = os.environ.get("HF_ENDPOINT", "the public hub")
    return f"{repo}@{revision} cannot be fetched from {where}: {reason}; the same command goes on"
