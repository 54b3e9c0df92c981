"""Where jobs run: in this process, side by side in forks of it, or on several ranks by torchrun.

One import of the model libraries serves all policies of a small team. Imports them itself only
when jobs run here.
"""

import os
import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from pathlib import Path
from threading import Thread

from components.errors import RolewiseError
from components.process import without_collector
from components.update.job import Job

JOB_FILE = "job.json"
STDERR_LINES = 500
"""Kept of what ranks write there: warnings of the libraries, or the traceback of a failure."""


def import_libraries(num_processes: int) -> None:
    """Import what jobs need, if they will run in this process or in forks of it."""
    if num_processes == 1:
        with without_collector():
            from components.update import process

            process.import_libraries()


def run_jobs(jobs: Sequence[Job], num_processes: int) -> None:
    """Run every job to its end; results lie in the jobs' folders.

    RolewiseError in one line for a job that fails, whichever process it failed in.
    """
    for job in jobs:
        Path(job.out).mkdir(parents=True, exist_ok=True)
    if num_processes > 1:
        run_ranks(jobs, ["--standalone", f"--nproc-per-node={num_processes}"])
        return
    from components.update.process import run_job

    workers = min(len(jobs), os.cpu_count() or 1)
    if workers > 1 and _may_fork():
        _side_by_side(jobs, workers)
        return
    for job in jobs:
        run_job(job)


def _may_fork() -> bool:
    """Forks inherit neither threads, nor a GPU's context, nor a process group."""
    import torch

    return (
        torch.get_num_threads() == 1
        and not torch.cuda.is_available()
        and not torch.distributed.is_initialized()
    )


def _side_by_side(jobs: Sequence[Job], workers: int) -> None:
    """One fork per job, one thread each; a job's bytes do not depend on its neighbours. Adapters
    of one base share its memory."""
    from components.update.folders import shared_bases
    from components.update.process import run_job

    import_libraries(1)
    bases = Counter((job.base, job.settings.dtype) for job in jobs if job.base is not None)
    before = set(active_children())
    with shared_bases(bases), ProcessPoolExecutor(workers, get_context("fork")) as pool:
        running = {job.policy: pool.submit(run_job, job) for job in jobs}
        try:
            for policy, future in running.items():
                _wait(policy, future)
        except BaseException:  # the step ends: nobody needs what the others would still train
            for child in set(active_children()) - before:
                child.kill()
            raise


def _wait(policy: str, future: "Future[None]") -> None:
    try:
        future.result()
    except BrokenProcessPool as error:
        raise RolewiseError(
            f"policy {policy}: its training process was killed (out of memory?)"
        ) from error


def run_ranks(
    jobs: Sequence[Job], options: Sequence[str], on_line: Callable[[str], None] = print
) -> None:
    """The jobs one after another on all ranks of a torchrun: one import, one process group.

    `options` are torchrun's. SIGTERM reaches the ranks. `on_line` gets what they print.
    """
    for job in jobs:
        (Path(job.out) / JOB_FILE).write_text(job.to_json())
    command = [
        sys.executable, "-m", "torch.distributed.run", *options,
        "-m", "components.update.process", *(str(Path(job.out) / JOB_FILE) for job in jobs),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(item for item in sys.path if item)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        cwd=Path.cwd(),
    ) as child:  # fmt: skip
        try:
            errors = _followed(child, on_line)
        except BaseException:  # the step is being stopped: take the ranks along
            child.send_signal(signal.SIGTERM)
            raise
    if child.returncode != 0:
        print(errors, file=sys.stderr, flush=True)
        names = ", ".join(job.policy for job in jobs)
        raise RolewiseError(
            f"policy {names}: torchrun's ranks ended with {child.returncode}: {error_line(errors)}"
        )


def _followed(child: "subprocess.Popen[str]", on_line: Callable[[str], None]) -> str:
    """Hand on what the child prints until it ends; the last of what it wrote to stderr."""
    assert child.stdout is not None and child.stderr is not None
    kept: deque[str] = deque(maxlen=STDERR_LINES)
    reader = Thread(target=kept.extend, args=(child.stderr,), daemon=True)
    reader.start()
    for line in child.stdout:
        on_line(line.rstrip("\n"))
    child.wait()
    reader.join()
    return "".join(kept)


def error_line(text: str) -> str:
    """The first exception's message in the output of ranks and their launcher."""
    lines = [line.split("]:", 1)[-1].strip() for line in text.splitlines()]
    for line in lines:
        name, _, message = line.partition(": ")
        if name.endswith(("Error", "Exception")) and " " not in name and message:
            return f"{name.rsplit('.', 1)[-1]}: {message}"
    return lines[-1] if lines else "no output"
