"""The cheats: one run leaves a word, the next or a parallel one looks for it. Data only.

`W` is the word, a number that the looking program does not know. A program
that looks says ESCAPED where it sees that there was something, if not what. `control`: it is
harmless, and must succeed between two plain interpreters that work in one folder.
"""

from typing import NamedTuple

from tests.envs.sandbox.cheats import CALL


class Handover(NamedTuple):
    """One way from run to run."""

    name: str
    guarantee: str | None
    """Which one closes it (skipped where it is missing); None: the launcher itself does."""
    leave: str
    look: str
    control: bool = True
    together: bool = False
    """Both run at the same time."""


QUEUE = (
    CALL
    + """
name = ctypes.create_string_buffer(b"rolewise-cheat")
message, queue = ctypes.create_string_buffer(9000), 0
queue = call(240, 180, ctypes.addressof(name), 0o102, 0o600, 0)
"""
)
LOCKED = """
import fcntl, os, time
for _ in range(60):
    try:
        {lock}
    except BlockingIOError:
        print("ESCAPED")
        break
    {unlock}
    time.sleep(0.005)
"""
SHARED_PAGE = (
    CALL
    + """
import time
libc.mmap.restype = ctypes.c_void_p
place = os.open(os.__file__, os.O_RDONLY)
page = libc.mmap(None, ctypes.c_size_t(4096), 1, 1, place, ctypes.c_long(0))
"""
)

BY_FILES = [
    Handover("a file in the folder", None, "open('left', 'w').write(W)",
             "print(open('left').read())"),
    Handover("a file above the folder", "filesystem",
             "open('../left', 'w').write(W)", "print(open('../left').read())"),
    Handover("a file far above the folder", "filesystem",
             "open('../../left', 'w').write(W)", "print(open('../../left').read())"),
    Handover("the name of a file above the folder", "filesystem", "open('../' + W, 'w').close()",
             "import os; print(os.listdir('..'))"),
    Handover("the name of the next run's folder", "filesystem", """
import os
for number in range(99): open(f"../{number}", "a").close()
""", "print('none')", control=False),
    Handover("the folder under another name", "filesystem", """
import os
open("left", "w").write(W)
os.rename(os.getcwd(), os.path.dirname(os.getcwd()) + "/left")
""", "print(open('../left/left').read())", control=False),
    Handover("a flood of the folder above", "filesystem", """
for number in range(411):
    with open(f"../many{number}", "wb") as file: file.write(bytes(1000))
""", "import os; len(os.listdir('..')) > 400 and print('ESCAPED')"),
    Handover("a folder in the folder", "filesystem", "import os; os.mkdir('left' + W)",
             "import os; print(os.listdir('.'))"),
    Handover("a hard link above the folder", "filesystem", """
import os
open("mine", "w").write(W)
os.link("mine", "../link")
""", "print(open('../link').read())"),
    Handover("a named pipe in the folder", "filesystem", "import os; os.mkfifo('pipe' + W)",
             "import os; print(os.listdir('.'))"),
    Handover("the time of the folder", None, "import os; os.utime('.', (int(W), int(W)))",
             "import os; print(os.stat('.').st_mtime)"),
    Handover("the mode of the folder", None, "import os; os.chmod('.', 0o711)",
             "import os; os.stat('.').st_mode & 0o777 == 0o711 and print('ESCAPED')"),
    Handover("an attribute of the folder", None,
             "import os; os.setxattr('.', 'user.left', W.encode())",
             "import os; print(os.getxattr('.', 'user.left'))"),
    Handover("the size of the folder", None, """
for number in range(200): open(f"{number}" + 200 * "x", "w").close()
import os
for name in os.listdir("."): os.unlink(name)
""", "import os; os.stat('.').st_size > 4096 and print('ESCAPED')", control=False),
    Handover("the time of the interpreter's library", "filesystem",
             "import os; os.utime(os.__file__, (int(W), int(W)))",
             "import os; print(os.stat(os.__file__).st_mtime)", control=False),
    Handover("an attribute of the interpreter's library", "filesystem",
             "import os; os.setxattr(os.__file__, 'user.left', W.encode())",
             "import os; print(os.getxattr(os.__file__, 'user.left'))", control=False),
]  # fmt: skip

BY_THE_KERNEL = [
    Handover("shared memory by name", "filesystem",
             "open('/dev/shm/rolewise-cheat', 'w').write(W)", """
import os
print(open("/dev/shm/rolewise-cheat").read())
os.unlink("/dev/shm/rolewise-cheat")
"""),
    Handover("shared memory by number", "kernel", CALL + """
libc.shmat.restype = ctypes.c_void_p
place = libc.shmat(libc.shmget(4711, 4096, 0o1600), None, 0)
ctypes.memmove(place, W.encode(), len(W))
""", CALL + """
libc.shmat.restype = ctypes.c_void_p
number = libc.shmget(4711, 4096, 0)
print(ctypes.string_at(libc.shmat(number, None, 0)))
libc.shmctl(number, 0, None)
"""),
    Handover("a message queue", "kernel", QUEUE + """
message.value = W.encode()
call(242, 182, queue, ctypes.addressof(message), len(W), 0, 0)
""", QUEUE + """
length = call(243, 183, queue, ctypes.addressof(message), 9000, 0, 0)
print(message.raw[:max(0, length)])
call(241, 180 + 1, ctypes.addressof(name))
"""),
    Handover("a lock on a device", "kernel", """
import fcntl, time
kept = open("/dev/zero", "r+b", 0)
fcntl.lockf(kept, fcntl.LOCK_EX)
time.sleep(0.3)
""", LOCKED.format(lock="fcntl.lockf(kept := open('/dev/zero', 'r+b', 0), 6)",
                      unlock="kept.close()"), together=True),
    Handover("a lock on the interpreter's library", "kernel", """
import fcntl, os, time
kept = open(os.__file__)
fcntl.flock(kept, fcntl.LOCK_EX)
time.sleep(0.3)
""", LOCKED.format(lock="fcntl.flock(kept := open(os.__file__), 6)", unlock="kept.close()"),
        together=True),
    Handover("a wait in a page of the interpreter's library", "kernel", SHARED_PAGE + """
timeout = ctypes.create_string_buffer(b"\\0" * 8 + (3 * 10**8).to_bytes(8, "little"), 16)
value = ctypes.c_int.from_address(page).value
call(202, 98, page, 0, value, ctypes.addressof(timeout), 0, 0)
""", SHARED_PAGE + """
for _ in range(60):
    if call(202, 98, page, 1, 1, 0, 0, 0) > 0:
        print("ESCAPED")
        break
    time.sleep(0.005)
""", together=True),
]  # fmt: skip

HANDOVERS = [*BY_FILES, *BY_THE_KERNEL]
