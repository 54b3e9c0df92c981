"""Numbers of the system calls that programs may use, on x86_64 and aarch64. No policy.

None: the architecture has no such call.
"""

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

COLUMN = {"x86_64": 0, "aarch64": 1}

ALLOWED: dict[str, tuple[int | None, int | None]] = {
    # reading and writing open files
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66),
    "pread64": (17, 67), "pwrite64": (18, 68), "preadv": (295, 69), "pwritev": (296, 70),
    "close": (3, 57), "lseek": (8, 62), "ftruncate": (77, 46),
    "fsync": (74, 82), "fdatasync": (75, 83), "fadvise64": (221, 223),
    "sendfile": (40, 71), "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24),
    "pipe": (22, None), "pipe2": (293, 59),
    # paths: which ones is Landlock's part
    "fstat": (5, 80), "stat": (4, None), "lstat": (6, None), "newfstatat": (262, 79),
    "statx": (332, 291), "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439),
    "getcwd": (79, 17), "chdir": (80, 49), "fchdir": (81, 50), "getdents": (78, None),
    "getdents64": (217, 61), "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276),
    "unlink": (87, None), "unlinkat": (263, 35), "umask": (95, 166),
    # memory
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "mremap": (25, 216),
    "madvise": (28, 233), "brk": (12, 214), "msync": (26, 227), "membarrier": (324, 283),
    # signals and timers of the process itself
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133),
    "sigaltstack": (131, 132), "pause": (34, None), "getitimer": (36, 102),
    "setitimer": (38, 103), "alarm": (37, None), "restart_syscall": (219, 128),
    # waiting
    "select": (23, None), "pselect6": (270, 72), "poll": (7, None), "ppoll": (271, 73),
    "epoll_create": (213, None), "epoll_create1": (291, 20), "epoll_ctl": (233, 21),
    "epoll_wait": (232, None), "epoll_pwait": (281, 22), "eventfd": (284, None),
    "eventfd2": (290, 19), "nanosleep": (35, 101), "clock_nanosleep": (230, 115),
    "wait4": (61, 260), "waitid": (247, 95),
    # clocks and names
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "gettimeofday": (96, 169),
    "time": (201, None), "times": (100, 153), "getpid": (39, 172), "gettid": (186, 178),
    "getppid": (110, 173), "getpgrp": (111, None), "getpgid": (121, 155), "getsid": (124, 156),
    "getuid": (102, 174), "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177),
    "getgroups": (115, 158), "getresuid": (118, 148), "getresgid": (120, 150), "uname": (63, 160),
    "getrusage": (98, 165), "sysinfo": (99, 179), "getrlimit": (97, 163), "getcpu": (309, 168),
    "getrandom": (318, 278),
    # threads of the process itself
    "sched_yield": (24, 124), "sched_getaffinity": (204, 123), "arch_prctl": (158, None),
    "set_tid_address": (218, 96), "set_robust_list": (273, 99), "get_robust_list": (274, 100),
    "rseq": (334, 293), "exit": (60, 93), "exit_group": (231, 94),
    # both ends of a pair that nobody else can reach (see CHECKED)
    "sendto": (44, 206), "recvfrom": (45, 207), "getsockname": (51, 204),
    "getpeername": (52, 205), "getsockopt": (55, 209), "shutdown": (48, 210),
}  # fmt: skip

CHECKED: dict[str, tuple[int | None, int | None]] = {
    "clone": (56, 220), "prlimit64": (302, 261), "fcntl": (72, 25), "ioctl": (16, 29),
    "socketpair": (53, 199), "open": (2, None), "openat": (257, 56),
    "futex": (202, 98), "close_range": (436, 436),
}  # fmt: skip
"""Allowed for some values of their arguments: `seccomp.py`."""

CLONE3 = 435
"""On both: answered "no such call", so that the C library falls back to clone."""
NEWER = 448
"""From here on programs are told that the kernel does not know the call yet."""

INSTALL_SECCOMP = {"x86_64": 317, "aarch64": 277}
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
