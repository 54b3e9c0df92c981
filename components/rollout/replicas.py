"""Data parallel generation: the same engine in several processes, requests shared out in blocks.

Every candidate has a seed of its own, so who answers a request changes nothing but rounding. A
replica gets `tensor_parallel` of the visible GPUs; on CPUs each is one more process.
"""

import atexit
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from components.engine import Completion, Engine, Request, Sampling
from components.errors import PolicyError, RolewiseError
from components.policies import Team
from components.rollout.deployments import Folders
from components.settings import RolloutConfig

_STOP_S = 10.0
"""That a replica has to free its weights before it is ended."""


@dataclass(frozen=True)
class _Failure:
    """What a replica raised, as text: not every exception can be sent."""

    text: str
    policy: bool
    """Whether it was a PolicyError."""

    def error(self, replica: int) -> RolewiseError:
        return (PolicyError if self.policy else RolewiseError)(f"replica {replica}: {self.text}")


class ReplicatedEngine:
    """Implements Engine over `settings.data_parallel` processes."""

    def __init__(self, settings: RolloutConfig, team: Team, store: Folders, cache: Path) -> None:
        single = settings.model_copy(update={"data_parallel": 1})
        context = get_context("spawn")  # a fork would inherit threads and a GPU's context
        self._pipes: list[Connection] = []
        self._processes: list[Any] = []
        atexit.register(self.close)
        for replica, devices in enumerate(_devices(settings)):
            ours, theirs = context.Pipe()
            with _visible(devices):
                process = context.Process(
                    target=_serve,
                    args=(theirs, single, team, store, cache, replica),
                    daemon=settings.tensor_parallel == 1,  # a daemon could not start its ranks
                )
                process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)
        try:
            names = [self._receive(replica) for replica in range(len(self._pipes))]
        except BaseException:  # whatever it was: no replica is left behind
            self.close()
            raise
        self.name = f"{names[0]} x {len(names)}"

    def generate(self, requests: Sequence[Request], n: int, sampling: Sampling) -> list[Completion]:
        """See `Engine.generate`. RolewiseError names the replica that failed or died."""
        blocks = [
            (replica, block)
            for replica, block in enumerate(split(requests, len(self._pipes)))
            if block
        ]
        for replica, block in blocks:
            self._send(replica, ("generate", block, n, sampling))
        answers = [self._received(replica) for replica, _ in blocks]  # all, before one may raise
        for (replica, _), answer in zip(blocks, answers, strict=True):
            if isinstance(answer, _Failure):
                raise answer.error(replica)
        return [completion for answer in answers for completion in answer]

    def stats(self) -> Mapping[str, float]:
        """Tokens of all replicas; seconds of the slowest, since they work side by side."""
        for replica in range(len(self._pipes)):
            self._send(replica, ("stats",))
        found = [self._receive(replica) for replica in range(len(self._pipes))]
        return {
            name: max(each[name] for each in found) if name.endswith("_s")
            else sum(each[name] for each in found)
            for name in found[0]
        }  # fmt: skip

    def close(self) -> None:
        """End all replicas."""
        atexit.unregister(self.close)
        for pipe in self._pipes:
            pipe.close()  # its end is the replica's end
        for process in self._processes:
            process.join(_STOP_S)
            if process.is_alive():
                process.kill()
                process.join()
        self._pipes, self._processes = [], []

    def _send(self, replica: int, message: tuple[Any, ...]) -> None:
        try:
            self._pipes[replica].send(message)
        except OSError as error:
            raise self._died(replica) from error

    def _received(self, replica: int) -> Any:
        """The answer, or the failure as a value."""
        try:
            return self._pipes[replica].recv()
        except (EOFError, OSError):
            return _Failure(str(self._died(replica)), False)

    def _receive(self, replica: int) -> Any:
        answer = self._received(replica)
        if isinstance(answer, _Failure):
            raise answer.error(replica)
        return answer

    def _died(self, replica: int) -> RolewiseError:
        process = self._processes[replica]
        process.join(_STOP_S)
        return RolewiseError(
            f"its process ended with {process.exitcode} (out of memory?); expected it to answer. "
            "Lower rollout.data_parallel or rollout.kv_cache_mib"
        )


def split(requests: Sequence[Request], num_parts: int) -> list[list[Request]]:
    """Consecutive blocks whose sizes differ by at most one."""
    size, larger = divmod(len(requests), num_parts)
    blocks, start = [], 0
    for part in range(num_parts):
        stop = start + size + (part < larger)
        blocks.append(list(requests[start:stop]))
        start = stop
    return blocks


def _devices(settings: RolloutConfig) -> list[str | None]:
    """CUDA_VISIBLE_DEVICES of every replica; None where nothing is shared out (CPUs).

    RolewiseError if GPUs are visible but too few.
    """
    visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    if not visible:
        visible = [str(number) for number in range(_num_gpus())]
    if not visible:
        return [None] * settings.data_parallel
    size = settings.tensor_parallel
    wanted = size * settings.data_parallel
    if len(visible) < wanted:
        raise RolewiseError(
            f"rollout.data_parallel {settings.data_parallel} x tensor_parallel {size} needs "
            f"{wanted} GPUs, {len(visible)} are visible; lower one of them"
        )
    return [",".join(visible[start : start + size]) for start in range(0, wanted, size)]


def _num_gpus() -> int:
    """Without a CUDA context in this process."""
    names = [path.name.removeprefix("nvidia") for path in Path("/dev").glob("nvidia*")]
    return sum(1 for name in names if name.isdecimal())


@contextmanager
def _visible(devices: str | None) -> Iterator[None]:
    """The variable as a process that starts now shall see it."""
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    if devices is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = devices
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        else:
            os.environ["CUDA_VISIBLE_DEVICES"] = before


def _serve(
    pipe: Connection, settings: RolloutConfig, team: Team, store: Folders, cache: Path, replica: int
) -> None:
    """A replica's whole life: open, say the engine's name, answer until the pipe closes."""
    from components.rollout.engines import open_engine

    try:
        if replica:  # one of them says which engine it is
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
        engine = open_engine(settings, team, store, cache)
    except Exception as error:  # whatever it is, the step's process reports it
        pipe.send(_failure(error))
        return
    pipe.send(engine.name)
    while True:
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            engine.close()
            return
        pipe.send(_answer(engine, message))


def _answer(engine: Engine, message: tuple[Any, ...]) -> Any:
    try:
        return engine.stats() if message[0] == "stats" else engine.generate(*message[1:])
    except Exception as error:  # whatever it is, the step's process reports it
        return _failure(error)


def _failure(error: Exception) -> _Failure:
    text = " ".join(str(error).split())
    known = isinstance(error, RolewiseError)
    return _Failure(
        text if known else f"{type(error).__name__}: {text}", isinstance(error, PolicyError)
    )
