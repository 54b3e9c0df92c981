"""The limits of a run, and what an experiment accepts to do without."""

from typing import Annotated

from pydantic import AfterValidator, Field

from envs.options import Options

GUARANTEES = {
    "filesystem": "reads only the interpreter's library, writes only its scratch folder",
    "network": "opens no connection and no socket",
    "processes": "starts no process and no shell, so nothing outlives its run",
    "signals": "sends no signal to another process",
    "kernel": "no tracing, namespaces, mounts, io_uring, bpf or 32-bit calls",
    "memory": "cannot have or ask for more memory than the limit",
    "cpu": "cannot have or ask for more CPU seconds than the limit",
}
"""Name -> what a program under it can do or not."""


def _known(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in GUARANTEES:
            raise ValueError(f"{name!r} is no guarantee; expected some of {sorted(GUARANTEES)}")
    return names


class SandboxOptions(Options):
    """Frozen and hashable: equal options share one fork server."""

    cpu_s: Annotated[float, Field(ge=0.1, le=3600, allow_inf_nan=False)] = 2.0
    """CPU seconds of all threads together."""
    wall_s: Annotated[float, Field(ge=0.1, le=36000, allow_inf_nan=False)] = 10.0
    memory_mib: Annotated[int, Field(ge=64, le=2**20)] = 512
    """Address space: libraries and thread stacks count too."""
    output_kib: Annotated[int, Field(ge=1, le=2**20)] = 64
    """Of stdout, and again of stderr."""
    packages: tuple[str, ...] = ()
    """Third-party packages that programs may import, e.g. `[numpy]`; with those they need."""
    accept_missing: Annotated[tuple[str, ...], AfterValidator(_known)] = ()
    """Guarantees that this machine may lack."""
