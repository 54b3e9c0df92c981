"""Run a command on a kernel or in a container that denies a layer, for real.

`landlock`, `seccomp`, `pidfd`: these system calls do not exist. `pod`: no capabilities, no new
privileges, and the calls that a container engine's default profile denies. Nothing is mocked: a
seccomp filter answers, and is inherited by the command.
"""

import errno
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from envs.sandbox.inside import kernel, numbers, seccomp

ROOT = Path(__file__).parents[3]
ABSENT = {
    "landlock": ((444, 444), (445, 445), (446, 446)),
    "seccomp": ((317, 277),),
    "pidfd": ((434, 434),),
}
"""Numbers on x86_64 and aarch64."""
DENIED_IN_PODS = {
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "pidfd_getfd": (438, 438), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "kexec_load": (246, 104),
    "reboot": (169, 142), "swapon": (167, 224),
}  # fmt: skip
PR_CAPBSET_DROP = 24


def pretend(world: str, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run `python COMMAND`. `world`: some of `landlock`, `seccomp`, `pidfd`, `pod`, by commas."""
    return subprocess.run(
        [sys.executable, *command], input=stdin, capture_output=True, text=True, cwd=ROOT,
        timeout=120, preexec_fn=lambda: deny(world.split(",")),
    )  # fmt: skip


def deny(wanted: Sequence[str]) -> None:
    """Restrict this process and all it becomes."""
    column = numbers.COLUMN[os.uname().machine]
    code: seccomp.Code = [(seccomp.LOAD, 0, 0, 0)]
    for layer in set(wanted) & set(ABSENT):
        code += answer([row[column] for row in ABSENT[layer]], errno.ENOSYS)
    if "pod" in wanted:
        code += answer([row[column] for row in DENIED_IN_PODS.values()], errno.EPERM)
        code += answer([numbers.CLONE3], errno.ENOSYS)
        threads_only = seccomp._masked(0, seccomp.CLONE_NEW, 0, otherwise=seccomp.DENY)
        code += seccomp._when(numbers.CHECKED["clone"][column], [*threads_only, *seccomp.PERMIT])
        for capability in range(41):
            with suppress(OSError):  # there is none to drop
                kernel.prctl(PR_CAPBSET_DROP, capability)
        kernel.drop_capabilities()
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.install(seccomp.pack([*code, *seccomp.PERMIT]))


def answer(calls: Iterable[int], number: int) -> seccomp.Code:
    """This error for these calls."""
    body = [(seccomp.RETURN, 0, 0, seccomp.ERRNO | number)]
    return [instruction for call in calls for instruction in seccomp._when(call, body)]
