"""JSON inside a page: compressed, in chunks that the page opens when an episode is looked at."""

import base64
import gzip
import json
from collections.abc import Iterable, Iterator
from typing import Any

from components.reporting.viewer.trees import Tree

CHUNK = 150_000
"""Characters of text in a chunk, about; a tree is never divided."""


def packed(value: Any) -> str:
    """A JSON value as gzip in base64: letters, digits, `+/=` alone, so nothing ends the element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    data = gzip.compress(text.encode("utf-8", "replace"), compresslevel=6, mtime=0)
    return base64.b64encode(data).decode()


def chunks(trees: Iterable[Tree], limit: int = CHUNK) -> Iterator[list[Tree]]:
    """The trees in order, cut where a chunk would grow over the limit."""
    chunk: list[Tree] = []
    size = 0
    for tree in trees:
        if chunk and size + tree.size > limit:
            yield chunk
            chunk, size = [], 0
        chunk.append(tree)
        size += tree.size
    if chunk:
        yield chunk
