"""One job in this process: load, train, export. Every rank runs it; rank 0 writes.

`python -m components.update.process job.json ...` runs jobs one after another.
"""

import sys
from pathlib import Path

from components.meter import Meter
from components.process import without_collector
from components.update.deepspeed_engine import TrainingEngine, launcher_variables
from components.update.folders import export_model, load_model, weights_change
from components.update.imitate import imitate
from components.update.job import Job
from components.update.probing import Probing
from components.update.reinforce import Reinforce


def run_job(job: Job) -> None:
    """Train one policy and leave `policy/`, `optimizer/` and `metrics.json` in the job's folder.

    The metrics hold the seconds of `load` (model, engine, optimiser state) and of `train`.

    Demonstrations leave no optimiser state: reinforcement begins with a fresh one.
    """
    with launcher_variables():
        _train(job)


def import_libraries() -> None:
    """Import all that a job needs, so that forks share one import."""
    with launcher_variables():
        import deepspeed  # noqa: F401
        import peft  # noqa: F401
        from transformers import AutoModelForCausalLM  # noqa: F401


def _train(job: Job) -> None:
    meter = Meter()
    with meter.measure("load"), without_collector():
        model = load_model(job.folder, job.base, job.settings.dtype)
        engine = TrainingEngine(model, job.settings)
    try:
        if job.optimizer is not None:
            with meter.measure("load"):
                engine.load_optimizer(Path(job.optimizer))
        reinforced = job.kind == "reinforce"
        with meter.measure("train"):
            found = _reinforce(job, engine) if reinforced else imitate(job, engine)
        weights = engine.weights()
        if engine.rank == 0:
            export_model(engine.module, weights, job.folder, job.policy_out)
        if reinforced:
            engine.save_optimizer(job.optimizer_out)
        if engine.rank == 0:
            found = {**found, **weights_change(job.folder, job.policy_out), **meter.kinds()}
            job.save_metrics(found)
    finally:
        engine.close()


def _reinforce(job: Job, engine: TrainingEngine) -> dict[str, float]:
    work = Reinforce(job, engine)
    probing = Probing(engine, work.samples) if job.probe else None
    found = work.run()
    if probing:
        probing.save(job.probe_out)
    return found


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        run_job(Job.from_json(Path(argument).read_text()))
