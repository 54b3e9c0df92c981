"""`make push`: tags the images for a registry, pushes them, prints their digests as YAML.

The YAML is what `python -m pipelines compile --images FILE` takes; all else goes to stderr.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Sequence

from images.build import TARGETS, VARIANTS, image_name, version

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
HELP = """Push the images to a registry and print their digests, which profiles for clusters demand.

examples:
  make push REGISTRY=registry.example/team > images.yaml
  make push REGISTRY=registry.example/team VARIANT=gpu > images.yaml
  python -m pipelines compile CONFIG --profile single-gpu --images images.yaml -o iteration.yaml

Log in first: docker login registry.example"""
NO_REGISTRY = (
    "error: no registry: make push REGISTRY=HOST/PATH names where the images go, "
    "such as REGISTRY=registry.example/team"
)


class PushError(Exception):
    """docker refused; the text says what and why."""


def push(registry: str, target: str, variant: str, tag: str) -> str:
    """Push one image and return its name by digest. PushError if docker refuses."""
    local = image_name(target, variant, tag)
    remote = f"{registry.rstrip('/')}/{local}"
    _docker("tag", local, remote)
    _docker("push", remote)
    digests = json.loads(_docker("image", "inspect", "--format", "{{json .RepoDigests}}", remote))
    repository = remote.rpartition(":")[0]
    for name in digests:
        if name.startswith(f"{repository}@") and _DIGEST.search(name):
            return str(name)
    raise PushError(f"{remote}: docker knows no digest of it after the push; got {digests}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Push all; 0, or 2 with a sentence on stderr."""
    parser = argparse.ArgumentParser(
        prog="python -m images.push", description=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("--registry", default="", help="where the images go, HOST/PATH")
    add("--variant", choices=VARIANTS, default="cpu")
    add("--tag", default=version(), help="of the images; default: the project's version")
    add("--only", nargs="*", choices=TARGETS, default=[], metavar="TARGET", help="default: all")
    options = parser.parse_args(arguments)
    if not options.registry:
        print(NO_REGISTRY, file=sys.stderr)
        return 2
    try:
        for target in options.only or TARGETS:
            print(f"{target}: {push(options.registry, target, options.variant, options.tag)}")
    except PushError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _docker(*words: str) -> str:
    """What docker prints on stdout; progress and reasons go to stderr."""
    try:
        ended = subprocess.run(["docker", *words], capture_output=True, text=True)
    except FileNotFoundError:
        raise PushError(
            "the program 'docker' is missing; Debian: apt-get install docker.io"
        ) from None
    if ended.returncode:
        reason = " ".join(ended.stderr.split()) or f"exit code {ended.returncode}"
        hint = "; `make images` builds it" if words[0] == "tag" else ""
        raise PushError(f"docker {' '.join(words)}: {reason}{hint}")
    if words[0] == "push":
        print(ended.stdout, end="", file=sys.stderr)
    return ended.stdout


if __name__ == "__main__":
    sys.exit(main())
