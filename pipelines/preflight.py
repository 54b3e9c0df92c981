"""`python -m pipelines preflight`: finds in seconds what a run would trip over in hours.

Every line is ok, warn or fail, with the fix. The checks are in `prechecks.py` and
components/preflight; nothing of them is imported before they run, so that --help is quick.
"""

import argparse
from collections.abc import Callable

from components.config import ExperimentConfig
from components.preflight.findings import Level, worst
from pipelines.profile import Profile

HELP = """Check an experiment before anything is booked: its environment and tasks, policies with
their tokenizers, object storage (an object is written, read and deleted), MLflow and its registry,
images, GPU memory per step, cost, and the cluster's API.

examples:
  python -m pipelines preflight experiments/quickstart/config.yaml
  python -m pipelines preflight CONFIG --profile 8xh100 --images images.yaml --endpoint URL
  python -m pipelines preflight CONFIG --profile 8xh100 --offline     # nobody is asked

exit code: 0 if nothing failed (warnings do not count), 1 if something did, 2 for a configuration
that cannot be read."""
_WIDTH = 20


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """The verb's own arguments."""
    verb.description, verb.formatter_class = HELP, argparse.RawDescriptionHelpFormatter
    add = verb.add_argument
    add("--endpoint", metavar="URL", help="of Kubeflow's API; default: KF_PIPELINES_ENDPOINT")
    add("--token-file", metavar="FILE", help="bearer token, as for submit")
    add("--namespace", metavar="NS", help="of the runs, where Kubeflow has several users")
    add("--ca-file", metavar="FILE", help="certificate authority of the endpoint")
    add("--offline", action="store_true", help="ask nobody: no storage, MLflow, hub or API")


def preflight(
    config: ExperimentConfig, profile: Profile, options: argparse.Namespace,
    say: Callable[[str], None] = print,
) -> bool:  # fmt: skip
    """Print a line per finding as it comes, then the sum. True if nothing failed."""
    from pipelines.prechecks import findings

    found, width = [], _width(config)
    for finding in findings(config, profile, options):
        say(finding.line(width))
        found.append(finding)
    counts = [f"{sum(item.level is level for item in found)} {level.value}" for level in Level]
    say(f"{config.name}, profile {profile.name}: {', '.join(counts)}")
    return worst(found) is not Level.FAIL


def _width(config: ExperimentConfig) -> int:
    """Of the column of subjects: findings are told as they come, so it is known before them."""
    named = [f"policy {name}" for name in config.policies]
    named += [f"benchmark {name} tasks" for name in config.evaluation.benchmarks]
    return max(_WIDTH, *map(len, named))
