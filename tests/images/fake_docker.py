"""A `docker` for tests: keeps what it was told, pushes into nowhere, knows digests."""

import json
import os
from pathlib import Path

import pytest

SCRIPT = """#!/usr/bin/env python3
import hashlib, json, os, sys
words = sys.argv[1:]
with open(os.environ["FAKE_DOCKER_LOG"], "a") as log:
    log.write(json.dumps(words) + "\\n")
if words[0] == os.environ.get("FAKE_DOCKER_FAILS"):
    print("denied: requested access\\nto the resource", file=sys.stderr)
    sys.exit(1)
if words[:2] == ["image", "inspect"]:
    repository = words[-1].rpartition(":")[0]
    digest = hashlib.sha256(words[-1].encode()).hexdigest()
    print(json.dumps(["elsewhere/cpu@sha256:" + "0" * 64, f"{repository}@sha256:{digest}"]))
"""


class FakeDocker:
    """The program on PATH, and the commands that it got."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log = folder / "docker.jsonl"
        self._monkeypatch = monkeypatch
        program = folder / "bin" / "docker"
        program.parent.mkdir()
        program.write_text(SCRIPT)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("FAKE_DOCKER_LOG", str(self.log))

    def fails_at(self, verb: str) -> None:
        self._monkeypatch.setenv("FAKE_DOCKER_FAILS", verb)

    @property
    def commands(self) -> list[list[str]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]
