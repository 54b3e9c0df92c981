"""The command line: `python -m pipelines <verb>`. The verbs are in pipelines/verbs/."""

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":  # while the rest is imported nothing is begun: an interrupt just ends it
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))

from components.errors import RolewiseError
from components.storage.disk import is_full, written_path
from pipelines import verbs
from pipelines.arguments import FAILED, INTERRUPTED, WRONG
from pipelines.interrupts import interruptible
from pipelines.runner import RUNS, StepFailed

_HELP = """Train teams of LLM agents with AT-GRPO on Kubeflow Pipelines.

examples:
  python -m pipelines config experiments/quickstart/config.yaml --set rollout.num_candidates=4
  python -m pipelines run experiments/quickstart/config.yaml
  python -m pipelines run experiments/quickstart/config.yaml --iterations 10   # go on to 10
  python -m pipelines report experiments/quickstart/config.yaml
  python -m pipelines promote experiments/quickstart/config.yaml --iteration 4
  python -m pipelines compile experiments/quickstart/config.yaml -o build/iteration.yaml
  python -m pipelines submit experiments/quickstart/config.yaml --endpoint URL --wait
  python -m pipelines status                                # which runs there are; stop, logs

exit codes: 0 done, 1 a step failed, 2 wrong configuration or arguments, 3 the gate refused the
team (promote), 130 interrupted. The same `run` command goes on where the run stopped.
Steps have one thread, so that a run can be repeated bit by bit; OMP_NUM_THREADS gives them more."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        with interruptible():
            return int(options.verb(options))
    except RolewiseError as error:
        failed = isinstance(error, StepFailed)
        print(error if failed else f"error: {error}", file=sys.stderr)
        return FAILED if failed else WRONG
    except BrokenPipeError:  # `... | head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # so that nothing is written at the exit
        return FAILED
    except OSError as error:
        if not is_full(error):
            raise
        path = written_path(error) or RUNS.absolute()
        fix = "free space, then the same command goes on"
        print(f"error: {path}: the disk is full; {fix}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        command = shlex.join(["python", "-m", "pipelines", *(arguments or sys.argv[1:])])
        print(f"\ninterrupted; what is committed stays. Go on with: {command}", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m pipelines", description=_HELP, formatter_class=raw
    )
    verbs.add_all(parser.add_subparsers(metavar="verb", required=True))
    return parser


if __name__ == "__main__":
    # The working directory is the project's root: relative paths and the steps' imports need it.
    sys.path.insert(0, str(Path.cwd()))
    sys.exit(main())
