"""The command line: `python -m pipelines <verb>`. kfp and the rest are imported when needed."""

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from components.config import ExperimentConfig, load_config
from components.errors import RolewiseError
from components.storage.disk import is_full, written_path
from pipelines.runner import RUNS, StepFailed

OK, FAILED, WRONG, REFUSED, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes: done; a step failed; wrong input; the gate refused; interrupted."""

_HELP = """Train teams of LLM agents with AT-GRPO on Kubeflow Pipelines.

examples:
  python -m pipelines config experiments/quickstart/config.yaml --set rollout.num_candidates=4
  python -m pipelines run experiments/quickstart/config.yaml
  python -m pipelines run experiments/quickstart/config.yaml --iterations 10   # go on to 10
  python -m pipelines report experiments/quickstart/config.yaml
  python -m pipelines promote experiments/quickstart/config.yaml --iteration 4
  python -m pipelines compile experiments/quickstart/config.yaml -o build/iteration.yaml
  python -m pipelines submit experiments/quickstart/config.yaml --endpoint URL --wait

exit codes: 0 done, 1 a step failed, 2 wrong configuration or arguments, 3 the gate refused the
team (promote), 130 interrupted. The same `run` command goes on where the run stopped.
Steps have one thread, so that a run can be repeated bit by bit; OMP_NUM_THREADS gives them more."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return int(options.verb(options))
    except RolewiseError as error:
        failed = isinstance(error, StepFailed)
        print(error if failed else f"error: {error}", file=sys.stderr)
        return FAILED if failed else WRONG
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
    verbs = parser.add_subparsers(metavar="verb", required=True)
    _add_compile(_add_verb(verbs, "compile", _compile, "write a pipeline's YAML for a cluster"))
    _add_submit(_add_verb(verbs, "submit", _submit, "train on a cluster, a run per iteration"))
    _add_preflight(_add_verb(verbs, "preflight", _preflight, "check before anything is booked"))
    run = _add_verb(verbs, "run", _run, "train on this machine, or go on with a run")
    run.add_argument("--iterations", type=int, metavar="N", help="total; replaces the file's")
    _add_execution(run)
    promote = _add_verb(verbs, "promote", _promote, "evaluate a team and move the aliases to it")
    promote.add_argument("--iteration", type=int, metavar="N", help="default: the latest")
    _add_execution(promote)
    _add_verb(verbs, "config", _config, "print the resolved configuration")
    report = _add_verb(verbs, "report", _report, "print a run's table and write its HTML report")
    report.add_argument("--name", help="the run's name, if it was given one")
    _add_demo(verbs)
    return parser


def _add_demo(verbs: Any) -> None:
    text = "train the quickstart team on this machine and show what it learned (`make demo`)"
    verb = verbs.add_parser("demo", help=text, description=text)
    verb.add_argument("--seed", type=int, default=0, metavar="N", help="another start and tasks")
    verb.add_argument(
        "--store", choices=("file", "s3"), default="file",
        help="file: build/store; s3: a local SeaweedFS server with its data in build/seaweed",
    )  # fmt: skip
    verb.add_argument(
        "--engine", choices=("auto", "vllm", "transformers"), default="auto",
        help="auto: vLLM, or transformers with the reason where vLLM does not load",
    )  # fmt: skip
    verb.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides",
        help="replace a value of experiments/quickstart/config.yaml",
    )  # fmt: skip
    verb.set_defaults(verb=_demo)


def _add_verb(verbs: Any, name: str, function: Any, text: str) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = verbs.add_parser(name, help=text, description=text)
    verb.add_argument("config", metavar="CONFIG", help="an experiment's YAML file")
    verb.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides",
        help="replace a value, e.g. rollout.num_candidates=8; may be given several times",
    )  # fmt: skip
    verb.set_defaults(verb=function)
    return verb


def _add_compile(verb: argparse.ArgumentParser) -> None:
    from pipelines.compiling import PIPELINES

    verb.add_argument("--pipeline", default="iteration", choices=PIPELINES)
    _add_profile(verb)
    verb.add_argument("-o", "--output", required=True, metavar="FILE")
    verb.add_argument(
        "--kubernetes-manifest", action="store_true",
        help="write the resources Pipeline and PipelineVersion, for GitOps",
    )  # fmt: skip
    verb.add_argument("--namespace", metavar="NS", help="of these resources")


def _add_profile(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--profile", default="cpu", metavar="P",
        help="single-gpu, 8xh100, cpu (pipelines/profiles/<name>.yaml), or a file of your own",
    )  # fmt: skip
    verb.add_argument(
        "--images", metavar="FILE",
        help="YAML of runtime: repository@sha256:..., as `make push` prints it; profiles for "
        "clusters demand digests",
    )  # fmt: skip
    verb.add_argument(
        "--set-image", action="append", default=[], metavar="RUNTIME=IMAGE",
        help="one image, e.g. vllm=registry.example/rolewise/vllm@sha256:...",
    )  # fmt: skip


def _add_submit(verb: argparse.ArgumentParser) -> None:
    from pipelines.submit import add_arguments

    _add_profile(verb)
    add_arguments(verb)


def _add_preflight(verb: argparse.ArgumentParser) -> None:
    from pipelines.preflight import add_arguments

    _add_profile(verb)
    add_arguments(verb)


def _add_execution(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--name", help="default: the experiment and 8 hex digits of its digest")
    verb.add_argument(
        "--runner", choices=("local", "inprocess"), default="local",
        help="local: a process per step, as on a cluster; inprocess: all steps in this process",
    )  # fmt: skip
    verb.add_argument(
        "--retries", type=_not_negative, default=0, metavar="N", help="of a failed pipeline"
    )


def _not_negative(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number, 0 or more")
    return int(text)


def _load(options: argparse.Namespace) -> ExperimentConfig:
    from components.env_execution.rules import check_playable, open_benchmark

    overrides = list(options.overrides)
    if getattr(options, "iterations", None) is not None:
        overrides.append(f"iterations={options.iterations}")
    config = load_config(options.config, overrides)
    check_playable(config)  # now, not in a step an hour later
    for name in config.evaluation.benchmarks:
        open_benchmark(config, name)
    return config


def _compile(options: argparse.Namespace) -> int:
    from pipelines.compiling import compile, compile_manifest

    config, profile = _load(options), _profile(options)
    if options.kubernetes_manifest:
        place = (options.output, options.pipeline, options.namespace)
        spec = compile_manifest(config, profile, *place)
    else:
        spec = compile(config, profile, options.output, options.pipeline)
    num_steps = len(spec["deploymentSpec"]["executors"])
    print(f"{options.output}: {spec['pipelineInfo']['name']}, {num_steps} steps")
    return OK


def _profile(options: argparse.Namespace) -> Any:
    """The profile with the images that were given."""
    from pipelines.compiling import open_profile
    from pipelines.pinning import parse_images, read_images, with_images

    images = read_images(options.images) if options.images else {}
    return with_images(open_profile(options.profile), images | parse_images(options.set_image))


def _submit(options: argparse.Namespace) -> int:
    from pipelines.submit import submit

    submit(_load(options), _profile(options), options)
    return OK


def _preflight(options: argparse.Namespace) -> int:
    from pipelines.preflight import preflight

    config = load_config(options.config, options.overrides)
    return OK if preflight(config, _profile(options), options) else FAILED


def _run(options: argparse.Namespace) -> int:
    from pipelines.closing import close
    from pipelines.display import Display
    from pipelines.driver import Options, train

    config = _load(options)
    _one_thread()
    choice = Options(options.name, options.runner, options.retries)
    with os.fdopen(os.dup(1), "w") as terminal:
        display = Display(terminal, config.iterations)
        close(config, train(config, choice, display), display.say)
    return OK


def _demo(options: argparse.Namespace) -> int:
    from pipelines.demo import demo, demo_config
    from pipelines.display import Display

    config = demo_config(options.seed, options.store, options.engine, options.overrides)
    _one_thread()
    with os.fdopen(os.dup(1), "w") as terminal:
        return OK if demo(config, options.store, Display(terminal, config.iterations)) else REFUSED


def _promote(options: argparse.Namespace) -> int:
    from pipelines.closing import is_promoted, verdict_text
    from pipelines.display import Display
    from pipelines.driver import Options, promote

    config = _load(options)
    _one_thread()
    choice = Options(options.name, options.runner, options.retries)
    with os.fdopen(os.dup(1), "w") as terminal:
        display = Display(terminal, config.iterations)
        verdict = promote(config, choice, options.iteration, display)
        display.say(verdict_text(verdict))
    return OK if is_promoted(verdict) else REFUSED


def _config(options: argparse.Namespace) -> int:
    content = _load(options).model_dump(mode="json")
    print(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), end="")
    return OK


def _report(options: argparse.Namespace) -> int:
    from pipelines.closing import close
    from pipelines.driver import run_name

    config = _load(options)
    close(config, run_name(config, options.name), print)
    return OK


def _one_thread() -> None:
    """Sums in one order: a run can be repeated bit by bit. Set OMP_NUM_THREADS to have more."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def _interrupt(number: int, frame: Any) -> None:
    """Once: a second SIGTERM must not end what the first began to put in order."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    # The working directory is the project's root: relative paths and the steps' imports need it.
    sys.path.insert(0, str(Path.cwd()))
    sys.exit(main())
