"""`python -m pipelines export`: a trained team as a folder that other programs load."""

import argparse
import os
from typing import Any

from pipelines import arguments

TEXT = "write a team's policies, tokenizers and manifest into a folder"
MORE = """\
examples:
  python -m pipelines export quickstart@champion --output build/team
  python -m pipelines export experiments/quickstart/config.yaml:4 --output build/team
  python -m pipelines export plan_path_smollm2@champion --merge --output build/team
  python -m pipelines export sokoban@champion --role planner --output build/planner
  python -m pipelines export sokoban@champion --output build/team --to s3://bucket/exports

The folder loads in plain transformers and in vLLM; its README.md says how, and names licences.
--merge turns adapters into full weights (in float32, rounded once)."""


def add(verbs: Any) -> None:
    """Add the verb."""
    verb = arguments.add_verb(verbs, "export", _export, TEXT, MORE)
    add_team(verb)
    verb.add_argument("-o", "--output", required=True, metavar="DIR", help="a new or empty folder")
    verb.add_argument("--merge", action="store_true", help="merge adapters into their bases")
    verb.add_argument("--role", metavar="R", help="the policy that plays this role, alone")
    verb.add_argument("--to", metavar="URI", help="put the folder into this store, too")
    verb.add_argument("--cache", metavar="DIR", help="default: the configuration's")


def add_team(verb: Any) -> None:
    """TEAM and where it is looked for, for `teams.find_team`."""
    verb.add_argument(
        "team", metavar="TEAM",
        help="TEAM@alias or TEAM@v2 of the registry, or RUN[:iteration]: a run's name or an "
        "experiment's YAML file",
    )  # fmt: skip
    verb.add_argument(
        "--store", metavar="URI", help="where its run is; default: where the registry or YAML says"
    )
    arguments.add_tracking(verb)


def _export(options: argparse.Namespace) -> int:
    from pathlib import Path

    from components.models.exporting import export_team
    from components.storage import open_store
    from pipelines.teams import find_team, wanted

    os.environ.setdefault("DS_ACCELERATOR", "cpu")  # else DeepSpeed tells what it looked for
    found = find_team(options.team, options.store, options.tracking)
    cache = Path(options.cache or found.config.storage.cache)
    target = Path(options.output)
    storage = found.config.storage.model_copy(update={"uri": options.to or found.store.uri})
    store = open_store(storage)  # a wrong address is told before there is a folder
    made = export_team(wanted(found, cache, options.merge, options.role), target)
    if options.to:
        print(f"stored: {store.upload_folder(target, 'exports').uri}")
    print(f"{target}: {', '.join(made.roles)} of {found.label}; see {target / 'README.md'}")
    return arguments.OK
