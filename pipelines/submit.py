"""`python -m pipelines submit`: trains on a cluster, one run per iteration, driven from here.

The same driver as `run`, with another place to run pipelines in. Nothing of kfp is imported
before it is needed, so that --help is quick.
"""

import argparse
import os

from components.config import ExperimentConfig
from components.state import register_run
from components.storage import open_store
from pipelines.arguments import not_negative
from pipelines.cluster import ClusterRunner
from pipelines.connecting import add_access, connect
from pipelines.display import Display
from pipelines.driver import Options, call_arguments, missing, run_name, train
from pipelines.profile import Profile
from pipelines.warm.choice import check_waits

HELP = """Train on a Kubeflow cluster: one run per iteration, from what is committed in storage.

With --wait, submits run after run until `iterations` are done, repeats failed ones --retries
times, and exits with 0 only if all succeeded. Without it, submits what comes next and returns.

examples:
  python -m pipelines submit CONFIG --endpoint https://kubeflow.example/pipeline --profile 8xh100 \\
      --images images.yaml --experiment teams --wait --retries 2 --token-file token
  kubectl port-forward -n kubeflow svc/ml-pipeline 8888 &
  python -m pipelines submit CONFIG --endpoint http://127.0.0.1:8888 --experiment teams

If this command is interrupted or killed, the run of the iteration goes on on the cluster; the same
command finds it and waits for it again. --terminate-on-interrupt ends it at Ctrl-C or SIGTERM.
The store must be reachable from here: the driver reads what is committed."""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """The verb's own arguments."""
    verb.description, verb.formatter_class = HELP, argparse.RawDescriptionHelpFormatter
    add = verb.add_argument
    add_access(verb)
    add(
        "--experiment", metavar="E", help="Kubeflow's experiment; default: the configuration's name"
    )
    add("--name", help="of the run; default: the experiment and 8 hex digits of its digest")
    add("--iterations", type=int, metavar="N", help="total; replaces the file's")
    add("--wait", action="store_true", help="drive all iterations and wait for each")
    add("--retries", type=not_negative, default=0, metavar="N", help="of a failed run, with --wait")
    add(
        "--service-account", metavar="SA",
        help="of the runs' pods; default: the profile's, else the installation's",
    )  # fmt: skip
    add("--terminate-on-interrupt", action="store_true", help="default: the run goes on")


def submit(config: ExperimentConfig, profile: Profile, options: argparse.Namespace) -> None:
    """Submit what comes next, or drive the whole run. Errors as in `driver.train`."""
    if not options.wait:
        check_waits(config)
    from pipelines.compiling import check_places
    from pipelines.pinning import check_images

    run = run_name(config, options.name)
    profile = profile.with_account(options.service_account)
    check_images(profile)
    check_places(config, profile)
    with os.fdopen(os.dup(1), "w") as terminal:
        display = Display(terminal, config.iterations)
        start = ClusterRunner(
            config, run, profile, connect(options), options.experiment or config.name, display,
            terminate=options.terminate_on_interrupt,
        )  # fmt: skip
        if options.wait:
            finish(config, run, options.retries, start)
        else:
            submit_next(config, run, start)


def finish(config: ExperimentConfig, run: str, retries: int, start: ClusterRunner) -> None:
    """Drive all iterations, then print what `run` prints at its end."""
    from pipelines.closing import close

    options = Options(run, retries=retries, announced=True)
    train(config, options, start.display, start)
    close(config, run, start.display.say)


def submit_next(config: ExperimentConfig, run: str, start: ClusterRunner) -> None:
    """Submit the next run that is missing, and say how to go on."""
    store = open_store(config.storage)
    register_run(store, run, config)
    steps = missing(config, store, run)
    if not steps:
        start.display.say(f"{run}: all {config.iterations} iterations are done, nothing was run")
        return
    pipeline, iteration = steps[0]
    start.begin(pipeline, iteration, call_arguments(pipeline, iteration, config.iterations))
    if len(steps) > 1:
        start.display.say(
            f"{len(steps) - 1} more to submit when it has ended: the same command again, "
            "or with --wait for all"
        )
