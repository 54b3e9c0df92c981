"""Arguments that several verbs share, and what they open. Nothing heavy is imported before it is
needed, so that --help is quick."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from components.config import ExperimentConfig, load_config

Verb = Callable[[argparse.Namespace], int]
"""What a verb does with its arguments; returns the exit code."""
OK, FAILED, WRONG, REFUSED, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes: done; a step failed; wrong input; the gate refused; interrupted."""
FILE = "an experiment's YAML file"
RUN_OR_FILE = f"a run's name, or {FILE}"


def add_verb(verbs: Any, name: str, function: Verb, text: str, more: str = "") -> Any:
    """A subparser whose help ends with `more` (examples, exit codes), printed as it is."""
    description = f"{text[0].upper()}{text[1:]}.\n\n{more}" if more else text
    raw = argparse.RawDescriptionHelpFormatter
    verb = verbs.add_parser(name, help=text, description=description, formatter_class=raw)
    verb.set_defaults(verb=function)
    return verb


def add_config(
    verbs: Any, name: str, function: Verb, text: str, more: str = "", what: str = FILE
) -> Any:
    """A verb about one experiment: CONFIG, which is `what`, and --set."""
    verb = add_verb(verbs, name, function, text, more)
    verb.add_argument("config", metavar="CONFIG", help=what)
    verb.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides",
        help="replace a value, e.g. rollout.num_candidates=8; may be given several times",
    )  # fmt: skip
    return verb


def add_run(parser: Any, many: bool = False) -> None:
    """RUN (or several) and --store, for `finding.find_run`."""
    parser.add_argument("run", metavar="RUN", nargs="+" if many else None, help=RUN_OR_FILE)
    parser.add_argument(
        "--store", metavar="URI",
        help="where the runs are: file://folder or s3://bucket/prefix; default: the YAML file's, "
        "else file://build/store",
    )  # fmt: skip


def add_tracking(verb: Any) -> None:
    """--tracking-uri, where registered teams are looked for."""
    verb.add_argument(
        "--tracking-uri", "--tracking", dest="tracking", metavar="URI",
        help="MLflow's registry; default: MLFLOW_TRACKING_URI, else sqlite:///build/mlflow.db",
    )  # fmt: skip


def add_profile(verb: argparse.ArgumentParser) -> None:
    """--profile, --images and --set-image, for `open_profile`."""
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


def add_execution(verb: argparse.ArgumentParser) -> None:
    """--name, --runner and --retries, of verbs that run pipelines on this machine."""
    verb.add_argument("--name", help="default: the experiment and 8 hex digits of its digest")
    verb.add_argument(
        "--runner", choices=("local", "inprocess"), default="local",
        help="local: a process per step, as on a cluster; inprocess: all steps in this process",
    )  # fmt: skip
    verb.add_argument(
        "--retries", type=not_negative, default=0, metavar="N", help="of a failed pipeline"
    )
    verb.add_argument(
        "--keep-artifacts", action="store_true",
        help="keep the files between steps in build/runs/<run>/artifacts; default: until their "
        "pipeline has succeeded",
    )  # fmt: skip


def check_file(text: str) -> None:
    """ConfigError if --set or --name go with a run's name."""
    from components.errors import ConfigError
    from pipelines.finding import is_file

    if not is_file(text):
        raise ConfigError(
            f"--set and --name go with an experiment's YAML file; {text!r} is a run's name, its "
            "configuration is stored"
        )


def output_path(text: str | None) -> Path | None:
    """Where to write; None: the default. ConfigError for an empty name, as of an unset variable."""
    from components.errors import ConfigError

    if text is not None and not text.strip():
        raise ConfigError(f"--output is {text!r}; expected a file's name, or no --output at all")
    return None if text is None else Path(text)


def not_negative(text: str) -> int:
    """A whole number, 0 or more, as argparse wants it read."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number, 0 or more")
    return int(text)


def load(options: argparse.Namespace, ask: bool = True) -> ExperimentConfig:
    """The configuration of CONFIG, --set and --iterations, its environment and benchmarks tried.

    With `ask` False nothing is fetched: environments whose problems lie in object storage are not
    tried, and a note on stderr says so.
    """
    from components.env_execution.environments import check_playable, open_benchmark
    from components.preflight.environment import distant_problems

    overrides = list(options.overrides)
    if getattr(options, "iterations", None) is not None:
        overrides.append(f"iterations={options.iterations}")
    config = load_config(options.config, overrides)
    distant = [] if ask else distant_problems(config)
    if distant:
        print(f"note: not looked into: {', '.join(distant)}; `preflight` does", file=sys.stderr)
        return config
    check_playable(config)  # now, not in a step an hour later
    for name in config.evaluation.benchmarks:
        open_benchmark(config, name)
    return config


def open_profile(options: argparse.Namespace) -> Any:
    """The profile with the images that were given."""
    from pipelines.compiling import open_profile as open_named
    from pipelines.pinning import parse_images, read_images, with_images

    images = read_images(options.images) if options.images else {}
    return with_images(open_named(options.profile), images | parse_images(options.set_image))


def one_thread() -> None:
    """Sums in one order: a run can be repeated bit by bit. Set OMP_NUM_THREADS to have more."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
