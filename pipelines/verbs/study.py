"""`python -m pipelines study`: arms of one experiment, several seeds, an equal sampling budget."""

import argparse
import os
import shlex
from typing import Any

from pipelines import arguments

TEXT = "compare ways to train at an equal sampling budget, over several seeds"
MORE = """A study's file (experiments/*/study.yaml) has a base configuration, arms that change it,
seeds, and the number of answers that each may generate. Trains what is missing, each run in a
process of its own, then prints the tables, and writes results.json, table.md, curves.svg and
rewards.svg (every role's standardised reward) into build/studies/<name>. Stopped anywhere, the same
command goes on.

examples:
  python -m pipelines study experiments/teams_plan_path/study.yaml --short    # minutes
  python -m pipelines study experiments/teams_plan_path/study.yaml --jobs 2
  python -m pipelines study FILE --arms single per_role --seeds 0
  python -m pipelines study FILE --results            # of what is done, nothing is trained
  python -m pipelines study FILE --results --write    # and put them into the study's README
  python -m pipelines study FILE --results --seeds 0  # its tables alone, no file is written
  python -m pipelines study FILE --results --with other/results.json   # seeds of another machine"""


def add(verbs: Any) -> None:
    """Add the verb."""
    verb = arguments.add_verb(verbs, "study", _study, TEXT, MORE)
    verb.add_argument("study", metavar="FILE", help="a study's YAML file")
    verb.add_argument("--short", action="store_true", help="its short form: minutes, not hours")
    verb.add_argument(
        "--jobs", type=int, default=2, metavar="N", help="runs side by side; default: 2"
    )
    verb.add_argument(
        "--arms", nargs="+", default=[], metavar="ARM", help="these, and their starts"
    )
    verb.add_argument(
        "--seeds", nargs="+", type=int, default=[], metavar="N",
        help="these of the study's; default: all",
    )  # fmt: skip
    verb.add_argument(
        "--results", action="store_true",
        help="train nothing: tell what is done here, or else what was published",
    )  # fmt: skip
    verb.add_argument(
        "--write", action="store_true",
        help="then put the results into the README and results.json beside the study's file; "
        "with --results, without training first",
    )  # fmt: skip
    verb.add_argument(
        "--with", dest="others", nargs="+", default=[], metavar="JSON",
        help="results.json of other machines, for runs that are not done here",
    )  # fmt: skip
    verb.add_argument("--one", nargs=3, help=argparse.SUPPRESS)


def _study(options: argparse.Namespace) -> int:
    from pipelines.study.plan import load_study
    from pipelines.study.publishing import publish, tell_some
    from pipelines.study.running import Scheduler, jobs_of

    arguments.one_thread()
    study = load_study(options.study, options.short)
    _check(study, options)
    if options.one:
        return _one(study, options)
    published = options.study if options.results and not options.short else None
    if not options.results:
        command = ["-m", "pipelines", "study", options.study, *["--short"] * options.short]
        jobs = jobs_of(study, options.arms, options.seeds)
        Scheduler(study, command, options.jobs, print).run(jobs)
    elif options.arms or options.seeds:
        tell_some(study, options.arms, options.seeds, print, options.others, published)
        return arguments.OK
    page = options.study if options.write else None
    publish(study, page, print, options.others, published)
    return arguments.OK


def _one(study: Any, options: argparse.Namespace) -> int:
    """The process of one arm and seed; ConfigError if the file is no longer what was begun."""
    from components.errors import ConfigError
    from pipelines.study.running import end_with_parent, run_arm

    arm, seed, digest = options.one
    if study.digest(arm, int(seed)) != digest:
        raise ConfigError(
            f"{options.study}: arm {arm} was changed while the study ran; start again"
        )
    end_with_parent()
    again = ["python", "-m", "pipelines", "study", options.study, *["--short"] * options.short]
    command = shlex.join([*again, "--arms", arm, "--seeds", seed])
    # Of its own, for what the steps print to standard output goes to the run's logs.
    with os.fdopen(os.dup(1), "w") as out:
        run_arm(study, (arm, int(seed)), out, command)
    return arguments.OK


def _check(study: Any, options: argparse.Namespace) -> None:
    from components.errors import ConfigError

    unknown = [arm for arm in options.arms if arm not in study.plan.arms]
    if unknown:
        raise ConfigError(f"--arms {unknown}: expected some of {list(study.plan.arms)}")
    strange = [seed for seed in options.seeds if seed not in study.plan.seeds]
    if strange:
        raise ConfigError(f"--seeds {strange}: expected some of {study.plan.seeds}")
    if len(set(options.seeds)) < len(options.seeds):
        raise ConfigError(f"--seeds {options.seeds} name one twice")
    if options.short and options.write:
        raise ConfigError("--write puts the whole study into its README; expected no --short")
    if options.results and options.write and (options.arms or options.seeds):
        raise ConfigError(
            "--results --write puts the whole study into its README; expected no --arms, no --seeds"
        )
    if options.others and not options.results:
        raise ConfigError("--with adds to what is told; expected --results beside it")
    if options.jobs < 1:
        raise ConfigError(f"--jobs is {options.jobs}, expected 1 or more")
