"""Text files that a person names in the options: read whole and safely, or refused in one line.

Only regular files are read: a pipe would wait for ever, a device never end. No file's size is
trusted; at most one byte more than the limit is read. What the text means is not looked at.
"""

import os
import stat
from pathlib import Path


def read_text(path: Path, what: str, most_bytes: int) -> str:
    """The UTF-8 text of a file, without a byte order mark; `what` begins the messages.

    ValueError, one line: it is no regular file, cannot be read, is too large, or is not UTF-8.
    """
    try:
        held = _bytes(path, what, most_bytes)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ValueError(
            f"{what}: {path} cannot be read ({reason}); expected a text file"
        ) from error
    if len(held) > most_bytes:
        raise ValueError(
            f"{what}: {path} has more than {most_bytes} bytes; expected fewer, split it"
        )
    try:
        return held.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = held.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{what}: {path}, line {line} is not UTF-8 (byte {held[error.start]:#04x}); "
            "expected a text file in UTF-8"
        ) from error


def _bytes(path: Path, what: str, most_bytes: int) -> bytes:
    """At most one byte more than allowed. Opened without waiting for a pipe's other end."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:
        raise ValueError(f"{what}: {str(path)!r} is no path ({error})") from error
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise ValueError(f"{what}: {path} is not a regular file; expected a text file")
        with open(opened, "rb", closefd=False) as file:
            return file.read(most_bytes + 1)
    finally:
        os.close(opened)
