"""Which code trained a study's runs: noted in the store as they go on, told where they differ.

Runs of before this was noted have none; nothing that is measured depends on it.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from components.state import check_run
from components.storage import Store
from components.tracking.description import git_commit

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
UNKNOWN = "unknown"
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SHORT = 12
"""Digits of a commit that a message shows."""


def this_code() -> str:
    """`0.1.0-<commit>`: the project's version, and the commit of a checkout.

    What is not committed goes unnoticed.
    """
    # Images have the commit but not the project's file.
    version = tomllib.loads(PROJECT.read_text("utf-8")) if PROJECT.exists() else {}
    parts = [str(version.get("project", {}).get("version", UNKNOWN))]
    if (commit := git_commit()) and _COMMIT.fullmatch(commit):
        parts.append(commit)
    return "-".join(parts)


def note_code(store: Store, run: str, begun: bool) -> None:
    """Note that this code has a part in the run; a run that goes on can have several.

    `begun`: whether it has results already. If nothing is noted of these, that is noted.
    """
    if begun and not store.list(_folder(run)):
        store.create(f"{_folder(run)}{UNKNOWN}", b"")
    store.create(f"{_folder(run)}{this_code()}", b"")


def codes_of(store: Store, runs: Iterable[str]) -> list[str]:
    """All that had a part in the runs, sorted, `unknown` among them where a run has none; empty
    where nothing is known at all."""
    folders = [_folder(run) for run in runs]
    found = [[key.removeprefix(at) for key in store.list(at)] for at in folders]
    return sorted({code for own in found for code in own or [UNKNOWN]}) if any(found) else []


def difference(codes: Sequence[Sequence[str]]) -> str | None:
    """One line if the runs, each with its codes, were not all trained by one; else None."""
    told = Counter(" and ".join(map(_short, own)) or UNKNOWN for own in codes)
    if len(told) < 2 and all(len(own) < 2 for own in codes):
        return None
    counted = ", ".join(f"{name} ({n} run{'s' * (n > 1)})" for name, n in sorted(told.items()))
    return f"note: not all runs were trained by one version of the code: {counted}"


def _short(code: str) -> str:
    version, _, commit = code.partition("-")
    return f"{version}-{commit[:_SHORT]}" if commit else version


def _folder(run: str) -> str:
    return f"runs/{check_run(run)}/code/"
