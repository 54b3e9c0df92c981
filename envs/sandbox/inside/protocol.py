"""What both sides of a lane agree on: messages, exit statuses, why a run was ended. No logic.

A request is one byte (bit i: layer i may be missing) and `NUM_DESCRIPTORS` descriptors: the
program, its input, its two outputs, and the child's end of a pair. Through the pair the child says
`ready LAYERS` once it is locked in, or `fault REASON`; the token that waits there is sent back when
the program has reached its last line. A lane's answer is one `REPLY`; any other byte to it means:
end the run.
"""

import struct
from enum import IntEnum

LAYERS = ("landlock", "seccomp")
NUM_DESCRIPTORS = 5
TOKEN_BYTES = 32
REPLY = struct.Struct("=iidd")
"""Wait status, why it was killed, CPU seconds, wall seconds."""
MEMORY_STATUS, FAULT_STATUS, NOT_BEGUN_STATUS = 86, 1, 70
"""Exit statuses of a child: MemoryError, any other exception, not locked in."""
MOST_THREADS = 64


class Killed(IntEnum):
    """Why the lane ended a run."""

    NOT = 0
    CPU = 1
    WALL = 2
    THREADS = 3
    FILES = 4
    ASKED = 5
    """The other side had read enough, or went away."""
