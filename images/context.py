"""What a build may see: committed code, the locks, and pip's settings of this machine.

The settings go into the folder pip/, which only build stages copy: where packages come from, a
certificate authority, wheels on this machine's disk. No address is named in the repository.
"""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
CODE = (".dockerignore", "components", "envs", "pipelines", "images")
"""What of the repository goes into the context."""
INSIDE = "/build/pip"
"""Where the build stages find the folder pip/."""


def make_context(folder: Path, commit: str = "HEAD") -> Path:
    """Fill an empty folder with the code of a commit and pip's settings."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = ["git", "-C", str(ROOT), "archive", "--format=tar", commit, "--", *CODE]
    packed = subprocess.run(archive, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
    write_pip_settings(folder / "pip", pip_settings())
    return folder


def pip_settings() -> dict[str, str]:
    """Option -> value, from pip's files and environment variables; the latter win."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return parse_settings(lines)


def parse_settings(lines: list[str]) -> dict[str, str]:
    """Option -> value of lines such as `global.index-url='...'` and `:env:.cert='...'`."""
    settings: dict[str, str] = {}
    for line in sorted(lines, key=lambda text: text.startswith(":env:")):
        name, separator, value = line.partition("=")
        if separator:
            settings[name.rpartition(".")[2]] = value.strip().strip("'\"")
    return settings


def write_pip_settings(folder: Path, settings: Mapping[str, str]) -> None:
    """Write `environment`, a shell file for pip and uv, and beside it the files that it names."""
    wheels = folder / "wheels"
    wheels.mkdir(parents=True)
    variables = {"PIP_FIND_LINKS": f"{INSIDE}/wheels", "UV_FIND_LINKS": f"{INSIDE}/wheels"}
    remote_links = _copy_wheels(settings.get("find-links", ""), wheels)
    for name in ("PIP_FIND_LINKS", "UV_FIND_LINKS"):
        separator = "," if name.startswith("UV") else " "
        variables[name] = separator.join([variables[name], *remote_links])
    variables |= _indexes(settings) | _certificates(settings, folder)
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in variables.items()]
    (folder / "environment").write_text("".join(lines))


def _copy_wheels(places: str, folder: Path) -> list[str]:
    """Copy torch's wheel from local folders; return the places that are not local."""
    remote = []
    for place in places.split():
        path = Path(place.removeprefix("file://"))
        if "://" in str(path) or not path.is_dir():
            remote.append(place)
            continue
        for wheel in path.glob("torch-2.13.0*.whl"):
            shutil.copy2(wheel, folder)
    return remote


def _indexes(settings: Mapping[str, str]) -> dict[str, str]:
    """Variables of the indexes that a build can reach: not those on this machine's disk."""
    variables: dict[str, str] = {}
    if index := settings.get("index-url"):
        variables |= {"PIP_INDEX_URL": index, "UV_DEFAULT_INDEX": index}
    extra = [url for url in settings.get("extra-index-url", "").split() if "file://" not in url]
    if extra:
        variables |= {"PIP_EXTRA_INDEX_URL": " ".join(extra), "UV_INDEX": " ".join(extra)}
    if hosts := settings.get("trusted-host"):
        variables |= {"PIP_TRUSTED_HOST": hosts, "UV_INSECURE_HOST": hosts}
    if timeout := settings.get("timeout", settings.get("default-timeout")):
        variables |= {"PIP_DEFAULT_TIMEOUT": timeout, "UV_HTTP_TIMEOUT": timeout}
    return variables


def _certificates(settings: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Variables of the certificate authorities that pip is told to trust."""
    if not (cert := settings.get("cert")) or not Path(cert).is_file():
        return {}
    shutil.copy2(cert, folder / "authorities.pem")
    return dict.fromkeys(("PIP_CERT", "SSL_CERT_FILE"), f"{INSIDE}/authorities.pem")
