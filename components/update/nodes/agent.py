"""One node of a TrainJob: fetch the order, start this node's ranks, upload what they made.

    python -m components.update.nodes.agent --storage JSON --order KEY --attempt NAME

The torch runtime's PET_ variables say which node this is and where the first one listens. Node 0
uploads the policies and writes the result; every node uploads its part of the optimiser states.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from components.config import parse_config
from components.errors import ConfigError, StorageError
from components.meter import Meter
from components.process import stoppable
from components.progress import parse_progress
from components.settings import StorageConfig
from components.state import TrainingState
from components.step import StepContext
from components.storage import open_store
from components.update.exchange import Updated, fetch_job, updated
from components.update.job import Job
from components.update.launch import run_ranks
from components.update.nodes.order import Desk, Order
from components.update.nodes.shards import Meeting, upload_shards

REPORT_S = 5.0
"""Between two progress lines in object storage."""
RENDEZVOUS_S = 3600
"""How long ranks wait for those of nodes that still download."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run this node's part; a fault is printed and left in object storage for the step."""
    parser = argparse.ArgumentParser()
    for name in ("storage", "order", "attempt"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args(arguments)
    desk = Desk(open_store(StorageConfig(**json.loads(options.storage))), options.order)
    node = int(_variable("PET_NODE_RANK"))
    try:
        with stoppable():  # as the first process of a container it would not notice SIGTERM
            run_node(desk, options.attempt, node, int(_variable("PET_NNODES")))
    except Exception as error:  # the boundary of a process: said here and to the step
        text = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"error: node {node}: {text}", file=sys.stderr, flush=True)
        desk.fail(options.attempt, node, text)
        return 1
    return 0


def run_node(desk: Desk, attempt: str, node: int, num_nodes: int) -> None:
    """Fetch, train, upload."""
    with TemporaryDirectory(prefix="rolewise-node-") as scratch:
        order, state, samples = desk.take(Path(scratch))
        context = _context(desk, order)
        jobs = [
            fetch_job(context, state, samples, name, Path(scratch) / name)
            for name in order.policies
        ]
        for job in jobs:
            Path(job.out).mkdir()
        options = [f"--rdzv-conf=timeout={RENDEZVOUS_S}"]
        run_ranks(jobs, options, relay(desk, attempt) if node == 0 else print)
        results = {
            job.policy: _upload(context, state, job, _meeting(desk, attempt, job, node, num_nodes))
            for job in jobs
        }
        if node == 0:
            desk.finish({name: item for name, item in results.items() if item is not None})


def relay(
    desk: Desk, attempt: str, clock: Callable[[], float] = time.monotonic
) -> Callable[[str], None]:
    """Prints lines, and leaves the last progress for the step every few seconds."""
    last = -REPORT_S

    def line(text: str) -> None:
        nonlocal last
        print(text, flush=True)
        found = parse_progress(text)
        if found and (clock() - last >= REPORT_S or found.done == found.total):
            last = clock()
            with suppress(StorageError):  # it is only for show: the training goes on
                desk.report(attempt, text)

    return line


def _upload(
    context: StepContext, state: TrainingState, job: Job, meeting: Meeting
) -> Updated | None:
    """None but on node 0."""
    optimizer = upload_shards(meeting, job.optimizer_out, "optimizers")
    return updated(context, state, job, optimizer) if meeting.node == 0 else None


def _meeting(desk: Desk, attempt: str, job: Job, node: int, num_nodes: int) -> Meeting:
    return Meeting(desk.store, f"{desk.prefix}{attempt}/{job.policy}/", node, num_nodes)


def _context(desk: Desk, order: Order) -> StepContext:
    config = parse_config(order.config)
    cache = Path(config.storage.cache)
    return StepContext(config, order.run, order.iteration, desk.store, order.step, cache, Meter())


def _variable(name: str) -> str:
    if name not in os.environ:
        raise ConfigError(
            f"{name} is not set: the TrainJob's runtime needs `mlPolicy: {{torch: }}`"
        )
    return os.environ[name]


if __name__ == "__main__":
    sys.exit(main())
