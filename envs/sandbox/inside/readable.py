"""What a program may read: the interpreter's library and the C libraries. No third-party packages.

Folders of installed packages are left out, for they hold problem sets with their answers;
packages that programs may import are named in `SandboxOptions.packages`.
"""

import glob
import os
import sys

DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
PACKAGE_FOLDERS = ("site-packages", "dist-packages")


def standard_library() -> list[str]:
    """Every entry of the library's folder but the folders of installed packages."""
    folder = os.path.dirname(os.__file__)
    entries = [e.path for e in os.scandir(folder) if e.name not in PACKAGE_FOLDERS]
    return [*entries, *(path for path in sys.path if path.endswith(".zip"))]


def shared_libraries() -> list[str]:
    """The folders of C libraries; those that also hold Python packages file by file."""
    whole = [
        "/lib64",
        "/usr/lib64",
        *glob.glob("/lib/*-linux-gnu"),
        *glob.glob("/usr/lib/*-linux-gnu"),
    ]
    mixed = ["/usr/local/lib", os.path.join(sys.base_prefix, "lib")]
    readable = ["/etc/ld.so.cache", "/usr/share/zoneinfo"]
    for folder in {os.path.realpath(path) for path in whole + mixed if os.path.isdir(path)}:
        names = os.listdir(folder)
        if folder in whole and not any(name.startswith("python") for name in names):
            readable.append(folder)
        else:
            readable += [os.path.join(folder, name) for name in names if ".so" in name]
    return readable
