"""`make images-test`: builds the images without any hub, checks them, trains in them, pushes them.

Where no Docker Engine can start, or Debian's packages cannot be had, it says so and ends with 0:
nothing was tested there. All that it makes, but the base's tar file, is deleted at the end.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from components.errors import RolewiseError
from images.build import TARGETS, Plan, image_name, last_commit
from images.build import build as build_images
from images.context import ROOT
from images.push import PushError, push
from pipelines.compiling import PIPELINES, compile, open_profile
from pipelines.pinning import STEP_RUNTIMES, read_images, with_images
from tests.images.base import make_base
from tests.images.checks import faults, sizes
from tests.images.docker_runner import LABEL
from tests.images.engine import NoEngine, docker_engine
from tests.images.play import SMALL, in_folder, play
from tests.images.servers import NoServer, local_registry, tracking_server

TAG = "images-test"
METRICS = ("evaluation/validation/success", "rollout/tool/reward/mean", "update/tool/num_tokens")
"""Of steps in both images with models; those of an iteration that happened have them."""


class Failed(Exception):
    """The images are not what they must be; the text says how."""


def main(arguments: Sequence[str] | None = None) -> int:
    """0: all passed, or no engine; 1: something is wrong with the images."""
    parser = argparse.ArgumentParser(prog="python -m tests.images.run", description=__doc__)
    add = parser.add_argument
    add(
        "--dir",
        type=Path,
        default=ROOT / "build/images",
        help="what it makes (default: %(default)s)",
    )
    add(
        "--small",
        action="store_true",
        help="push cpu alone, and leave the quickstart's real iteration out",
    )
    options = parser.parse_args(arguments)
    folder = options.dir.resolve()
    try:
        with docker_engine(folder / "docker") as environment, using(environment):
            run(folder, options.small)
    except NoEngine as error:
        print(
            f"images-test: no Docker Engine can be had here ({error}): the images were NOT tested"
        )
    except (Failed, NoServer, PushError, RolewiseError) as error:
        print(f"images-test: failed: {error}")
        return 1
    return 0


def run(folder: Path, small: bool) -> None:
    """1. build  2. check  3. push, and compile with the digests  4. train in containers."""
    names = {target: image_name(target, "cpu", TAG) for target in TARGETS}
    with ExitStack() as ending:
        ending.callback(clean, folder, names)
        base = make_base(folder / "base", dict(os.environ))
        plan = Plan(base, "cpu", TAG, last_commit(), ("--network", "host"))
        build(plan, folder / "context")
        check(names, plan, folder / "context/images")
        with local_registry(folder / "registry") as address:
            images = pushed(address, folder, ["cpu"] if small else TARGETS)
        if not small:
            compile_for_cluster(images, folder)
        runtimes = {name: images.get(name, names[name]) for name in STEP_RUNTIMES}
        train("small experiment", runtimes, folder / "small", SMALL)
        if not small:
            train("quickstart iteration", runtimes, folder / "quickstart", ())
    print("images-test: passed")


def build(plan: Plan, context: Path) -> None:
    """All targets, CPU variants; with the builder that every engine has."""
    with timed("build"), using({"DOCKER_BUILDKIT": "0"}):
        try:
            build_images(plan, TARGETS, context)
        except subprocess.CalledProcessError as error:
            raise Failed(f"docker build ended with {error.returncode}") from error


def check(names: Mapping[str, str], plan: Plan, locks: Path) -> None:
    """What every image must be; its size."""
    with timed("check"):
        found = [faults(name, target, plan, locks) for target, name in names.items()]
        wrong = [fault for some in found for fault in some]
    for name, size in sizes(names).items():
        print(f"{name}: {size:.2f} GB")
    if wrong:
        raise Failed("\n".join(wrong))


def pushed(address: str, folder: Path, targets: Sequence[str]) -> dict[str, str]:
    """Push to a registry; the images by digest, read as the compiler reads them."""
    with timed("push"):
        lines = [f"{target}: {push(address, target, 'cpu', TAG)}\n" for target in targets]
    file = folder / "images.yaml"
    file.write_text("".join(lines))
    return read_images(file)


def compile_for_cluster(images: Mapping[str, str], folder: Path) -> None:
    """All pipelines, for a profile that demands digests."""
    config = in_folder(folder, "http://mlflow.example", ["storage.uri=s3://bucket/runs"])
    profile = with_images(open_profile("single-gpu"), images)
    for pipeline in PIPELINES:
        compile(config, profile, folder / f"{pipeline}.yaml", pipeline)


def train(what: str, images: Mapping[str, str], folder: Path, overrides: Sequence[str]) -> None:
    """One iteration in containers; its metrics prove that it happened."""
    shutil.rmtree(folder, ignore_errors=True)
    with tracking_server(folder / "mlflow") as tracking, timed(what), showing_logs(folder):
        metrics = play(images, folder / "run", tracking, overrides)
    for name in METRICS:
        if name not in metrics:
            raise Failed(f"{what}: no metric {name} was committed; got {sorted(metrics)}")
        print(f"{what}: {name} {metrics[name]:.4g}")


@contextmanager
def showing_logs(folder: Path) -> Iterator[None]:
    """Print the end of the steps' output if training fails: the folder is deleted."""
    try:
        yield
    except RolewiseError:
        for log in sorted(folder.glob("run/*.log")):
            print(f"--- {log.name}", *log.read_text().splitlines()[-40:], sep="\n")
        raise


def clean(folder: Path, names: Mapping[str, str]) -> None:
    """Remove this run's containers, the images of this test's names, and its folders."""
    for name in ("small", "quickstart"):
        mine = f"label={LABEL}={folder / name / 'run'}"
        listed = ["docker", "ps", "--all", "--quiet", "--filter", mine]
        containers = subprocess.run(listed, capture_output=True, text=True).stdout.split()
        if containers:
            subprocess.run(["docker", "rm", "--force", *containers], capture_output=True)
    listed = ["docker", "image", "inspect", "--format", "{{.Id}}", *names.values()]
    images = subprocess.run(listed, capture_output=True, text=True).stdout.split()
    if images:  # by id: under all names, that of the registry too
        subprocess.run(["docker", "rmi", "--force", *images], capture_output=True)
    for name in ("small", "quickstart", "registry", "context"):
        shutil.rmtree(folder / name, ignore_errors=True)


@contextmanager
def using(variables: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for docker and kfp, for a while."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long it took."""
    start = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
