"""Where jobs run: in this process, side by side in forks of it, or on several ranks by torchrun.

One import of the model libraries serves all policies of a small team. Imports them itself only
when jobs run here.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from components.errors import RolewiseError
from components.process import without_collector
from components.update.job import Job


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
        for job in jobs:
            _torchrun(job, num_processes)
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
    """One fork per job, one thread each; a job's bytes do not depend on its neighbours."""
    from components.update.process import run_job

    import_libraries(1)
    with ProcessPoolExecutor(workers, get_context("fork")) as pool:
        running = {job.policy: pool.submit(run_job, job) for job in jobs}
        for policy, future in running.items():
            try:
                future.result()
            except BrokenProcessPool as error:
                raise RolewiseError(
                    f"policy {policy}: its training process was killed (out of memory?)"
                ) from error


def _torchrun(job: Job, num_processes: int) -> None:
    """All ranks on this machine, on a free port of torchrun's choice. SIGTERM reaches them."""
    path = Path(job.out) / "job.json"
    path.write_text(job.to_json())
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone",
        f"--nproc-per-node={num_processes}", "-m", "components.update.process", str(path),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(item for item in sys.path if item)}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=environment, cwd=Path.cwd()
    ) as child:
        try:
            _, errors = child.communicate()
        except BaseException:  # the step is being stopped: take the ranks along
            child.send_signal(signal.SIGTERM)
            raise
    if child.returncode != 0:
        raise RolewiseError(
            f"policy {job.policy}: {num_processes} ranks ended with {child.returncode}: "
            f"{error_line(errors)}"
        )


def error_line(text: str) -> str:
    """The first exception's message in the output of ranks and their launcher."""
    lines = [line.split("]:", 1)[-1].strip() for line in text.splitlines()]
    for line in lines:
        name, _, message = line.partition(": ")
        if name.endswith(("Error", "Exception")) and " " not in name and message:
            return f"{name.rsplit('.', 1)[-1]}: {message}"
    return lines[-1] if lines else "no output"
