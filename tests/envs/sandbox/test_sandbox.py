"""What an honest program gets, how ends are told apart, and what runs share: nothing."""

import fcntl
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from envs.options import parse_options
from envs.sandbox import (
    Outcome,
    Result,
    Run,
    Sandbox,
    SandboxOptions,
    SandboxUnavailable,
    judged,
    open_sandbox,
    same_tokens,
)
from envs.sandbox.attempt import GRACE_S
from envs.sandbox.inside.protocol import NUM_DESCRIPTORS
from envs.sandbox.server import MOST_SAID, Server
from tests.envs.sandbox.machine import MISSING

F_SETPIPE_SZ = 1031


def options(**values: object) -> SandboxOptions:
    return SandboxOptions.model_validate({"accept_missing": MISSING, **values})


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    opened = Sandbox(options(cpu_s=1, wall_s=5, output_kib=4))
    yield opened
    opened.close()


HONEST = {
    "input": ("print(sum(map(int, input().split())))", "1 2 3", "6"),
    "unicode": ("print(input()[::-1])", "aéü→😀", "😀→üéa"),
    "no end of line": ("import sys; sys.stdout.write('x')", "", "x"),
    "as main": ("if __name__ == '__main__': print('main')", "", "main"),
    "no input": ("import sys; print(repr(sys.stdin.read()))", "", "''"),
    "lines": ("import sys; print([line.strip() for line in sys.stdin])", "a\nb\n", "['a', 'b']"),
    "raw input": ("import os; print(os.read(0, 99))", "a", "b'a'"),
    "input by its usual name": ("print(open('/dev/stdin').read())", "a", "a"),
    "input by its number": ("print(open(0).read())", "a", "a"),
    "a file of its own": ("open('a', 'w').write('x'); print(open('a').read())", "", "x"),
    "a class": ("from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nprint(A(1))",
                "", "A(x=1)"),
    "pickle of its own class": (
        "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))).__name__)",
        "", "A"),
    "asyncio": ("import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    print(1)\n"
                "asyncio.run(f())", "", "1"),
    "a thread with a large stack": (
        "import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(2**26)\n"
        "def deep(n): return n and 1 + deep(n - 1)\n"
        "t = threading.Thread(target=lambda: print(deep(50000)))\nt.start(); t.join()",
        "", "50000"),
    "a thread that is not joined": (
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.01), print(1)))"
        ".start()", "", "1"),
    "at exit": ("import atexit; atexit.register(print, 2); print(1)", "", "1 2"),
    "a higher limit that is allowed": (
        "import resource\nresource.setrlimit(resource.RLIMIT_STACK, (2**26, "
        "resource.getrlimit(resource.RLIMIT_STACK)[1]))\nprint(1)", "", "1"),
    "a long number": ("print(10**5000 % 10**4999 + int('9' * 5000) % 9)", "", "0"),
    "files that end themselves": (
        "import mmap, tempfile\nwith tempfile.TemporaryFile() as file:\n    file.write(b'x' * 9)\n"
        "    file.flush(); print(mmap.mmap(file.fileno(), 9)[:1])\n"
        "with tempfile.NamedTemporaryFile() as file: print(file.write(b'x'))", "", "b'x' 1"),
    "a data base in memory": (
        "import sqlite3\nbase = sqlite3.connect(':memory:')\nbase.execute('create table a (b)')\n"
        "base.execute('insert into a values (1)'); base.commit()\n"
        "print(base.execute('select b from a').fetchall())", "", "[(1,)]"),
    "threads that the C library joins": (
        "import ctypes, time\nlibc, thread = ctypes.CDLL(None), ctypes.c_ulong()\n"
        "kind = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)\n"
        "work = kind(lambda _: time.sleep(0.02))\n"
        "libc.pthread_create(ctypes.byref(thread), None, work, None)\n"
        "print(libc.pthread_join(thread, None))", "", "0"),
    "less usual modules": ("import sqlite3, zlib, hashlib, uuid, tempfile, zoneinfo; print(1)",
                           "", "1"),
    "another stdout": ("import io, sys\nsys.stdout = io.StringIO()\nprint(1)\n"
                       "sys.__stdout__.write(sys.stdout.getvalue())", "", "1"),
    "a quick reader and a quick writer": (
        "import io, os, sys\nread = io.BytesIO(os.read(0, os.fstat(0).st_size)).readline\n"
        "class Out:\n    said = []\n    write = said.append\n"
        "    def flush(self): os.write(1, ''.join(self.said).encode()); self.said.clear()\n"
        "sys.stdout = Out()\nprint(int(read()) + int(read()))", "1\n2\n", "3"),
    "a file that is left open": ("out = open(1, 'w'); out.write('x')", "", "x"),
    "a last word": ("class A:\n    def __del__(self): print(1)\na = A()", "", "1"),
    "closed stdin": ("import sys; sys.stdin.close(); print(1)", "", "1"),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_honest_programs(name: str, sandbox: Sandbox) -> None:
    program, stdin, expected = HONEST[name]
    result = sandbox.run(Run(program, stdin))
    assert judged(result, expected) is Outcome.OK, result
    assert result.stderr == ""
    assert 0 < result.cpu_s <= 1
    assert result.wall_s < 5


ENDS = {
    "1 / 0": (Outcome.RUNTIME_ERROR, "ZeroDivisionError: division by zero"),
    "print(": (Outcome.RUNTIME_ERROR, "SyntaxError: '(' was never closed"),
    "x = '\0'": (Outcome.RUNTIME_ERROR, "source code string cannot contain null bytes"),
    "print('\ud800')": (Outcome.RUNTIME_ERROR, "surrogates not allowed"),
    "raise KeyboardInterrupt": (Outcome.RUNTIME_ERROR, "KeyboardInterrupt"),
    "import ctypes; ctypes.string_at(0)": (Outcome.RUNTIME_ERROR, "[ended by signal SIGSEGV]"),
    "import sys; sys.exit('why')": (Outcome.RUNTIME_ERROR, "only reaching its last line"),
    "exit()": (Outcome.RUNTIME_ERROR, "SystemExit: None: only reaching its last line"),
    "import os; os._exit(3)": (Outcome.RUNTIME_ERROR, "before its last line, with exit status 3"),
    "import nothing_such": (Outcome.RUNTIME_ERROR, "No module named 'nothing_such'"),
    "import envs.sandbox": (Outcome.RUNTIME_ERROR, "No module named 'envs'"),
    "import numpy": (Outcome.RUNTIME_ERROR, "No module named 'numpy'"),
    "'x' * 10**10": (Outcome.MEMORY, "MemoryError"),
    "print('x' * 5000)": (Outcome.OUTPUT_LIMIT, "[more than 4 KiB on stdout or stderr]"),
    "input()": (Outcome.RUNTIME_ERROR, "EOFError"),
    "(" * 3000: (Outcome.RUNTIME_ERROR, "SyntaxError"),
    "def f(): return f()\nf()": (Outcome.RUNTIME_ERROR, "RecursionError"),
}


@pytest.mark.parametrize("program", ENDS, ids=lambda program: ascii(program[:40]))
def test_ends(program: str, sandbox: Sandbox) -> None:
    result = sandbox.run(Run(program))
    outcome, said = ENDS[program]
    assert (result.outcome, said in result.stderr) == (outcome, True), result
    assert "envs/sandbox" not in result.stderr


def test_a_traceback_shows_the_program_alone(sandbox: Sandbox) -> None:
    result = sandbox.run(Run("def f():\n    return [][1]\nf()"))
    assert result.stderr.splitlines() == [
        "Traceback (most recent call last):",
        '  File "program.py", line 3, in <module>',
        "    f()",
        '  File "program.py", line 2, in f',
        "    return [][1]",
        "           ~~^^^",
        "IndexError: list index out of range",
    ]


def test_output_up_to_the_limit_is_kept_whole(sandbox: Sandbox) -> None:
    assert sandbox.run(Run("print('x' * 4095)")).outcome is Outcome.OK
    more = sandbox.run(Run("print('x' * 4096)"))
    assert (more.outcome, len(more.stdout)) == (Outcome.OUTPUT_LIMIT, 4096)


def test_judging_compares_tokens_outside() -> None:
    fine = Result(Outcome.OK, "1 2\n", "", 0, 0)
    assert judged(fine, "1\n2") is Outcome.OK
    assert judged(fine, "1 3") is Outcome.WRONG_ANSWER
    assert judged(fine, "1  2", lambda a, b: a == b) is Outcome.WRONG_ANSWER
    assert judged(Result(Outcome.TIMEOUT, "1 2\n", "", 0, 0), "1 2") is Outcome.TIMEOUT
    assert not same_tokens("12", "1 2")


def test_one_program_gives_one_output(sandbox: Sandbox) -> None:
    program = "import random; print(random.random(), hash('x'), list({'a', 'b', 'c'}))"
    assert len({result.stdout for result in sandbox.run_many([Run(program)] * 6)}) == 1


def test_nothing_is_left_for_the_next_run(sandbox: Sandbox) -> None:
    mark = """
import builtins, json, os, random, sys
open("left", "w").write("x")
json.dumps = builtins.left = sys.left = lambda *_: "left"
os.environ["LEFT"] = "1"
random.seed(7)
sys.modules["left"] = sys
"""
    look = """
import builtins, json, os, random, sys
print(os.listdir("."), json.dumps(1), hasattr(builtins, "left"),
      hasattr(sys, "left"), "LEFT" in os.environ, "left" in sys.modules, random.random())
"""
    before = sandbox.run(Run(look)).stdout
    assert before.startswith("[] 1 False False False False")
    assert sandbox.run(Run(mark)).outcome is Outcome.OK
    assert sandbox.run(Run(look)).stdout == before


def test_runs_side_by_side_do_not_see_each_other(sandbox: Sandbox) -> None:
    if "filesystem" in MISSING:
        pytest.skip("this machine does not guarantee filesystem")
    look = """
import os, time
open("mine", "w").close()
time.sleep(0.1)
for number in range(4):
    try: print(os.listdir(f"../../{number}"))
    except PermissionError: print("denied")
    except FileNotFoundError: print("none")
"""
    for result in sandbox.run_many([Run(look)] * 3, workers=3):
        assert result.stdout.split("\n").count("denied") >= 2, result


def test_many_keep_their_order_and_overlap(sandbox: Sandbox) -> None:
    runs = [Run(f"import time; time.sleep(0.2); print({number})") for number in range(8)]
    started = time.monotonic()
    results = sandbox.run_many(runs, workers=8)
    assert [int(result.stdout) for result in results] == list(range(8))
    assert time.monotonic() - started < 8 * 0.2
    assert sandbox.run_many([]) == []


def test_packages_that_are_named_can_be_imported() -> None:
    sandbox = Sandbox(options(packages=["numpy"], cpu_s=2))
    program = "import numpy as n; print(int(n.ones(3) @ n.ones(3)), n.random.rand())"
    try:
        results = sandbox.run_many([Run(program), Run(program), Run("import pandas")])
    finally:
        sandbox.close()
    assert results[0].stdout == results[1].stdout
    assert results[0].stdout.startswith("3 ")
    assert "No module named 'pandas'" in results[2].stderr


def test_a_dead_server_is_nobodys_wrong_answer() -> None:
    sandbox = Sandbox(options())
    try:
        sandbox.run(Run("pass"))
        assert sandbox._started
        server = psutil.Process(sandbox._started[0].process.pid)
        server.kill()
        server.wait()
        lost = sandbox.run(Run("print(1)"))
        assert lost.outcome is Outcome.SANDBOX_ERROR
        assert judged(lost, "1") is Outcome.SANDBOX_ERROR
        while (result := sandbox.run(Run("print(1)"))).outcome is Outcome.SANDBOX_ERROR:
            pass
        assert result.stdout == "1\n"
    finally:
        sandbox.close()


def test_no_descriptors_left_is_nobodys_wrong_answer(sandbox: Sandbox) -> None:
    sandbox.run(Run("pass"))
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest, usual[1]))
    try:
        hoard = fill_descriptors()
        result = sandbox.run(Run("print(1)"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
        for descriptor in hoard:
            os.close(descriptor)
    assert (result.outcome, result.stderr) == (
        Outcome.SANDBOX_ERROR, "[sandbox: [Errno 24] Too many open files]",
    )  # fmt: skip
    assert sandbox.run(Run("print(1)")).outcome is Outcome.OK


def fill_descriptors() -> list[int]:
    """All that are free."""
    hoard = []
    while True:
        try:
            hoard.append(os.dup(0))
        except OSError:
            return hoard


def test_a_lane_that_cannot_begin_says_why_and_goes_on() -> None:
    """No lane is lost, so nobody waits, however often it happens."""
    sandbox = Sandbox(options())
    try:
        sandbox.run(Run("pass"))
        assert sandbox._started
        folder = Path(sandbox._started[0].folder)
        folder.rename(f"{folder}-away")
        started = time.monotonic()
        lost = sandbox.run_many([Run("print(1)")] * 50, workers=1)
        assert time.monotonic() - started < GRACE_S
        assert {result.outcome for result in lost} == {Outcome.SANDBOX_ERROR}
        assert "No such file or directory" in lost[-1].stderr
        Path(f"{folder}-away").rename(folder)
        assert sandbox.run(Run("print(1)")).outcome is Outcome.OK
    finally:
        sandbox.close()


def test_what_dying_lanes_say_never_fills_the_servers_pipe() -> None:
    """Each complains at length that nobody takes its reply; the end of it is kept."""
    server = Server(options())
    fcntl.fcntl(server._output, F_SETPIPE_SZ, 4096)
    try:
        for _ in range(12):
            lane = server.take()
            with open(os.devnull, "r+b", 0) as null:
                socket.send_fds(lane, [b"\0"], [null.fileno()] * NUM_DESCRIPTORS)
            lane.close()
            time.sleep(0.02)
        family = psutil.Process(server.process.pid).children()
        wait_until(lambda: all(gone(lane) for lane in family))
    finally:
        said = server.close()
    assert "BrokenPipeError" in said
    assert len(said) <= MOST_SAID


def gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


OWNER = """
import sys
from envs.sandbox import Run, SandboxOptions, open_sandbox
sandbox = open_sandbox(SandboxOptions(wall_s=60, accept_missing=sys.argv[1:]))
print(sandbox._start()[0].process.pid, sandbox._start()[0].folder, flush=True)
sandbox.run(Run("import time; time.sleep(60)"))
"""


def test_nothing_outlives_the_process_that_owns_it() -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, *MISSING], stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout
    pid, folder = owner.stdout.readline().split()
    server = psutil.Process(int(pid))
    deadline = time.monotonic() + 10
    while len(family := server.children(recursive=True)) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    _, alive = psutil.wait_procs([server, *family], timeout=10)
    assert (len(family), alive, Path(folder).exists()) == (2, [], False)


def test_a_forked_copy_starts_its_own_server() -> None:
    sandbox = open_sandbox(options())
    assert sandbox.run(Run("print(1)")).stdout == "1\n"
    child = os.fork()
    if child == 0:
        fine = sandbox.run(Run("print(2)")).stdout == "2\n"
        sandbox.close()
        os._exit(0 if fine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sandbox.run(Run("print(3)")).stdout == "3\n"
    sandbox.close()


def test_equal_options_share_a_sandbox_and_nothing_starts_early() -> None:
    first = open_sandbox(options(cpu_s=7))
    assert open_sandbox(options(cpu_s=7)) is first
    assert open_sandbox(options(cpu_s=8)) is not first
    assert first._started is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"cpu_s": 0}, "sandbox option cpu_s: Input should be greater than or equal to 0.1, got 0"),
        ({"cpu_s": float("nan")}, "sandbox option cpu_s: Input should be a finite number"),
        ({"memory_mib": 8}, "memory_mib: Input should be greater than or equal to 64, got 8"),
        ({"accept_missing": ["walls"]}, "'walls' is no guarantee; expected some of ['cpu', "),
        ({"cpu": 1}, "unknown, got 1; the options are ['accept_missing', 'cpu_s'"),
    ],
)
def test_bad_options(values: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_options(SandboxOptions, "sandbox", values)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["nothing_such", "../os", ""])
def test_bad_packages(name: str) -> None:
    with pytest.raises(ValueError, match="is not installed; expected the import name"):
        Sandbox(options(packages=[name])).run(Run("pass"))


def test_too_little_memory_for_the_probe() -> None:
    with pytest.raises(SandboxUnavailable, match="the sandbox's probe ended with memory"):
        Sandbox(options(packages=["numpy"], memory_mib=64)).run(Run("pass"))
