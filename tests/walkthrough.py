"""A page's blocks, one after the other, in a folder: what a reader who follows it would do.

A block that begins with `# name` is written to that file (`, continued`: added to it), the lines of
a `bash` block are executed. A line says at its end what is special: `# exit code 3`, `# in another
terminal` (it is started and runs until the walk ends), `# needs ...` (not executed: it needs what
is not here). A `text` block shows what the block before it prints, numbers apart.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.documents import Block, blocks
from tests.e2e.served import serving

ROOT = Path(__file__).parents[1]
_FILE = re.compile(r"# (\S+\.\w+)(, continued)?\n")
_NOTE = re.compile(r"\s+# (exit code \d+|in another terminal|needs .*)$")
_OWN = ("AWS_", "MLFLOW_", "KF_", "HF_", "ROLEWISE_")
LIMIT_S = 900


@dataclass(frozen=True)
class Command:
    """A line of the page, and what it printed."""

    text: str
    """As executed."""
    code: int
    printed: str


@dataclass
class Walk:
    """A way through one page."""

    page: Path
    folder: Path
    replaced: Mapping[str, str] = field(default_factory=dict)
    """Addresses of the page -> those of the servers here; all else is taken word by word."""
    commands: list[Command] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """Lines that need what is not here."""
    environment: dict[str, str] = field(default_factory=lambda: reader())

    def through(self) -> None:
        """From the first block to the last. AssertionError at the first that is not as it says."""
        text = self.page.read_text()
        strange = [name for name in self.replaced if name not in text]
        assert not strange, f"{self.page} has no {strange}"
        with ExitStack() as stack:
            first = 0
            for block in blocks(self.page):
                if name := _FILE.match(block.text):
                    self._write(name[1], block.text[name.end() :], bool(name[2]))
                elif block.language == "text":
                    self._compare(block, self.commands[first:])
                elif block.language == "bash":
                    first = len(self.commands)
                    for line in block.text.replace("\\\n", " ").splitlines():
                        self._take(line, stack)

    def printed(self, *parts: str) -> str:
        """Of the first command that has these parts."""
        found = [item for item in self.commands if all(part in item.text for part in parts)]
        assert found, (parts, [item.text for item in self.commands])
        return found[0].printed

    def _write(self, name: str, content: str, added: bool) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a" if added else "w") as file:
            file.write(self._here(content))

    def _take(self, line: str, stack: ExitStack) -> None:
        note = _NOTE.search(line)
        said = note[1] if note else "exit code 0"
        text = " ".join(self._here(line[: note.start()] if note else line).split())
        if said.startswith("needs"):
            self.left_out.append(text)
        elif text.startswith("export "):
            self.environment |= exported(text, self.environment)
        elif said == "in another terminal":
            self.commands.append(Command(text, 0, stack.enter_context(self._started(text))))
        elif text and not text.startswith("#"):
            self._execute(text, int(said.removeprefix("exit code ")))

    def _execute(self, text: str, code: int) -> None:
        done = subprocess.run(
            shell(text), cwd=self.folder, env=self.environment, timeout=LIMIT_S, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.returncode == code, f"{text}\n{done.stdout}"
        self.commands.append(Command(text, code, done.stdout))

    def _started(self, text: str) -> AbstractContextManager[str]:
        return serving(shell(f"exec {text}"), self.folder, self.environment)

    def _compare(self, block: Block, commands: list[Command]) -> None:
        """Every line that is shown is printed, in this order."""
        printed = "\n".join(item.printed for item in commands)
        have = iter([shape(line) for line in printed.splitlines()])
        shown = [line for line in self._here(block.text).splitlines() if line.strip() != "..."]
        missing = next((line for line in shown if shape(line) not in have), None)
        asked = [item.text for item in commands]
        assert missing is None, f"{missing}\nnot printed, or not here, by\n{asked}:\n{printed}"

    def _here(self, text: str) -> str:
        for name, value in self.replaced.items():
            text = text.replace(name, value)
        return text


def reader() -> dict[str, str]:
    """A reader's environment: the project's programs on the path, no addresses of other places."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
    return kept | {
        "PATH": f"{Path(sys.executable).parent}:{kept['PATH']}", "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1", "ROLEWISE_USER": "reader",
    }  # fmt: skip


def shell(text: str) -> list[str]:
    """The words that execute a line."""
    return ["bash", "-euo", "pipefail", "-c", text]


def exported(text: str, environment: Mapping[str, str]) -> dict[str, str]:
    """What an `export` line sets."""
    done = subprocess.run(
        shell(f"{text}\nenv -0"),
        env=dict(environment),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return dict(item.split("=", 1) for item in done.stdout.split("\0") if item)


def shape(line: str) -> str:
    """A line without its numbers, digests and spans of time."""
    line = re.sub(r"\b[0-9a-f]{8,}\b", "#", line)
    line = re.sub(r"[+-]?\d+(\.\d+)?", "#", line)
    line = re.sub(r"(# h )?(# min )?# (s|h|min)\b", "#", line)
    return " ".join(line.split())
