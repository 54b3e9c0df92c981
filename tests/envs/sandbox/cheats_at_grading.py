"""The cheats: programs that use up the machine, or want a reward without an answer. Data only.

In their controls a naive grader sits outside: exit status 0 and the right output pass.
"""

from envs.sandbox import Outcome
from tests.envs.sandbox.cheats import CALL, Cheat

LIMITS = [
    Cheat("a memory bomb", "memory", """
hoard = []
while True:
    hoard.append(bytearray(10**7))
""", control=False, outcome=Outcome.MEMORY),
    Cheat("one huge list", "memory", "print('ESCAPED', len([0] * (2 * 10**8)))", control=False,
          outcome=Outcome.MEMORY),
    Cheat("one huge mapping", "memory", """
import mmap
print("ESCAPED", len(mmap.mmap(-1, 10**9)))
"""),
    Cheat("a higher memory limit", "memory", """
import resource
resource.setrlimit(resource.RLIMIT_AS, (2**40, 2**40))
print("ESCAPED")
"""),
    Cheat("memory in files that have no name", "processes", """
import os
os.write(os.memfd_create("hoard", 0), b"x")
print("ESCAPED")
"""),
    Cheat("locked memory", "kernel", CALL + """
page = ctypes.create_string_buffer(4096)
call(149, 228, ctypes.addressof(page), 4096) == 0 and print("ESCAPED")
"""),
    Cheat("an endless loop", "cpu", "while True: pass", control=False, outcome=Outcome.TIMEOUT),
    Cheat("an endless loop that refuses to be told", "cpu", """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
for number in (signal.SIGXCPU, signal.SIGTERM, signal.SIGALRM):
    signal.signal(number, signal.SIG_IGN)
while True: pass
""", control=False, outcome=Outcome.TIMEOUT),
    Cheat("endless loops in threads", "cpu", """
import threading
def burn():
    while True: sum(range(1000))
for _ in range(4): threading.Thread(target=burn).start()
""", control=False, outcome=Outcome.TIMEOUT),
    Cheat("an endless loop in C", "cpu", "import re; re.match('(a*)*b', 'a' * 40)", control=False,
          outcome=Outcome.TIMEOUT),
    Cheat("a higher CPU limit", "cpu", """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (10**6, 10**6))
print("ESCAPED")
"""),
    Cheat("sleep for ever", None, "print(42, flush=True); import time; time.sleep(10**6)",
          control=False, outcome=Outcome.TIMEOUT),
    Cheat("a thread that never ends", None, """
import threading, time
print(42, flush=True)
threading.Thread(target=time.sleep, args=(10**6,)).start()
""", control=False, outcome=Outcome.TIMEOUT),
    Cheat("endless output", None, "while True: print('x' * 1000)", control=False,
          outcome=Outcome.OUTPUT_LIMIT),
    Cheat("endless complaints", None, """
import sys
while True: sys.stderr.write("x" * 1000)
""", control=False, outcome=Outcome.OUTPUT_LIMIT),
    Cheat("flood every descriptor", None, """
import os
while True:
    for descriptor in range(3, 64):
        try: os.write(descriptor, b"x" * 1000)
        except OSError: pass
""", control=False, outcome=Outcome.TIMEOUT),
    Cheat("one huge file", None, """
with open("hoard", "wb") as file:
    for _ in range(20): file.write(bytes(10**6))
print("ESCAPED")
""", control=False, outcome=Outcome.RUNTIME_ERROR),
    Cheat("many files", None, """
import time
for number in range(400): open(str(number), "w").close()
time.sleep(0.5)
print("ESCAPED")
""", control=False, outcome=Outcome.OUTPUT_LIMIT),
    Cheat("many large files", None, """
import time
for number in range(6): open(str(number), "wb").write(bytes(8 * 10**6))
time.sleep(0.5)
print("ESCAPED")
""", control=False, outcome=Outcome.OUTPUT_LIMIT),
    Cheat("files without names", None, """
import os, time
kept = []
for _ in range(12):
    kept.append(open("hoard", "wb"))
    kept[-1].write(bytes(4 * 10**6))
    os.unlink("hoard")
time.sleep(0.5)
print("ESCAPED")
""", control=False, outcome=Outcome.OUTPUT_LIMIT),
    Cheat("files that only a mapping keeps", None, """
import mmap, os, time
kept = []
for _ in range(12):
    with open("hoard", "w+b") as file:
        file.write(bytes(4 * 10**6))
        file.flush()
        os.unlink("hoard")
        kept.append(mmap.mmap(file.fileno(), 4096))
time.sleep(0.5)
print("ESCAPED")
""", control=False, outcome=Outcome.OUTPUT_LIMIT),
    Cheat("files that never had a name", "processes", """
import os
os.open(".", os.O_TMPFILE | os.O_RDWR)
print("ESCAPED")
"""),
    Cheat("a table of descriptors that nobody counts", "processes", CALL + """
call(436, 436, 900, 900, 2) == 0 and print("ESCAPED")
"""),
    Cheat("deep recursion into a crash", None, """
import sys
sys.setrecursionlimit(10**9)
print(42, flush=True)
left, right = [], []
for _ in range(4 * 10**5): left, right = [left], [right]
left == right
""", control=False, outcome=Outcome.RUNTIME_ERROR),
    Cheat("more input than memory", None, "import sys; print(len(sys.stdin.read()))",
          control=False, outcome=Outcome.MEMORY, stdin="x" * (15 * 10**7)),
    Cheat("input that nobody reads", None, "print('not read')", control=False,
          outcome=Outcome.OK, stdin="x" * (3 * 10**7)),
]  # fmt: skip

ENDS = [
    Cheat("sys.exit after printing", None, "import sys; print(42); sys.exit(0)",
          outcome=Outcome.RUNTIME_ERROR),
    Cheat("os._exit after printing", None, "import os; print(42, flush=True); os._exit(0)",
          outcome=Outcome.RUNTIME_ERROR),
    Cheat("SystemExit by hand", None, "print(42)\nraise SystemExit",
          outcome=Outcome.RUNTIME_ERROR),
    Cheat("os._exit when the interpreter ends", None, """
import atexit, os
atexit.register(os._exit, 0)
print(42, flush=True)
""", outcome=Outcome.RUNTIME_ERROR),
    Cheat("os._exit in a thread", None, """
import os, threading
print(42, flush=True)
threading.Thread(target=os._exit, args=(0,)).start()
while True: pass
""", outcome=Outcome.RUNTIME_ERROR),
    Cheat("the exit of the C library", None, CALL + """
print(42, flush=True)
libc.exit(0)
""", outcome=Outcome.RUNTIME_ERROR),
    Cheat("an alarm that ends it", None, """
import os, signal
signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
signal.setitimer(signal.ITIMER_REAL, 0.01)
print(42, flush=True)
while True: pass
""", outcome=Outcome.RUNTIME_ERROR),
    Cheat("a trace function that leaves the runner's frame", None, """
import os, sys
def trace(*_): os._exit(0)
sys._getframe(1).f_trace = trace
sys.settrace(trace)
print(42, flush=True)
""", control=False, outcome=Outcome.RUNTIME_ERROR),
    Cheat("an exception after printing", None, "print(42)\n1 / 0", control=False,
          outcome=Outcome.RUNTIME_ERROR),
    Cheat("an answer that equals everything", None, """
class Always(str):
    def __eq__(self, other): return True
    def __hash__(self): return 0
    def split(self): return self
    def __len__(self): return 1
print(Always("41"))
""", control=False, outcome=Outcome.OK),
    Cheat("other built-in functions", None, """
import builtins, sys, os
builtins.print = builtins.exec = builtins.compile = lambda *_, **__: None
builtins.AssertionError = builtins.BaseException = Exception
os.write = os.read = lambda *_: b"42"
sys.modules.clear()
""", control=False),
    Cheat("a forged failure of the sandbox", None, """
import os
for descriptor in range(3, 64):
    for said in (b"fault no Landlock", b"ready"):
        try: os.write(descriptor, said)
        except OSError: pass
os._exit(70)
""", control=False, outcome=Outcome.RUNTIME_ERROR),
    Cheat("a torn down runner", None, """
import os
for descriptor in range(0, 64):
    try: os.close(descriptor)
    except OSError: pass
""", control=False, outcome=Outcome.RUNTIME_ERROR),
    Cheat("a forged token out of the interpreter's objects", None, """
import gc, os, sys
def candidates():
    frame = sys._getframe()
    while frame:
        yield from frame.f_locals.values()
        yield from frame.f_globals.values()
        frame = frame.f_back
    for thing in gc.get_objects():
        yield from gc.get_referents(thing)
tokens = {bytes(found) for found in candidates()
          if isinstance(found, (bytes, bytearray)) and len(found) == 32}
print(42, flush=True)
for descriptor in range(3, 64):
    for token in tokens:
        try: os.write(descriptor, token)
        except OSError: pass
os._exit(0)
""", control=False, outcome=Outcome.RUNTIME_ERROR),
    Cheat("a forged end with a wrong answer", None, """
import os
print(41, flush=True)
for descriptor in range(3, 64):
    try: os.set_blocking(descriptor, False); os.write(descriptor, os.read(descriptor, 32))
    except OSError: pass
os._exit(0)
""", control=False, outcome=Outcome.OK),
]  # fmt: skip
"""The last one says what a forged end is worth: as much as a real one at the same place."""

STATE = [
    Cheat(
        "look into the process above",
        "filesystem",
        """
import os
for name in ("environ", "maps", "mem", "fd/0", "stat", "cmdline"):
    try: print("ESCAPED", name, open(f"/proc/{os.getppid()}/{name}", "rb"))
    except OSError: pass
try: print("ESCAPED", os.listdir(f"/proc/{os.getppid()}/fd"))
except OSError: pass
""",
    ),
    Cheat(
        "inherited descriptors",
        None,
        """
import os
found = []
for descriptor in range(3, 1024):
    try: found.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    except FileNotFoundError: pass
    except OSError:
        try: found.append(os.fstat(descriptor))
        except OSError: pass
len(found) > 1 and print("ESCAPED", found)
""",
        control=False,
    ),
    Cheat(
        "secrets in the environment",
        None,
        """
import os
print(dict(os.environ))
""",
    ),
]
