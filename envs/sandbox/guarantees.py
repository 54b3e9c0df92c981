"""Which guarantees hold on this machine: every one is attacked from inside, in a real run.

A layer that exists but does not hold is found out like one that is missing. Whether to go on
without a guarantee is the configuration's decision: `sandbox.accept_missing`.
"""

import json
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from envs.sandbox.attempt import attempt, classify
from envs.sandbox.inside.protocol import LAYERS
from envs.sandbox.inside.settings import cpu_backstop
from envs.sandbox.options import GUARANTEES, SandboxOptions
from envs.sandbox.results import Outcome, Run

WHY = {
    "landlock": "the kernel offers no Landlock (Linux 5.13 or newer, in its list of modules)",
    "seccomp": "the kernel or the container takes no seccomp filter (x86_64 and aarch64 have one)",
}
NEEDS = {
    "filesystem": ("landlock", "seccomp"),
    "network": ("seccomp",),
    "processes": ("seccomp",),
    "signals": ("seccomp",),
    "kernel": ("seccomp",),
}
"""Guarantee -> the layers without which it is not believed, whatever the attacks found."""
MOST_OF_A_SOCKETS_PATH = 100
UNTRIED = "attacks that the probe does not try"


class SandboxUnavailable(ValueError):
    """This machine cannot give a guarantee that the configuration asks for."""


@dataclass(frozen=True)
class Guarantees:
    """What a probe found."""

    layers: tuple[str, ...]
    """Those in force, of `LAYERS`."""
    broken: Mapping[str, tuple[str, ...]]
    """Guarantee -> what it is open to; empty where it holds."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of those that do not hold."""
        return tuple(name for name, attacks in self.broken.items() if attacks)

    def why(self, names: Sequence[str]) -> str:
        """What some missing guarantees are open to, and the layers they would need."""
        open_to = [f"{name} is open to {', '.join(self.broken[name])}" for name in names]
        needed = {layer for name in names for layer in NEEDS.get(name, ())}
        reasons = [WHY[layer] for layer in LAYERS if layer in needed - set(self.layers)]
        return "; ".join([*open_to, *reasons])

    def refuse_unless(self, accepted: Sequence[str]) -> None:
        """SandboxUnavailable that names every missing guarantee not accepted, and the way out."""
        refused = [name for name in self.missing if name not in accepted]
        if refused:
            raise SandboxUnavailable(
                f"the sandbox cannot guarantee {', '.join(refused)} on this machine: "
                f"{self.why(refused)}. Use a machine that can, or accept it by name: "
                f"sandbox.accept_missing: {json.dumps([*accepted, *refused])}"
            )


def examine(lane: socket.socket, options: SandboxOptions, folder: str) -> Guarantees:
    """Run the attacks in one lane. `folder`: a folder of ours that programs must not see."""
    program = (Path(__file__).parent / "inside" / "attempts.py").read_text()
    with ExitStack() as stack:
        given = _targets(stack, options, Path(folder))
        run = Run(program, json.dumps(given))
        evidence = attempt(lane, run, options, frozenset(LAYERS))
    result = classify(evidence, options)
    if result.outcome is not Outcome.OK:
        raise SandboxUnavailable(
            f"the sandbox's probe ended with {result.outcome}: "
            f"{' '.join(result.stderr.split())[-400:]}"
        )
    found: dict[str, list[str]] = json.loads(result.stdout)
    layers = tuple(evidence.told[0].decode().split()[1:])
    absent = {name for name, needed in NEEDS.items() if not set(needed) <= set(layers)}
    return Guarantees(
        layers,
        {name: tuple(found[name]) or (UNTRIED,) * (name in absent) for name in GUARANTEES},
    )


def _targets(stack: ExitStack, options: SandboxOptions, folder: Path) -> dict[str, object]:
    """Something real to attack: a file and three listening sockets."""
    canary, unix = folder / "canary", str(folder / "listener")
    canary.write_text("not for programs")
    stack.callback(canary.unlink)
    abstract = f"\0rolewise-sandbox-{os.getpid()}-{id(stack)}"
    if len(unix) > MOST_OF_A_SOCKETS_PATH:
        unix = f"{abstract}-2"
    else:
        stack.callback(os.unlink, unix)
    tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    for address in (unix, abstract):
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(address)
        listener.listen()
    return {
        "canary": str(canary), "unix": unix, "abstract": abstract,
        "port": tcp.getsockname()[1], "memory": options.memory_mib * 2**20,
        "cpu": cpu_backstop(options.cpu_s),
    }  # fmt: skip
