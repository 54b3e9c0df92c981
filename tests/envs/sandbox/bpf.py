"""What the kernel would answer: a BPF interpreter for the few instructions that a filter uses."""

import struct
from collections.abc import Sequence

from envs.sandbox.inside import seccomp


def decide(code: bytes, architecture: int, call: int, arguments: Sequence[int] = ()) -> int:
    """The filter's verdict on one system call."""
    padded = [*arguments, *[0] * 6][:6]
    data = struct.pack("=IIQ6Q", call, architecture, 0, *(a % 2**64 for a in padded))
    instructions = list(struct.iter_unpack("HBBI", code))
    at, accumulator = 0, 0
    while True:
        operation, if_true, if_false, constant = instructions[at]
        at += 1
        if operation == seccomp.RETURN:
            return int(constant)
        if operation == seccomp.LOAD:
            accumulator = struct.unpack_from("=I", data, constant)[0]
        elif operation == seccomp.AND:
            accumulator &= constant
        else:
            holds = {
                seccomp.EQUAL: accumulator == constant,
                seccomp.AT_LEAST: accumulator >= constant,
            }[operation]
            at += if_true if holds else if_false
