"""The page: index, chunks, scripts and styles as one HTML file that needs no network.

What a model wrote is in the page only as compressed base64, and the scripts put it on the screen
as text nodes alone. A content security policy lets nothing run but these scripts.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from components.reporting.viewer.packing import chunks, packed
from components.reporting.viewer.trees import Json, Tree, index_row, trees

STATIC = Path(__file__).parent / "static"
SCRIPTS = ("text", "data", "select", "list", "episode", "main")
"""In this order; each is one idea."""
Spell = Callable[[str, Iterable[int]], Mapping[int, str]]
"""(policy version, token ids) -> id -> text; empty if unknown."""


@dataclass(frozen=True)
class Source:
    """What was played in one iteration on one set of tasks."""

    iteration: int
    name: str
    """`training`, or the benchmark's name."""
    rows: pa.Table
    """Sample rows, or Scored rows of held-out play."""
    episodes: Sequence[Mapping[str, Any]]


def no_spelling(version: str, ids: Iterable[int]) -> Mapping[int, str]:
    """Tokens are shown as ids."""
    return {}


def write_page(
    file: IO[str],
    title: str,
    roles: Sequence[str],
    sources: Sequence[Source],
    spell: Spell = no_spelling,
    back: str | None = None,
) -> int:
    """Write the page; returns the number of episodes. `back`: relative link to the report.

    Sources of two iterations can be compared: they are paired by name, their episodes by id.
    """
    page = _Page(file, roles, spell)
    head, tail = (STATIC / "page.html").read_text().split("<!-- data -->")
    script = "\n".join((STATIC / f"{name}.js").read_text() for name in SCRIPTS)
    style = (STATIC / "viewer.css").read_text()
    script = f'(() => {{\n"use strict";\n{script}\n}})();'
    link = f'<a href="{escape(back)}">Report</a>' if back else ""
    values = {"title": escape(title), "policy": policy(script, style), "style": style, "back": link}
    for name, value in values.items():
        head = head.replace(f"<!-- {name} -->", value)
    file.write(head)
    for number, source in enumerate(sources):
        page.add(number, source)
    page.close(title, sources)
    file.write(tail.replace("<!-- script -->", f"<script>{script}</script>"))
    return len(page.index["episode"])


def policy(script: str, style: str) -> str:
    """The content security policy that allows exactly this script and this style."""
    hashes = [
        base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in (script, style)
    ]
    return (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


class _Page:
    """Writes chunks as they come and gathers the index."""

    def __init__(self, file: IO[str], roles: Sequence[str], spell: Spell) -> None:
        self.file, self.roles, self.spell = file, roles, spell
        self.index: dict[str, list[Any]] = {}
        self.used: dict[str, set[int]] = {}
        self.chunks = 0

    def add(self, number: int, source: Source) -> None:
        """The chunks of a source, and its episodes' rows in the index."""
        places: dict[str, tuple[Tree, int, int]] = {}
        for chunk in chunks(trees(source.rows)):
            places |= {tree.task: (tree, self.chunks, i) for i, tree in enumerate(chunk)}
            self._write(f"c{self.chunks}", [{"task": t.task, "groups": t.groups} for t in chunk])
            self._write(f"t{self.chunks}", [tree.tokens for tree in chunk])
            self.chunks += 1
            for tree in chunk:
                self._count_ids(tree)
        for episode in source.episodes:
            nothing = (Tree(episode["task_id"], [], []), -1, 0)
            tree, chunk_number, place = places.get(episode["task_id"], nothing)
            row = index_row(tree, episode, self.roles)
            row |= {"source": number, "chunk": chunk_number, "place": place, "task": tree.task}
            for name, value in row.items():
                self.index.setdefault(name, []).append(value)

    def close(self, title: str, sources: Sequence[Source]) -> None:
        """The index and the spellings."""
        words = {version: self.spell(version, ids) for version, ids in self.used.items()}
        self._write("words", words)
        described = [{"iteration": s.iteration, "name": s.name} for s in sources]
        index: Json = {"title": title, "roles": list(self.roles), "sources": described}
        names = (
            "episode",
            "task",
            "status",
            "turns",
            "reward",
            "tokens",
            "source",
            "chunk",
            "place",
        )
        columns: Json = {name: self.index.setdefault(name, []) for name in names}
        for name in ("groups", "silent", "far", "unlikely"):
            rows = self.index.get(name, [])
            columns[name] = {role: [row[role] for row in rows] for role in self.roles}
        self._write("index", index | {"rows": columns})

    def _count_ids(self, tree: Tree) -> None:
        for group, answers in zip(tree.groups, tree.tokens, strict=True):
            used = self.used.setdefault(group["policy_version"], set())
            for ids, _ in answers:
                used.update(ids)

    def _write(self, name: str, value: Any) -> None:
        self.file.write(f'<script type="application/gzip" id="{name}">{packed(value)}</script>\n')
