"""The cheats: programs that attack the host, the grader or the next run. Data only.

`T` is a dictionary of targets (`host.py`). An attack says ESCAPED only where its success leaves no
other trace on the host. `control`: it is harmless, and must succeed in a plain interpreter.
"""

from typing import NamedTuple

from envs.sandbox import Outcome

ANSWER = "42"
"""What an honest program would print."""

CALL = """
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
def call(x86, arm, *arguments):
    return libc.syscall(ctypes.c_long(x86 if X86 else arm), *map(ctypes.c_long, arguments))
"""


class Cheat(NamedTuple):
    """One attack."""

    name: str
    guarantee: str | None
    """Which one stops it (skipped where it is missing); None: the launcher itself does."""
    program: str
    control: bool = True
    outcome: Outcome | None = None
    """How it must end, where that is the point."""
    stdin: str = ""


FILES = [
    Cheat("read a secret file", "filesystem", "print(open(T['secret']).read())"),
    Cheat("read a secret by a descriptor of the root", "filesystem", """
import os
root = os.open("/", os.O_RDONLY)
print(os.read(os.open(T["secret"][1:], os.O_RDONLY, dir_fd=root), 100).decode())
"""),
    Cheat("read another process's environment", "filesystem",
          "print(open(f\"/proc/{T['victim']}/environ\").read())"),
    Cheat("read another process's open files", "filesystem",
          "print(open(f\"/proc/{T['victim']}/fd/0\").read())"),
    Cheat("read the environment of the process itself", "filesystem",
          "print('ESCAPED', len(open('/proc/self/environ').read()))"),
    Cheat("map the memory of the process itself", "filesystem",
          "print('ESCAPED', len(open('/proc/self/maps').read()))"),
    Cheat("read the host's users", "filesystem",
          "print('ESCAPED', len(open('/etc/passwd').read()))"),
    Cheat("list a host folder", "filesystem", """
import os
print("ESCAPED", os.listdir(T["folder"]))
"""),
    Cheat("read installed packages, which hold answers", "filesystem",
          "print('ESCAPED', len(open(T['package']).read()))"),
    Cheat("read the project", "filesystem", "print('ESCAPED', len(open(T['project']).read()))"),
    Cheat("write outside", "filesystem", "open(T['folder'] + '/new', 'w').write('x')"),
    Cheat("write the grader's file", "filesystem", "open(T['grade'], 'w').write('right')"),
    Cheat("append to the grader's file", "filesystem", "open(T['grade'], 'a').write('right')"),
    Cheat("truncate while opening for reading", "filesystem", """
import os
os.open(T["grade"], os.O_RDONLY | os.O_TRUNC)
"""),
    Cheat("truncate by path", "filesystem", "import os; os.truncate(T['grade'], 0)"),
    Cheat("remove the grader's file", "filesystem", "import os; os.unlink(T['grade'])"),
    Cheat("replace the grader's file", "filesystem", """
import os
open("mine", "w").write("right")
os.replace("mine", T["grade"])
"""),
    Cheat("open the grader's file to all", "filesystem", "import os; os.chmod(T['grade'], 0o777)"),
    Cheat("change the time of the grader's file", "filesystem",
          "import os; os.utime(T['grade'], (9, 9))"),
    Cheat("a symbolic link out of the folder", "filesystem", """
import os
os.symlink(T["secret"], "link")
print(open("link").read())
"""),
    Cheat("a hard link out of the folder", "filesystem", """
import os
os.link(T["secret"], T["folder"] + "/new")
"""),
    Cheat("a folder outside", "filesystem", "import os; os.mkdir(T['folder'] + '/new')"),
    Cheat("a named pipe outside", "filesystem", "import os; os.mkfifo(T['folder'] + '/new')"),
]  # fmt: skip

NETWORK = [
    Cheat(
        "TCP",
        "network",
        """
import socket
socket.create_connection(("127.0.0.1", T["tcp"]), 1)
""",
    ),
    Cheat(
        "UDP",
        "network",
        """
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", T["udp"]))
""",
    ),
    Cheat(
        "a unix socket",
        "network",
        """
import socket
socket.socket(socket.AF_UNIX).connect(T["unix"])
""",
    ),
    Cheat(
        "an abstract unix socket",
        "network",
        """
import socket
socket.socket(socket.AF_UNIX).connect("\\0" + T["abstract"])
""",
    ),
    Cheat(
        "a datagram through one end of a pair",
        "network",
        """
import socket
socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", T["datagram"])
""",
    ),
    Cheat(
        "a DNS query",
        "network",
        """
import random, socket
query = random.randbytes(2) + b"\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\7example\\3com\\0\\0\\1\\0\\1"
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(query, ("127.0.0.1", T["udp"]))
""",
    ),
    Cheat(
        "a netlink socket",
        "network",
        """
import socket
print("ESCAPED", socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
""",
    ),
    Cheat(
        "listen for others",
        "network",
        """
import socket
print("ESCAPED", socket.create_server(("127.0.0.1", 0)))
""",
    ),
]

PROCESSES = [
    Cheat(
        "a fork bomb",
        "processes",
        """
import os
children = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        os._exit(0)
    children.append(child)
print("ESCAPED", len(children))
""",
    ),
    Cheat(
        "a shell",
        "processes",
        """
import subprocess
print(subprocess.run(["/bin/sh", "-c", "echo ESCAPED"], capture_output=True, text=True).stdout)
""",
    ),
    Cheat(
        "become a shell",
        "processes",
        """
import os
os.execv("/bin/sh", ["sh", "-c", "echo ESCAPED"])
""",
    ),
    Cheat(
        "become a program that lies in memory",
        "processes",
        """
import os
place = os.memfd_create("x", 0)
os.write(place, open("/bin/true", "rb").read())
os.set_inheritable(place, True)
child = os.posix_spawn(f"/proc/self/fd/{place}", ["x"], {})
print("ESCAPED", os.waitpid(child, 0))
""",
    ),
    Cheat(
        "a daemon that outlives its run",
        "processes",
        """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for _ in range(40):
            open(T["folder"] + "/new", "w").close()
            time.sleep(0.005)
    os._exit(0)
time.sleep(0.05)
""",
    ),
    Cheat(
        "raw clone",
        "processes",
        CALL
        + """
child = call(56, 220, 17, 0, 0, 0, 0)
if child == 0:
    os._exit(0)
if child > 0:
    os.waitpid(child, 0)
    print("ESCAPED")
""",
    ),
    Cheat(
        "raw vfork",
        "processes",
        CALL
        + """
assert X86
child = libc.syscall(ctypes.c_long(57))
if child == 0:
    os._exit(0)
if child > 0:
    print("ESCAPED")
""",
    ),
    Cheat(
        "a thread bomb",
        None,
        """
import threading, time
threading.stack_size(32768)
for _ in range(300):
    threading.Thread(target=time.sleep, args=(0.3,), daemon=True).start()
time.sleep(0.2)
print("ESCAPED")
""",
    ),
]

SIGNALS = [
    Cheat("kill a process of the same user", "signals", "import os; os.kill(T['victim'], 9)"),
    Cheat("stop a process of the same user", "signals", "import os; os.kill(T['victim'], 19)"),
    Cheat(
        "kill the fork server",
        "signals",
        """
import os
os.kill(os.getppid(), 9)
""",
        control=False,
        outcome=Outcome.RUNTIME_ERROR,
    ),
    Cheat("signal everybody", "signals", "import os; print('ESCAPED', os.kill(-1, 0))"),
    Cheat("signal the group", "signals", "import os; print('ESCAPED', os.killpg(0, 0))"),
    Cheat(
        "queue a signal",
        "signals",
        CALL
        + """
information = ctypes.create_string_buffer(128)
ctypes.c_int.from_buffer(information, 8).value = -1
call(129, 138, T["victim"], 15, ctypes.addressof(information))
""",
    ),
    Cheat(
        "signal a thread of another process",
        "signals",
        CALL
        + """
call(234, 131, T["victim"], T["victim"], 15)
""",
    ),
    Cheat(
        "signal by a process descriptor",
        "signals",
        CALL
        + """
call(424, 424, call(434, 434, T["victim"], 0), 15, 0, 0)
""",
    ),
    Cheat(
        "have the kernel signal the owner of a pipe",
        "signals",
        """
import fcntl, os, time
source, sink = os.pipe()
fcntl.fcntl(source, fcntl.F_SETOWN, T["victim"])
fcntl.fcntl(source, 10, 15)
fcntl.fcntl(source, fcntl.F_SETFL, os.O_ASYNC)
os.write(sink, b"x")
""",
    ),
    Cheat(
        "lower another process's limits",
        "signals",
        """
import resource
resource.prlimit(T["victim"], resource.RLIMIT_CORE, (0, 1))
""",
    ),
    Cheat(
        "slow another process down",
        "signals",
        """
import os
os.setpriority(os.PRIO_PROCESS, T["victim"], 19)
""",
    ),
]

KERNEL = [
    Cheat(
        "trace another process",
        "kernel",
        CALL
        + """
if call(101, 117, 16, T["victim"], 0, 0) == 0:
    print("ESCAPED")
""",
    ),
    Cheat(
        "read another process's memory",
        "kernel",
        CALL
        + """
call(310, 270, T["victim"], 0, 0, 0, 0, 0) == 0 and print("ESCAPED")
""",
    ),
    Cheat(
        "a user namespace",
        "kernel",
        CALL
        + """
call(272, 97, 0x10000000) == 0 and print("ESCAPED")
""",
    ),
    Cheat(
        "a thread in a namespace of its own",
        "kernel",
        CALL
        + """
call(272, 97, 0x04000000) == 0 and print("ESCAPED")
""",
    ),
    Cheat(
        "mount",
        "kernel",
        CALL
        + """
libc.mount(b"none", b"/nonexistent", b"tmpfs", 0, None)
ctypes.get_errno() == 2 and print("ESCAPED")
""",
        control=False,
    ),
    Cheat(
        "io_uring",
        "kernel",
        CALL
        + """
ring = ctypes.create_string_buffer(120)
call(425, 425, 1, ctypes.addressof(ring)) >= 0 and print("ESCAPED")
""",
    ),
    Cheat(
        "user fault handling",
        "kernel",
        CALL
        + """
call(323, 282, 1) >= 0 and print("ESCAPED")
""",
    ),
    Cheat(
        "the kernel's key ring",
        "kernel",
        CALL
        + """
call(250, 219, 0, -3, 0) >= 0 and print("ESCAPED")
""",
    ),
    Cheat(
        "watch the processor's counters",
        "kernel",
        CALL
        + """
kind = ctypes.create_string_buffer(128)
ctypes.c_int.from_buffer(kind).value = 1
ctypes.c_int.from_buffer(kind, 4).value = 128
call(298, 241, ctypes.addressof(kind), 0, -1, -1, 0) >= 0 and print("ESCAPED")
""",
    ),
    Cheat(
        "load a BPF program",
        "kernel",
        CALL
        + """
call(321, 280, 0, 0, 0)
ctypes.get_errno() in (14, 22, 7) and print("ESCAPED")
""",
    ),
    Cheat(
        "another filter on top, to see what the first allows",
        "kernel",
        CALL
        + """
call(157, 167, 38, 1, 0, 0, 0) == 0 and print("ESCAPED")
""",
    ),
    Cheat(
        "capabilities back",
        "kernel",
        CALL
        + """
call(126, 91, 0, 0)
ctypes.get_errno() == 14 and print("ESCAPED")
""",
    ),
    Cheat(
        "a 32-bit system call",
        "kernel",
        CALL
        + """
import mmap
assert X86
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
ctypes.CFUNCTYPE(ctypes.c_int)(address)() > 0 and print("ESCAPED", flush=True)
""",
    ),
    Cheat(
        "an x32 system call",
        "kernel",
        CALL
        + """
assert X86
print(call(0x40000000 + 39, 0), flush=True)
""",
        control=False,
        outcome=Outcome.RUNTIME_ERROR,
    ),
]
