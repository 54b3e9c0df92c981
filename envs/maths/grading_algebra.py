r"""One expression against one expression, asked of a worker process.

The worker (`grading_worker.py`) is started at the first question, kept, and ends with this
process. What is known to be endless (towers of powers, factorials of large numbers) is not asked.
What meets the worker's limits, or kills it twice, is unsettled; limits count CPU time, so that a
busy machine changes nothing.
"""

import atexit
import json
import os
import re
import select
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from envs.maths.grading_latex import latex

CPU_S = 2.0
"""For one comparison; usual ones take 0.01 s."""
WALL_S = 60.0
"""Beyond it the worker, or the machine, is broken."""
_SCRIPT = str(Path(__file__).with_name("grading_worker.py"))
MAX_EXPRESSION = 200
"""Characters."""
_ALLOWED = re.compile(r"[A-Za-z0-9\s+\-*/^_=<>()\[\]{}|.,!\\&]*")
_HUGE = re.compile(r"\^\s*\{?\s*[-+(]*\s*\d{5,}|\d{5,}\s*\)?\s*!|!\s*\)?\s*!|\d{60,}")
"""Exponents and factorials that would be computed digit by digit."""
_TWO_NUMBERS = re.compile(r"(?<![_\d])\d+\s+\d|[\d)]\s*_")
"""Numbers side by side, and a number with a base."""
_TOWER = re.compile(r"\^\s*\{[^{}A-Za-z\\]*\^|\^\s*\{?\w+\}?\s*\^|\^\s*(?:\{[^{}]*!|\w\s*!)")
"""A power or a factorial in an exponent of numbers."""
_COMMANDS_LISTED = """
frac sqrt cdot times pi infty le ge ne pm binom lfloor rfloor lceil rceil log ln exp sin cos tan
cot sec csc arcsin arccos arctan sinh cosh tanh sum prod int lim theta alpha beta gamma delta
lambda mu phi omega rho sigma tau epsilon varepsilon begin end pmatrix bmatrix vmatrix matrix
overline mid in cup cap setminus ldots dots cdots to rightarrow div max min gcd deg ell varphi
zeta eta kappa nu xi chi psi equiv pmod mod circ angle triangle vec hat bar left right mathbb
emptyset
"""
_COMMANDS = frozenset(_COMMANDS_LISTED.split())


Reply = dict[str, bool | None]
"""{"equal": yes, no, or None: it could not be settled}"""


class GraderUnavailable(Exception):
    """The algebra system cannot be run here; nothing is known about the answer."""


class Unsettled(Exception):
    """The limit of CPU time or memory was met; the whole answer counts as not equal."""


def same_expression(mine: str, theirs: str) -> bool:
    """Whether two expressions are equal; False for what is not asked. Unsettled, GraderUnavailable
    as above."""
    one, other = latex(mine), latex(theirs)
    if not (askable(one) and askable(other)) or _other_case(one, other):
        return False
    verdict = _ask(one, other)
    if verdict is None:
        raise Unsettled
    return verdict


def askable(expression: str) -> bool:
    """False for what is too long, no mathematics, or known to end in endless arithmetic."""
    if len(expression) > MAX_EXPRESSION or not _ALLOWED.fullmatch(expression):
        return False
    if _HUGE.search(expression) or _TOWER.search(expression) or _TWO_NUMBERS.search(expression):
        return False
    commands = re.findall(r"\\([A-Za-z]+)", expression)
    names = re.findall(r"(?<![\\A-Za-z])[A-Za-z]{2,}", expression)
    return all(command in _COMMANDS for command in commands) and all(
        len(name) <= 4 or name in _COMMANDS for name in names
    )


def _other_case(one: str, other: str) -> bool:
    """Whether a letter is capital in one and small in the other, which the parser does not see."""
    mine, theirs = (set(re.sub(r"\\[A-Za-z]+", "", text)) for text in (one, other))
    return any(letter.isalpha() and letter.swapcase() in theirs - mine for letter in mine - theirs)


@lru_cache(maxsize=65_536)
def _ask(mine: str, theirs: str) -> bool | None:
    return _worker().ask({"mine": mine, "theirs": theirs, "cpu_s": CPU_S})["equal"]


class _Worker:
    """One process at a time, asked by one thread at a time."""

    def __init__(self, command: Sequence[str] = (sys.executable, "-s", "-P", _SCRIPT)) -> None:
        self.command = command
        self.owner = os.getpid()
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None

    def ask(self, question: dict[str, Any]) -> Reply:
        """The reply; unsettled if two workers die. GraderUnavailable if none can be had."""
        with self.lock:
            for _ in range(2):
                process = self._running()
                reply = self._exchange(process, question)
                if reply is not None:
                    return reply
                self._close()
            return {"equal": None}

    def close(self) -> None:
        """End the process; the next question starts another."""
        with self.lock:
            self._close()

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is None or self.process.poll() is not None:
            self._close()
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, env=_environment(), cwd="/",
            )  # fmt: skip
            if self._line(self.process) is None:
                self._close()
                raise GraderUnavailable(
                    "the algebra worker does not start; expected math-verify to be installed "
                    "beside this Python, and 2 GiB of memory"
                )
        return self.process

    def _exchange(self, process: subprocess.Popen[bytes], question: dict[str, Any]) -> Reply | None:
        """The reply, or None if the worker died of the question."""
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        except OSError:
            return None
        line = self._line(process)
        if line is None:
            return None
        reply: Reply = json.loads(line)
        return reply

    def _line(self, process: subprocess.Popen[bytes]) -> bytes | None:
        """One line; None if the process ended. GraderUnavailable if neither happens."""
        assert process.stdout is not None
        if not select.select([process.stdout], [], [], WALL_S)[0]:
            self._close()
            raise GraderUnavailable(f"the algebra worker said nothing for {WALL_S:g} s")
        return process.stdout.readline() or None

    def _close(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.communicate()


def _environment() -> dict[str, str]:
    """No secrets; the same hash seed always; the packages that this process has."""
    packages = os.pathsep.join(path for path in sys.path if path.endswith("-packages"))
    return {"PYTHONHASHSEED": "0", "PYTHONPATH": packages, "OMP_NUM_THREADS": "1", "LC_ALL": "C"}


_WORKERS: list[_Worker] = []
_STARTING = threading.Lock()


def _worker() -> _Worker:
    """This process's worker; a forked child has its own."""
    with _STARTING:
        if not _WORKERS or _WORKERS[-1].owner != os.getpid():
            _WORKERS[:] = [_Worker()]
            atexit.register(close)
        return _WORKERS[-1]


def close() -> None:
    """End the worker of this process, if there is one."""
    if _WORKERS and _WORKERS[-1].owner == os.getpid():
        _WORKERS[-1].close()
