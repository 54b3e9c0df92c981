"""A full disk: one clear line with the path, and nothing half written."""

import resource
import subprocess
import sys
from pathlib import Path

LIMIT = 100_000

WRITE = """
import sys
from components.errors import StorageError
from components.storage.local import LocalStore
store = LocalStore("file://" + sys.argv[1])
actions = {
    "write": lambda: store.write("a/b", bytes(200_000)),
    "create": lambda: store.create("a/b", bytes(200_000)),
    "upload_file": lambda: store.upload_file(sys.argv[2], "a/b"),
    "download_file": lambda: store.download_file("large", sys.argv[1] + "/a/b"),
}
for name, action in actions.items():
    try:
        action()
    except StorageError as error:
        print(name, error)
print(store.list(""))
"""


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


def test_every_write_names_the_path_and_leaves_nothing(tmp_path: Path) -> None:
    root, source = tmp_path / "store", tmp_path / "source"
    root.mkdir()
    for path in (source, root / "large"):
        path.write_bytes(bytes(2 * LIMIT))
    command = [sys.executable, "-c", WRITE, str(root), str(source)]
    result = subprocess.run(command, preexec_fn=_limit, capture_output=True, text=True, check=True)
    *errors, keys = result.stdout.splitlines()
    names = [line.split()[0] for line in errors]
    assert names == ["write", "create", "upload_file", "download_file"]
    assert all(f"{root}/a/b: the disk is full" in line for line in errors)
    assert keys == "['large']"
    assert [path.name for path in (root / "a").iterdir()] == []
