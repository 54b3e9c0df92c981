"""The driver as a step of the pipeline `training`: from the step's parameters to the whole run.

It drives in a process of its own (this module as a program): inside a step, kfp is cut down to what
a step needs and cannot compile. A step that is terminated passes that on, and waits.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from components.config import ExperimentConfig, parse_config
from components.errors import ConfigError, RolewiseError
from components.storage import open_store
from pipelines.access import find_access
from pipelines.api import Api
from pipelines.cluster import ClusterRunner
from pipelines.display import Display
from pipelines.driver import Options, run_name, train
from pipelines.interrupts import interruptible
from pipelines.profile import Profile, parse_profile

KFP_RUNTIME = "_KFP_RUNTIME"
"""What kfp sets in a step's environment to be cut down."""


def drive_in_child(parameters: Mapping[str, Any], report: str) -> None:
    """Drive a run to its end; the HTML report goes to `report`. RuntimeError if it fails: the
    child has said why in a line that begins with `error:`."""
    environment = {name: value for name, value in os.environ.items() if name != KFP_RUNTIME}
    command = [sys.executable, "-m", "pipelines.driving", json.dumps(parameters), report]
    child = subprocess.Popen(command, env=environment)
    signal.signal(signal.SIGTERM, lambda *_: child.send_signal(signal.SIGTERM))
    if code := child.wait():
        raise RuntimeError(f"the driver ended with exit code {code}")


def main(text: str, report: str) -> int:
    """The child: 0 done, 1 a run failed or a parameter is wrong, 130 stopped."""
    parameters = json.loads(text)
    try:
        with interruptible():
            drive(parameters, report)
    except RolewiseError as error:
        run = f"run {parameters['run'] or 'unnamed'}, iteration all"
        told = str(error).removeprefix("error: ")
        print(f"error: train ({run}): {told}", file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        print("stopped; start it again with the same parameters to go on", flush=True)
        return 130
    return 0


def drive(parameters: Mapping[str, Any], report: str) -> None:
    """Submit the runs that are missing, one by one, and write the report. Errors as in `train`."""
    config = _config(parameters)
    run = run_name(config, parameters["run"] or None)
    with TemporaryDirectory() as folder:
        start = ClusterRunner(
            config, run, _profile(parameters), _connect(parameters),
            parameters["experiment"] or config.name, Display(sys.stdout, config.iterations),
            folder=Path(folder), terminate=parameters["terminate_on_stop"],
        )  # fmt: skip
        train(config, Options(run, retries=parameters["retries"]), start.display, start)
    _write_report(config, run, report)


def _config(parameters: Mapping[str, Any]) -> ExperimentConfig:
    """The configuration with what was typed. ConfigError names a wrong parameter."""
    for name, least in (("iterations", 1), ("retries", 0)):
        value = parameters[name]
        if not isinstance(value, int) or value < least:
            raise ConfigError(f"{name} is {value!r}: expected a whole number, {least} or more")
    config = parse_config(parameters["config"])
    return config.model_copy(update={"iterations": parameters["iterations"]})


def _profile(parameters: Mapping[str, Any]) -> Profile:
    content = json.loads(parameters["profile"])
    account = parameters["service_account"] or None
    return parse_profile(content.pop("name"), content).with_account(account, "service_account")


def _connect(parameters: Mapping[str, Any]) -> Api:
    access = find_access(parameters["endpoint"] or None, None, parameters["namespace"] or None)
    if access is None:
        raise ConfigError("endpoint is empty, and this is no pod: give the address of the API")
    api = Api(access)
    api.check()
    return api


def _write_report(config: ExperimentConfig, run: str, path: str) -> None:
    from components.reporting.html import html_report
    from components.reporting.summary import collect

    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(html_report(collect(open_store(config.storage), config, run)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
