"""Files of entries that were made beforehand, since some generators are slow.

JSON lines. The first is the header: format, package, version, task, config. Each other line is an
entry as canonical JSON. A file is read whole and checked before any of it is used.
"""

import json
import os
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from envs.base import JSON
from envs.reasoning_gym import entries
from envs.reasoning_gym.generators import PACKAGE

FORMAT = "rolewise reasoning_gym pool 1"
MAX_BYTES = 2**30


def header(version: str, task: str, config: JSON) -> dict[str, JSON]:
    """What an entry's meaning depends on."""
    return {"format": FORMAT, "package": PACKAGE, "version": version, "task": task,
            "config": config}  # fmt: skip


def write_pool(path: Path, head: JSON, pool: Iterable[str]) -> str:
    """Write the file at once or not at all; its SHA-256."""
    content = "".join(f"{line}\n" for line in (json.dumps(head, sort_keys=True), *pool)).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_bytes(content)
    os.replace(unfinished, path)
    return sha256(content).hexdigest()


def read_pool(path: str, digest: str | None, task: str, config: str) -> Sequence[tuple[str, str]]:
    """(digest of the question, entry) of every line.

    ValueError that names the file, the line and the field, what was found and what is expected.
    """
    content = _content(path)
    found = sha256(content).hexdigest()
    if digest is not None and digest != found:
        raise ValueError(f"reasoning_gym pool {path}: its SHA-256 is {found}, expected {digest}")
    lines = content.decode("utf-8", "replace").splitlines()
    _check_header(path, _json(path, 1, lines[0] if lines else ""), task, config)
    pool: dict[str, str] = {}
    owners: dict[str, int] = {}
    for number, line in enumerate(lines[1:], 2):
        question, entry = _entry(path, number, line)
        if question in owners:
            raise ValueError(
                f"reasoning_gym pool {path}, line {number}: question equals the one of line "
                f"{owners[question]}, expected each question once"
            )
        owners[question], pool[question] = number, entry
    if not pool:
        raise ValueError(f"reasoning_gym pool {path}: it has no entries, expected one or more")
    return tuple(pool.items())


def _content(path: str) -> bytes:
    try:
        size = Path(path).stat().st_size
        if size > MAX_BYTES:
            raise ValueError(
                f"reasoning_gym pool {path}: it has {size} bytes, expected {MAX_BYTES} at most"
            )
        return Path(path).read_bytes()
    except OSError as error:
        raise ValueError(
            f"reasoning_gym option pool: {path} cannot be read ({error.strerror}); expected a file "
            "that python -m envs.reasoning_gym.prepare wrote"
        ) from error


def _json(path: str, number: int, line: str) -> Any:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"reasoning_gym pool {path}, line {number}: not JSON ({error}); expected an object"
        ) from error
    if not isinstance(found, dict):
        raise ValueError(
            f"reasoning_gym pool {path}, line {number}: got {type(found).__name__}, expected an "
            "object"
        )
    return found


def _check_header(path: str, head: dict[str, JSON], task: str, config: str) -> None:
    expected = {"format": FORMAT, "package": PACKAGE, "task": task, "config": json.loads(config)}
    for field, value in expected.items():
        if head.get(field) != value:
            raise ValueError(
                f"reasoning_gym pool {path}, line 1, {field}: got {head.get(field)!r}, expected "
                f"{value!r}"
            )


def _entry(path: str, number: int, line: str) -> tuple[str, str]:
    encoded = _json(path, number, line)
    for field, kind in (("question", str), ("answer", str), ("metadata", dict)):
        if not isinstance(encoded.get(field), kind):
            raise ValueError(
                f"reasoning_gym pool {path}, line {number}, {field}: got "
                f"{encoded.get(field)!r:.60}, expected a {kind.__name__}"
            )
    try:
        text = entries.dump(entries.from_json(encoded))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"reasoning_gym pool {path}, line {number}, metadata: {error!r}; expected what "
            "python -m envs.reasoning_gym.prepare writes"
        ) from error
    return entries.digest(encoded["question"]), text
