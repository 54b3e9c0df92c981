"""Importing a module starts nothing: no model library is loaded, no environment variable is read.

Only rollout and update (with initialise and warm start) may load model libraries.
"""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("components", "envs", "pipelines")
HEAVY = ("components.rollout", "components.update")
LIBRARIES = ("torch", "vllm", "deepspeed", "transformers", "peft")

IMPORT_ALL = """
import importlib, json, os, sys

reads = []
plain = os._Environ.__getitem__

def recorded(self, key):
    frame = sys._getframe(1)
    while frame and any(part in frame.f_code.co_filename for part in ("os.py", "<frozen", "abc")):
        frame = frame.f_back
    if frame and frame.f_code.co_filename.startswith(tuple(sys.argv[2:])):
        reads.append(f"{frame.f_code.co_filename}:{frame.f_lineno} reads {key}")
    return plain(self, key)

os._Environ.__getitem__ = recorded
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
print(json.dumps({"loaded": sorted(sys.modules), "reads": reads}))
"""


def modules() -> Iterator[str]:
    """Every module of ours by its dotted name."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if parts[-1] != "__main__":
                yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_heavy(name: str) -> bool:
    return f"{name}.".startswith(tuple(f"{package}." for package in HEAVY))


def import_in_a_process(names: list[str]) -> dict[str, list[str]]:
    folders = [f"{ROOT / package}{os.sep}" for package in PACKAGES]
    command = [sys.executable, "-W", "ignore", "-c", IMPORT_ALL, json.dumps(names), *folders]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_no_module_outside_rollout_and_update_loads_a_model_library() -> None:
    names = [name for name in modules() if not is_heavy(name)]
    assert len(names) > 60
    found = import_in_a_process(names)
    assert [name for name in LIBRARIES if name in found["loaded"]] == []
    assert found["reads"] == []


def test_steps_load_their_libraries_when_they_run() -> None:
    """The mains of rollout and update start every process: they are light, too."""
    names = [name for name in modules() if is_heavy(name)]
    mains = [name for name in names if name.endswith((".main", ".component"))]
    assert len(mains) >= 8
    found = import_in_a_process(mains)
    assert [name for name in LIBRARIES if name in found["loaded"]] == []
    assert found["reads"] == []


def environment_reads(tree: ast.AST) -> list[int]:
    """Lines outside of functions that mention os.environ or getenv."""
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv"):
            found.append(node.lineno)
        found += environment_reads(node)
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_no_environment_variable_is_read_at_import(package: str) -> None:
    found = {
        str(path.relative_to(ROOT)): environment_reads(ast.parse(path.read_text()))
        for path in (ROOT / package).rglob("*.py")
    }
    assert {name: lines for name, lines in found.items() if lines} == {}
