"""An environment of their own for the projects that we compare with: build/peers-venv.

It sees the main environment through a .pth file, so torch and NumPy are neither fetched nor
stored twice; what is installed here shadows nothing there. `python -m tests.benchmarks.peers`
makes it ahead of time.
"""

import hashlib
import subprocess
import sys
import sysconfig
from pathlib import Path

VENV = Path("build/peers-venv")
PYTHON = VENV / "bin" / "python"
ALONE = ("verl==0.9.1",)
"""Installed without dependencies: theirs exclude the transformers in use here."""
NEEDED = (
    "ray==2.60.0", "tensordict==0.15.3", "omegaconf==2.3.1", "hydra-core==1.3.8",
    "codetiming==1.4.0", "dill", "orjson==3.13.0", "torchdata==0.11.0",
)  # fmt: skip
"""What verl's core_algos imports."""


def ensure() -> Path:
    """The interpreter of the peers' environment; makes it if it is missing or out of date.

    RuntimeError with pip's last line if a package cannot be installed.
    """
    content = "\n".join([sys.executable, sys.version, *ALONE, *NEEDED])
    stamp, digest = VENV / "stamp", hashlib.sha256(content.encode()).hexdigest()
    if stamp.is_file() and stamp.read_text() == digest:
        return PYTHON.absolute()
    print(f"making {VENV}: {', '.join(ALONE)} ...", flush=True)
    _run(sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENV))
    _see_main_environment()
    _install("--no-deps", *ALONE)
    _install(*NEEDED)
    stamp.write_text(digest)
    return PYTHON.absolute()


def _see_main_environment() -> None:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = VENV / "lib" / version / "site-packages"
    (site / "main-environment.pth").write_text(sysconfig.get_path("purelib") + "\n")


def _install(*arguments: str) -> None:
    pip = [sys.executable, "-m", "pip", "--python", str(PYTHON), "--disable-pip-version-check"]
    _run(*pip, "install", "--quiet", *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise RuntimeError(f"{' '.join(command[1:4])} failed: {(last or [done.stderr])[-1]}")


if __name__ == "__main__":
    print(ensure())
