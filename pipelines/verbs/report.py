"""`python -m pipelines report`: tables and an HTML report of one run or several."""

import argparse
from typing import Any

from pipelines import arguments

TEXT = "print the tables of runs and write one HTML report of them"
MORE = """Runs that differ in their seed alone become one curve with its interval; others stand
side by side. Both the report and each run's episodes, which it links to, need no network. They lie
in build/runs/RUN, a report of several runs in build/reports. With -o FILE all are beside FILE:
FILE's name with -episodes added, of several runs with -episodes-RUN; move or send them together.

A file is the run that `run` makes of it with the same --set. `make demo` sets more than its file:
name its run.

examples:
  python -m pipelines report quickstart-fa64ed1b      # what `make demo` trained; its end says it
  python -m pipelines report experiments/quickstart/config.yaml --set seed=1
  python -m pipelines report quickstart-fa64ed1b quickstart-2356e215 --store file://build/store
  python -m pipelines report quickstart-fa64ed1b -o talk/quickstart.html
  python -m pipelines report big-1a2b3c4d --profile 8xh100 --price-per-gpu-hour 2.5"""


def add(verbs: Any) -> None:
    """Add the verb."""
    verb = arguments.add_verb(verbs, "report", _report, TEXT, MORE)
    arguments.add_run(verb, many=True)
    verb.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides",
        help="of a single YAML file: a value that the run was begun with",
    )  # fmt: skip
    verb.add_argument("--name", help="of a single YAML file: the run's name, if it was given one")
    verb.add_argument(
        "-o", "--output", metavar="FILE",
        help="the report, its episodes beside it; default: build/runs/RUN/report.html; of several, "
        "under build/reports",
    )  # fmt: skip
    verb.add_argument(
        "--profile", metavar="P", help="where the runs ran: its GPUs are counted (default: none)"
    )
    verb.add_argument(
        "--price-per-gpu-hour", type=_price, metavar="X", help="replaces the profile's"
    )
    verb.add_argument("--no-episodes", action="store_true", help="the report alone")


def _report(options: argparse.Namespace) -> int:
    from components.aligned import aligned
    from components.reporting.experiments import experiments
    from components.reporting.results import cost_table, methods_table
    from components.state import last_committed
    from pipelines.closing import mlflow_command, tell
    from pipelines.looking import write_report

    path = arguments.output_path(options.output)
    found, hardware = _found(options), _hardware(options)
    for item in found:
        last_committed(item.store, item.name)
    written = write_report(found, path, hardware, not options.no_episodes)
    if len(found) == 1:
        tell(found[0], written, print)
        return arguments.OK
    groups = experiments(written.summaries)
    for head, body in (methods_table(groups), cost_table(groups, hardware)):
        print("\n".join(aligned([head, *body], left={-1})), end="\n\n")
    print(f"report: {written.path}\nMLflow: {mlflow_command(found[0].config)}")
    return arguments.OK


def _found(options: argparse.Namespace) -> list[Any]:
    """The runs, each once. ConfigError for a single file's options with several."""
    from components.errors import ConfigError
    from pipelines.finding import find_run, find_run_of

    if not options.overrides and options.name is None:
        return [find_run(text, options.store) for text in dict.fromkeys(options.run)]
    if len(options.run) > 1:
        raise ConfigError(
            f"--set and --name belong to one YAML file, got {len(options.run)} runs; name the runs"
        )
    arguments.check_file(options.run[0])
    return [find_run_of(options.run[0], options.store, options.name, options.overrides)]


def _hardware(options: argparse.Namespace) -> Any:
    from components.errors import ConfigError
    from components.reporting.budget import Hardware

    if options.profile is None:
        if options.price_per_gpu_hour is not None:
            raise ConfigError(
                f"--price-per-gpu-hour {options.price_per_gpu_hour:g}: of which GPUs? A profile "
                "says how many each step books: expected --profile beside it"
            )
        return Hardware()
    from pipelines.compiling import open_profile
    from pipelines.looking import hardware_of

    return hardware_of(open_profile(options.profile), options.price_per_gpu_hour)


def _price(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a price, 0 or more")
    return value
