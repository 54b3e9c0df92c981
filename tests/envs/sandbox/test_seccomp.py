"""The filter's verdicts on both architectures, and its numbers against the kernel's own headers."""

import errno
import re
from pathlib import Path

import pytest

from envs.sandbox.inside import numbers, seccomp
from tests.envs.sandbox.bpf import decide

MACHINES = ("x86_64", "aarch64")
EPERM, ENOSYS, EAGAIN = (
    seccomp.ERRNO | number for number in (errno.EPERM, errno.ENOSYS, errno.EAGAIN)
)
FORBIDDEN = {
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "sendmsg": (46, 211), "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40),
    "chroot": (161, 51), "pivot_root": (155, 41), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "keyctl": (250, 219), "add_key": (248, 217), "prctl": (157, 167),
    "seccomp": (317, 277), "memfd_create": (319, 279), "setuid": (105, 146), "capset": (126, 91),
    "chmod": (90, None), "fchmodat": (268, 53), "fchownat": (260, 54), "utimensat": (280, 88),
    "mkdirat": (258, 34), "symlinkat": (266, 36), "linkat": (265, 37), "mknodat": (259, 33),
    "truncate": (76, 45), "openat2": (437, 437), "setxattr": (188, 5), "shmget": (29, 194),
    "mq_open": (240, 180), "inotify_init1": (294, 26), "setpriority": (141, 140),
    "sched_setaffinity": (203, 122), "timer_create": (222, 107), "quotactl": (179, 60),
    "kexec_load": (246, 104), "init_module": (175, 105), "reboot": (169, 142),
    "settimeofday": (164, 170), "syslog": (103, 116), "readlinkat": (267, 78),
    "name_to_handle_at": (303, 264), "vmsplice": (278, 75), "flock": (73, 32), "mlock": (149, 228),
}  # fmt: skip
CHECKED = {
    ("clone", (0x3D0F00,)): seccomp.ALLOW,  # a thread
    ("clone", (17,)): EPERM,  # a process
    ("clone", (0x3D0F00 | 0x10000000,)): EPERM,  # a thread in a user namespace
    ("clone", (0x3D0F00 | 0x80,)): EPERM,  # in a time namespace
    ("clone", (0x3D0F00 & ~0x400,)): EPERM,  # with descriptors of its own
    ("close_range", (3, 9, 0)): seccomp.ALLOW,
    ("close_range", (3, 9, 4)): seccomp.ALLOW,  # close on exec
    ("close_range", (3, 9, 2)): EPERM,  # of a table of one's own
    ("futex", (0, 0x80 | 0)): seccomp.ALLOW,
    ("futex", (0, 0x80 | 1)): seccomp.ALLOW,
    ("futex", (0, 0)): EAGAIN,  # a wait that others could see
    ("futex", (0, 0x109)): EAGAIN,
    ("futex", (0, 1)): EPERM,
    ("futex", (0, 6)): EPERM,  # one that inherits priorities
    ("prlimit64", (0, 7)): seccomp.ALLOW,
    ("prlimit64", (4711, 7)): EPERM,
    ("fcntl", (3, 3)): seccomp.ALLOW,  # F_GETFL
    ("fcntl", (3, 5)): EPERM,  # F_GETLK
    ("fcntl", (3, 6)): EPERM,  # F_SETLK
    ("fcntl", (3, 37)): EPERM,  # F_OFD_SETLK
    ("fcntl", (3, 8)): EPERM,  # F_SETOWN
    ("fcntl", (3, 15)): EPERM,  # F_SETOWN_EX
    ("fcntl", (3, 10)): EPERM,  # F_SETSIG
    ("fcntl", (3, 1031)): EPERM,  # F_SETPIPE_SZ
    ("ioctl", (0, 0x5401)): seccomp.ALLOW,  # is it a terminal
    ("ioctl", (0, 0x5412)): EPERM,  # type into it
    ("ioctl", (0, 0x8901)): EPERM,  # FIOSETOWN
    ("socketpair", (1, 1 | 0o2000000)): seccomp.ALLOW,
    ("socketpair", (1, 2)): EPERM,  # datagrams may name a receiver
    ("socketpair", (1, 5)): EPERM,
    ("socketpair", (2, 1)): EPERM,
    ("openat", (-100, 0, 0)): seccomp.ALLOW,
    ("openat", (-100, 0, 0o1101)): seccomp.ALLOW,  # write, create, truncate
    ("openat", (-100, 0, 0o1000)): EPERM,  # read, truncate
    ("openat", (-100, 0, 0o20200002)): EPERM,  # O_TMPFILE
    ("open", (0, 0o20200002)): EPERM,
    ("open", (0, 0o1000)): EPERM,
    ("open", (0, 0o1002)): seccomp.ALLOW,
}


@pytest.mark.parametrize("machine", MACHINES)
def test_forbidden_calls(machine: str) -> None:
    code, column = seccomp.assemble(machine), MACHINES.index(machine)
    for name, row in FORBIDDEN.items():
        if (number := row[column]) is not None:
            assert decide(code, numbers.AUDIT_ARCH[machine], number) == EPERM, name


@pytest.mark.parametrize("machine", MACHINES)
def test_allowed_and_checked_calls(machine: str) -> None:
    code, column = seccomp.assemble(machine), MACHINES.index(machine)
    architecture = numbers.AUDIT_ARCH[machine]
    for name, row in numbers.ALLOWED.items():
        if (number := row[column]) is not None:
            assert decide(code, architecture, number) == seccomp.ALLOW, name
    for (name, arguments), verdict in CHECKED.items():
        if (number := numbers.CHECKED[name][column]) is not None:
            assert decide(code, architecture, number, arguments) == verdict, (name, arguments)
    assert {name for name, _ in CHECKED} == set(numbers.CHECKED)


@pytest.mark.parametrize("machine", MACHINES)
def test_new_and_foreign_calls(machine: str) -> None:
    code, own = seccomp.assemble(machine), numbers.AUDIT_ARCH[machine]
    assert decide(code, own, numbers.CLONE3) == ENOSYS
    assert {decide(code, own, number) for number in range(numbers.NEWER, 700)} == {ENOSYS}
    assert decide(code, own, 0x40000000 + 1) == seccomp.KILL_PROCESS
    i386, arm, x86_64, aarch64 = 0x40000003, 0x40000028, 0xC000003E, 0xC00000B7
    for architecture in {i386, arm, x86_64, aarch64} - {own}:
        assert decide(code, architecture, 0) == seccomp.KILL_PROCESS


def test_only_listed_calls_are_allowed() -> None:
    for machine in MACHINES:
        code, column = seccomp.assemble(machine), MACHINES.index(machine)
        listed = {row[column] for row in [*numbers.ALLOWED.values(), *numbers.CHECKED.values()]}
        for number in set(range(numbers.NEWER)) - listed - {numbers.CLONE3}:
            assert decide(code, numbers.AUDIT_ARCH[machine], number) == EPERM, number


@pytest.mark.parametrize(
    ("machine", "header"),
    [
        ("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        ("aarch64", "/usr/include/asm-generic/unistd.h"),
    ],
)
def test_numbers_are_the_kernels(machine: str, header: str) -> None:
    if not Path(header).exists():
        pytest.skip(f"{header} is not installed")
    text = Path(header).read_text()
    found = re.findall(r"__NR(?:3264)?_(\w+)\s+(\d+)\b", text)
    known = {name: int(number) for name, number in found}
    if machine == "aarch64":
        known["newfstatat"] = known["fstatat"]
    for name, row in {**numbers.ALLOWED, **numbers.CHECKED, **FORBIDDEN}.items():
        assert row[MACHINES.index(machine)] == known.get(name), name
