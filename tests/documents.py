"""Code blocks of a Markdown page, as files and commands."""

import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NAME = re.compile(r"# (\S+\.\w+)(?:, continued)?\n")


class Block(NamedTuple):
    """A fenced block with its language."""

    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    """All of them, in order."""
    return [Block(*found) for found in _BLOCK.findall(page.read_text())]


def files(page: Path) -> dict[str, str]:
    """Name -> content: blocks that begin with `# name`, or `# name, continued`, put together."""
    found: dict[str, str] = defaultdict(str)
    for block in blocks(page):
        name = _NAME.match(block.text)
        if name:
            found[name[1]] += ("\n\n" if found[name[1]] else "") + block.text[name.end() :]
    return dict(found)


def commands(page: Path) -> list[str]:
    """Lines of the `bash` blocks."""
    return [line for block in blocks(page) if block.language == "bash"
            for line in block.text.splitlines()]  # fmt: skip
