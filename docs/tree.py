"""Prints the tree of README.md: every source file with the first sentence of its docstring.

python docs/tree.py          # print it
python docs/tree.py --write  # put it into README.md
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
FOLDERS = ("pipelines", "components", "envs")
BLOCK = re.compile(r"(<!-- tree: .*? -->\n```text\n)(.*?)(```)", re.DOTALL)


def tree() -> str:
    """One line per file, indented by folder; a package's line is its `__init__`'s sentence."""
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *FOLDERS],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    files = sorted(Path(name) for name in tracked if name.endswith(".py"))
    lines: list[str] = []
    for path in sorted((item for item in files if (ROOT / item).exists()), key=_order):
        depth = len(path.parts) - 1
        if path.name == "__init__.py":
            lines.append(_line(depth - 1, f"{path.parent.name}/", path))
        else:
            lines.append(_line(depth, path.name, path))
    return "\n".join(lines) + "\n"


def _order(path: Path) -> tuple[str, ...]:
    """A package before its files, files before folders' files of the same parent by name."""
    return (*path.parts[:-1], "" if path.name == "__init__.py" else path.name)


def _line(depth: int, name: str, path: Path) -> str:
    doc = ast.get_docstring(ast.parse((ROOT / path).read_text())) or ""
    sentence = re.split(r"(?<=[.?!])\s(?=[A-Z`])", " ".join(doc.split()))[0].rstrip(".")
    return f"{'  ' * depth + name:<34}{sentence}"


def in_readme() -> str:
    """The tree as README.md has it."""
    found = BLOCK.search(README.read_text())
    if found is None:
        raise SystemExit("README.md has no tree block")
    return found.group(2)


if __name__ == "__main__":
    if "--write" in sys.argv:
        README.write_text(BLOCK.sub(lambda m: m[1] + tree() + m[3], README.read_text()))
    else:
        print(tree(), end="")
