"""Who refers to a folder in storage, and whether that keeps it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from components.policies import PolicyRef

COLLECTED = ("policies", "optimizers")
"""Prefixes of folders that runs make and `gc` removes; imported models are elsewhere."""
_FOLDER = re.compile(rf"(?:^|/)((?:{'|'.join(COLLECTED)})/[0-9a-f]{{64}})(?:/|$)")


@dataclass(frozen=True)
class Use:
    """One reference."""

    folder: str
    """`policies/<digest>` or `optimizers/<digest>`: the same content is the same folder, whichever
    way the reference spells the store."""
    what: str
    """`policy tool@3 of run quickstart-fa64ed1b`."""
    reason: str | None
    """Why it keeps the folder; None: it does not any more."""
    run: str | None = None


def folder_of(uri: str) -> str | None:
    """The folder that a URI or a key lies in; None if `gc` has nothing to do with it."""
    found = _FOLDER.search(uri)
    return found[1] if found else None


def policy_uses(ref: PolicyRef, reason: str | None, run: str) -> Iterator[Use]:
    """A policy and its base, which is always kept: other adapters and later runs start from it."""
    what = f"policy {ref.name}@{ref.version} of run {run}"
    yield from _use(ref.uri, what, reason, run)
    if ref.base:
        yield from policy_uses(ref.base, "bases", run)


def optimizer_use(policy: str, iteration: int, uri: str, reason: str | None, run: str) -> list[Use]:
    """A policy's optimiser state after an iteration."""
    return _use(uri, f"optimiser state of {policy}@{iteration} of run {run}", reason, run)


def named_in(value: Any, what: str, reason: str, run: str | None = None) -> list[Use]:
    """Every folder that any text in a JSON value names."""
    if isinstance(value, str):
        return _use(value, what, reason, run)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [use for item in value for use in named_in(item, what, reason, run)]
    return []


def _use(uri: str, what: str, reason: str | None, run: str | None) -> list[Use]:
    folder = folder_of(uri)
    return [Use(folder, what, reason, run)] if folder else []
