"""Which generators of the package may be used: the audit's findings, as packaged data.

`audit.json` is written by `python -m envs.reasoning_gym --output`, for one version of the package.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from envs.reasoning_gym.generators import PACKAGE, installed_version

PATH = Path(__file__).with_name("audit.json")


@dataclass(frozen=True)
class Verdict:
    """What the audit found out about a generator."""

    refused: str | None = None
    """Why it cannot be used; None: it can."""
    needs_pool: bool = False
    """One seed gives other entries in another process: only a prepared file is reproducible."""
    pays_partial: bool = True
    """Whether scores between 0 and 1 mean that an answer is partly right."""


@lru_cache(maxsize=1)
def audited() -> tuple[str, Mapping[str, Verdict]]:
    """The package's version that was audited, and the verdict on each generator."""
    content = json.loads(PATH.read_text())
    verdicts = {name: Verdict(**found) for name, found in content["generators"].items()}
    return content["version"], verdicts


def dump(version: str, verdicts: Mapping[str, Verdict]) -> str:
    """The text of `audit.json`."""
    found = {name: asdict(verdict) for name, verdict in sorted(verdicts.items())}
    return (
        json.dumps({"package": PACKAGE, "version": version, "generators": found}, indent=1) + "\n"
    )


def check(task: str) -> None:
    """ValueError if there is no such generator, if it is refused, or if the package differs."""
    version, verdicts = audited()
    if task not in verdicts:
        usable = [name for name, verdict in verdicts.items() if not verdict.refused]
        raise ValueError(
            f"{task!r} is no generator of {PACKAGE} {version}; expected one of {usable}"
        )
    if reason := verdicts[task].refused:
        raise ValueError(f"{task!r} is refused: {reason}; expected another generator")
    if installed_version() != version:
        raise ValueError(
            f"{task!r}: {PACKAGE} {installed_version()} is installed, but {version} was audited; "
            f"expected {PACKAGE}=={version}, or a new audit: python -m envs.reasoning_gym --output"
        )


def verdict(task: str) -> Verdict:
    """The finding on a generator that `check` accepts."""
    return audited()[1][task]
