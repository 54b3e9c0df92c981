"""What the fork server is told at its start. It is readable by every program: nothing secret."""

import json
import math
from typing import NamedTuple


class Limits(NamedTuple):
    """What one run may use."""

    cpu_s: float
    wall_s: float
    memory_bytes: int


class Settings(NamedTuple):
    """The same for all runs of one server."""

    limits: Limits
    folder: str
    """Where scratch folders are made; removed by the server at its end."""
    packages: tuple[str, ...] = ()
    """Third-party packages to import beforehand."""
    package_folders: tuple[str, ...] = ()
    """Where they are found."""
    package_paths: tuple[str, ...] = ()
    """What of these folders programs may read."""


def cpu_backstop(cpu_s: float) -> int:
    """Whole seconds after which the kernel kills; the lane does so sooner, to the tick."""
    return math.ceil(cpu_s) + 1


def encode(settings: Settings) -> str:
    """JSON, to be given as an argument."""
    return json.dumps(settings)


def decode(text: str) -> Settings:
    """The inverse of `encode`."""
    limits, folder, *packages = json.loads(text)
    return Settings(Limits(*limits), folder, *map(tuple, packages))
