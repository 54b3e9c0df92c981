"""A base image made without any hub: a small Debian with Python 3.11, from the machine's mirror."""

import shutil
import subprocess
from pathlib import Path

from tests.images.engine import NoEngine, install

SUITE = "bookworm"
"""The Debian release whose Python is 3.11."""
PACKAGES = "python3,python3-venv,python3-pip,ca-certificates"
NAME = f"rolewise-test/python:{SUITE}"


def make_base(folder: Path, environment: dict[str, str]) -> str:
    """Import the base image and return its name; NoEngine if Debian's packages are out of reach.

    An engine that has it keeps it, and with it the layers built on it; `folder` keeps its tar file.
    """
    known = ["docker", "image", "inspect", NAME]
    if subprocess.run(known, env=environment, capture_output=True).returncode == 0:
        return NAME
    packed = folder / f"{SUITE}.tar"
    if not packed.exists():
        _debootstrap(folder / "root", packed)
    command = ["docker", "import", str(packed), NAME]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return NAME


def _debootstrap(root: Path, packed: Path) -> None:
    install("debootstrap")
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    options = ["--variant=minbase", f"--include={PACKAGES}"]
    command = ["debootstrap", *options, SUITE, str(root), mirror()]
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode:
        raise NoEngine(f"debootstrap: {' '.join(ended.stdout.splitlines()[-1:])}")
    begun = packed.with_suffix(".part")
    subprocess.run(["tar", "-C", str(root), "-cf", str(begun), "."], check=True)
    begun.rename(packed)
    shutil.rmtree(root)


def mirror() -> str:
    """Address of the machine's own Debian mirror, as apt knows it."""
    form = "$(ORIGIN) $(COMPONENT) $(REPO_URI)"
    command = ["apt-get", "indextargets", "--format", form, "Created-By: Packages"]
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    found = find_mirror(lines)
    if found is None:
        raise NoEngine("apt knows no mirror of Debian's main component")
    return found


def find_mirror(lines: list[str]) -> str | None:
    """The first that is Debian's main archive, not its security or debug archive."""
    for line in lines:
        origin, component, address = [*line.split(), "", "", ""][:3]
        plain = address.rstrip("/").endswith("/debian")
        if origin == "Debian" and component == "main" and plain:
            return address
    return None
