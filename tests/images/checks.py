"""What an image must be: labelled, without root, without what built it, able to import its code."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from images.build import Plan, labels

FORBIDDEN = {
    "cpu": "gcc cc g++ c++ clang ld as uv",
    "driver": "gcc cc g++ c++ clang ld as uv",
    "vllm": "gcc cc g++ c++ clang uv",
    "deepspeed": "gcc cc g++ c++ clang uv",
}
"""Programs that an image of the CPU variant must not have: what builds stays in build stages."""
IMPORTS = {
    "cpu": "kfp.dsl, envs.registry, components.grouping.main, reasoning_gym, math_verify",
    "driver": "kfp.client, kubernetes, pipelines.driving, pipelines.compiling",
    "vllm": "kfp.dsl, torch, vllm, components.rollout.main, reasoning_gym",
    "deepspeed": "kfp.dsl, torch, deepspeed, components.update.main",
}
HIDDEN = "/build /tmp/system.sh /etc/pip.conf"
"""Paths of the build stages."""


def faults(name: str, target: str, plan: Plan, images: Path) -> Iterator[str]:
    """A sentence for everything that is wrong with an image."""
    config = json.loads(_docker("image", "inspect", name))[0]["Config"]
    wanted = labels(plan, target, images)
    for key, value in wanted.items():
        if (found := (config["Labels"] or {}).get(key)) != value:
            yield f"{name}: label {key} is {found!r}, expected {value!r}"
    if config["User"].split(":")[0] in ("", "0", "root"):
        yield f"{name}: its user is {config['User']!r}, expected one without root's rights"
    yield from _found_inside(name, target)
    # What a step's command sets; the driver's child does without, it needs the client.
    runtime = "" if target == "driver" else "_KFP_RUNTIME=true "
    imported = _run(name, f"{runtime}python3 -c 'import {IMPORTS[target]}'")
    if imported.returncode:
        yield f"{name}: import {IMPORTS[target]}: {imported.stderr.strip().splitlines()[-1:]}"


def _found_inside(name: str, target: str) -> Iterator[str]:
    """What should not be there: programs, folders, code that only the driver needs."""
    programs = f"for p in {FORBIDDEN[target]}; do command -v $p; done"
    hidden = HIDDEN if target == "driver" else f"{HIDDEN} /app/pipelines"
    paths = f"for f in {hidden}; do [ ! -e $f ] || echo $f; done"
    writable = "for f in /app /opt/venv; do [ ! -w $f ] || echo writable $f; done"
    ended = _run(name, f"{programs}; {paths}; {writable}; id -u")
    *found, uid = ended.stdout.split() or ["nothing", "0"]
    if found:
        yield f"{name}: has {' '.join(found)}"
    if uid == "0":
        yield f"{name}: runs as root"


def sizes(names: Mapping[str, str]) -> dict[str, float]:
    """Name -> gigabytes (10^9 bytes), all layers counted."""
    inspect = ["image", "inspect", "--format", "{{.Size}}"]
    return {name: int(_docker(*inspect, name)) / 1e9 for name in names.values()}


def _run(name: str, script: str) -> "subprocess.CompletedProcess[str]":
    command = ["docker", "run", "--rm", "--network", "none", name, "sh", "-c", script]
    return subprocess.run(command, capture_output=True, text=True)


def _docker(*words: str) -> str:
    return subprocess.run(["docker", *words], check=True, capture_output=True, text=True).stdout
