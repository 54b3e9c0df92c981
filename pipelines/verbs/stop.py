"""`python -m pipelines stop`: ends who drives a run on this machine, and its run on a cluster."""

import argparse
from typing import TYPE_CHECKING, Any

from pipelines import arguments

if TYPE_CHECKING:
    from pipelines.api import Api
    from pipelines.finding import FoundRun

TEXT = "stop a run: the process that drives it here, and with --endpoint its run on the cluster"
MORE = """examples:
  python -m pipelines stop quickstart-fa64ed1b
  python -m pipelines stop quickstart-fa64ed1b --endpoint http://127.0.0.1:8888

As Ctrl-C does: what is committed stays, and the command that is printed goes on with the run. Only
a process that is proven to be the run's driver is ended. Without --endpoint, a run that `submit`
waits for goes on on the cluster. Exit code 1: it has not ended yet."""


def add(verbs: Any) -> None:
    """Add the verb."""
    from pipelines.connecting import add_access

    verb = arguments.add_verb(verbs, "stop", _stop, TEXT, MORE)
    arguments.add_run(verb)
    verb.add_argument(
        "--wait-s", type=arguments.not_negative, default=60, metavar="S",
        help="how long to wait for the end; default: 60",
    )  # fmt: skip
    add_access(verb, "terminates the run's active run there")


def _stop(options: argparse.Namespace) -> int:
    from pipelines.connecting import connect_if_asked
    from pipelines.overview import open_run

    api = connect_if_asked(options)  # before anything is ended: the answer may be no
    found = open_run(options.run, options.store)
    ended = _stop_driver(found, options.wait_s) if api is None else _stop_both(api, found, options)
    print("\n".join(_left(found)))
    return arguments.OK if ended else arguments.FAILED


def _stop_both(api: "Api", found: "FoundRun", options: argparse.Namespace) -> bool:
    """The run on the cluster is asked first: a driver that is stopped while it goes on says so."""
    from pipelines.remote import ask_to_terminate, await_ended, runs_of

    asked = ask_to_terminate(api, runs_of(api, found), print)
    ended = _stop_driver(found, options.wait_s)
    known = {run.id for run in asked}
    later = [run for run in runs_of(api, found) if run.id not in known]  # the driver's last deed
    asked += ask_to_terminate(api, later, print)
    if not asked:
        print(f"{found.name}: no active run of it on {options.endpoint}")
    return await_ended(api, asked, options.wait_s, print) and ended


def _stop_driver(found: "FoundRun", wait_s: float) -> bool:
    """End the local driver; whether there is none any more."""
    from pipelines.overview import ago, state_of
    from pipelines.presence import last_driver, stop_process

    driver, state = last_driver(found.name), state_of(found)
    if driver is None or state.state != "running":
        said = f"{state.state} ({state.said})" if state.said else state.state
        print(f"{found.name}: nobody drives it on this machine: {said}")
        return True
    print(f"{found.name}: stopping process {driver.pid}, begun {ago(driver.began_unix_s)}")
    if stop_process(driver, wait_s):
        print(f"{found.name}: stopped")
        return True
    print(
        f"{found.name}: process {driver.pid} has not ended in {wait_s} s; ask again, or end it by "
        f"`kill -9 {driver.pid}`: what is committed stays then too"
    )
    return False


def _left(found: "FoundRun") -> list[str]:
    """What is committed, what is not repeated, and how to go on."""
    from components.manifests import read_manifest
    from pipelines.overview import state_of
    from pipelines.presence import last_driver

    state = state_of(found)
    lines = [f"committed: iteration {state.progress} in {found.store.uri}"]
    number = 0 if state.iteration is None else state.iteration + 1
    if done := list(read_manifest(found.store, found.name, number)):
        lines.append(f"of iteration {number}: {', '.join(done)}, which will not be repeated")
    driver = last_driver(found.name)
    if driver and state.state in ("failed", "stopped"):
        lines.append(f"go on with: {driver.command}")
    return lines
