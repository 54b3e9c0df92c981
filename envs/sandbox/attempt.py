"""One run seen from outside: hand it to a lane, read what it prints, classify its end.

Nothing here is known to the program, least of all what it should print.
"""

import fcntl
import os
import secrets
import select
import signal
import socket
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import IO

from envs.sandbox.inside.protocol import (
    FAULT_STATUS,
    LAYERS,
    MEMORY_STATUS,
    MOST_THREADS,
    REPLY,
    TOKEN_BYTES,
    Killed,
)
from envs.sandbox.options import SandboxOptions
from envs.sandbox.results import Outcome, Result, Run

GRACE_S = 10.0
"""Beyond the wall limit a lane that does not answer has failed."""
STDERR_BYTES = 4096
CHUNK = 65536
NUM_MESSAGES = 2
"""From the child; a program that sends more is not listened to."""
F_ADD_SEALS, ALL_SEALS = 1033, 0xF
ENDINGS = {
    Killed.CPU: (Outcome.TIMEOUT, "CPU seconds used up"),
    Killed.WALL: (Outcome.TIMEOUT, "wall seconds used up"),
    Killed.THREADS: (Outcome.RUNTIME_ERROR, f"more than {MOST_THREADS} threads"),
    Killed.FILES: (Outcome.OUTPUT_LIMIT, "too much written to files"),
}


@dataclass
class Stream:
    """What came out of one pipe so far."""

    limit: int
    """Bytes; more are counted, but not kept."""
    tail: int | None = None
    """If set, only so many of the last bytes are kept."""
    data: bytearray = field(default_factory=bytearray)
    total: int = 0

    def add(self, chunk: bytes) -> None:
        """Memory stays within the limit, whatever comes."""
        self.total += len(chunk)
        if self.tail is None:
            self.data += chunk[: self.limit - len(self.data)]
        else:
            self.data = (self.data + chunk)[-self.tail :]


@dataclass
class Evidence:
    """All that is known when a run is over."""

    stdout: Stream
    stderr: Stream
    token: bytes
    told: list[bytes] = field(default_factory=list)
    """Two messages: `ready ...` or `fault ...` before the program, then the token; no more."""
    reply: tuple[int, int, float, float] | None = None
    """Wait status, why the lane killed it, CPU and wall seconds; None if the lane failed."""

    @classmethod
    def of_failure(cls, reason: str) -> "Evidence":
        """The run was not even handed over."""
        return cls(Stream(0), Stream(0), b"", [reason.encode()])

    @property
    def overflow(self) -> bool:
        """More output than allowed."""
        return any(stream.total > stream.limit for stream in (self.stdout, self.stderr))

    @property
    def ready(self) -> bool:
        """The child was locked in: whatever came later is the program's own doing."""
        return bool(self.told) and self.told[0].startswith(b"ready")


def attempt(
    lane: socket.socket, run: Run, options: SandboxOptions, optional: frozenset[str]
) -> Evidence:
    """Run it. `optional`: layers that this machine lacks and the configuration does without."""
    limit = options.output_kib * 1024
    token = secrets.token_bytes(TOKEN_BYTES)
    evidence = Evidence(Stream(limit), Stream(limit, STDERR_BYTES), token)
    bits = sum(1 << bit for bit, layer in enumerate(LAYERS) if layer in optional)
    with ExitStack() as ours, ExitStack() as theirs:
        end, their_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.enter_context(end)
        theirs.enter_context(their_end)
        given = [theirs.enter_context(_sealed(text)) for text in (run.program, run.stdin)]
        streams: dict[int, Stream] = {}
        for stream in (evidence.stdout, evidence.stderr):
            source, sink = os.pipe()
            reader, writer = os.fdopen(source, "rb", 0), os.fdopen(sink, "wb", 0)
            streams[ours.enter_context(reader).fileno()] = stream
            given.append(theirs.enter_context(writer))
        end.send(token)
        try:
            socket.send_fds(
                lane, [bytes([bits])], [*(f.fileno() for f in given), their_end.fileno()]
            )
        except OSError:
            return evidence
        theirs.close()
        _follow(lane, end, streams, evidence, time.monotonic() + options.wall_s + GRACE_S)
    return evidence


def _sealed(text: str) -> IO[bytes]:
    """A file in memory that nobody can change: of any size, and nobody waits for its reader."""
    file = os.fdopen(os.memfd_create("run", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "r+b", 0)
    data = memoryview(text.encode("utf-8", "surrogatepass"))
    while data:
        data = data[file.write(data) or 0 :]
    file.seek(0)
    fcntl.fcntl(file, F_ADD_SEALS, ALL_SEALS)
    return file


def _follow(
    lane: socket.socket, end: socket.socket, streams: dict[int, Stream], evidence: Evidence,
    deadline: float,
) -> None:  # fmt: skip
    """Read everything until the lane says that the child is gone; ask it to end one that floods."""
    poll = select.poll()
    for descriptor in (*streams, end.fileno(), lane.fileno()):
        poll.register(descriptor, select.POLLIN)
    asked = False
    while evidence.reply is None and (left := deadline - time.monotonic()) > 0:
        for descriptor, _ in poll.poll(left * 1000):
            if descriptor == lane.fileno():
                if not _read_reply(lane, evidence):
                    return
            elif not _read(descriptor, end, streams, evidence):
                poll.unregister(descriptor)
        if evidence.overflow and not asked:
            asked = True
            with suppress(OSError):  # the loop will find it gone
                lane.send(b"k")
    for descriptor in (*streams, end.fileno()):
        os.set_blocking(descriptor, False)
        while _read(descriptor, end, streams, evidence):
            pass


def _read_reply(lane: socket.socket, evidence: Evidence) -> bool:
    """False if the lane is gone."""
    try:
        message = lane.recv(REPLY.size)
    except OSError:
        message = b""
    if message:
        evidence.reply = REPLY.unpack(message)
    return bool(message)


def _read(
    descriptor: int, end: socket.socket, streams: dict[int, Stream], evidence: Evidence
) -> bool:
    """One chunk; False if there is no more to be read."""
    if descriptor == end.fileno() and len(evidence.told) == NUM_MESSAGES:
        return False
    try:
        chunk = os.read(descriptor, CHUNK)
    except OSError:
        return False
    if descriptor != end.fileno():
        streams[descriptor].add(chunk)
    elif chunk:
        evidence.told.append(chunk)
    return bool(chunk)


def classify(evidence: Evidence, options: SandboxOptions) -> Result:
    """The outcome, and what is said about it."""
    _, _, cpu_s, wall_s = evidence.reply or (0, 0, 0.0, 0.0)
    outcome, note = _outcome(evidence, options)
    stderr = evidence.stderr.data.decode("utf-8", "replace")
    if note:
        stderr += ("\n" if stderr and not stderr.endswith("\n") else "") + f"[{note}]"
    stdout = evidence.stdout.data.decode("utf-8", "replace")
    return Result(outcome, stdout, stderr, cpu_s, wall_s)


def _outcome(evidence: Evidence, options: SandboxOptions) -> tuple[Outcome, str]:
    if evidence.reply is None or not evidence.ready:
        fault = "" if evidence.ready or not evidence.told else evidence.told[0].decode()
        return Outcome.SANDBOX_ERROR, f"sandbox: {fault or 'the fork server is gone'}"
    status, killed, cpu_s, _ = evidence.reply
    if evidence.overflow:
        return Outcome.OUTPUT_LIMIT, f"more than {options.output_kib} KiB on stdout or stderr"
    if killed in ENDINGS:
        return ENDINGS[Killed(killed)]
    if cpu_s > options.cpu_s:
        return ENDINGS[Killed.CPU]
    return _natural_end(os.waitstatus_to_exitcode(status), evidence)


def _natural_end(code: int, evidence: Evidence) -> tuple[Outcome, str]:
    """Of a run that nobody ended: by exit status, or minus the signal."""
    if code == -signal.SIGKILL:
        return Outcome.MEMORY, "killed by the kernel, which was out of memory"
    if code < 0:
        names = {int(number): number.name for number in signal.Signals}
        return Outcome.RUNTIME_ERROR, f"ended by signal {names.get(-code, -code)}"
    if code == MEMORY_STATUS:
        return Outcome.MEMORY, ""
    if code == 0 and evidence.told[1:] == [evidence.token]:
        return Outcome.OK, ""
    early = "ended before its last line, with exit status"
    return Outcome.RUNTIME_ERROR, "" if code == FAULT_STATUS else f"{early} {code}"
