"""`python -m pipelines serve` and `play`: a team behind servers of this machine, and at work."""

import argparse
import os
from typing import Any

from pipelines import arguments
from pipelines.verbs.export import add_team

SERVE = "serve a team on this machine with vLLM's OpenAI-compatible servers"
SERVE_MORE = """\
examples:
  python -m pipelines serve quickstart@champion
  python -m pipelines serve experiments/quickstart/config.yaml:4 --port 9000
  python -m pipelines serve quickstart@champion --host 0.0.0.0 --api-key-env MY_KEY

A server per distinct weights, on ports from --port on; adapters on one base share one. A role is
asked for by its name ("model": "planner"). Ctrl-C ends them all; so does the end of this command,
however it ends. Logs: build/serve/<team>/."""
PLAY = "let a team play an episode, and watch it or join in"
PLAY_MORE = """\
examples:
  python -m pipelines play quickstart@champion --seed 3
  python -m pipelines play quickstart@champion --seed 3 --endpoint http://127.0.0.1:8000 \\
      --endpoint http://127.0.0.1:8001         # through the servers that `serve` named
  python -m pipelines play quickstart@champion --seed 3 --prompt
  python -m pipelines play quickstart@champion --role planner      # you play the planner

Without --endpoint the team is loaded into this process. Answers are greedy, as in evaluation.
The last line says how the episode ended; exit code 0 if it could be played."""


def add(verbs: Any) -> None:
    """Add both verbs."""
    serve = arguments.add_verb(verbs, "serve", _serve, SERVE, SERVE_MORE)
    add_team(serve)
    serve.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1")
    serve.add_argument(
        "--port", type=arguments.not_negative, default=8000, metavar="N",
        help="of the first server, the others follow; 0: any (default: 8000)",
    )  # fmt: skip
    serve.add_argument(
        "--patience", type=arguments.not_negative, default=600, metavar="S",
        help="seconds until all must answer (default: 600)",
    )  # fmt: skip
    _add_key(serve, "that clients must show")
    play = arguments.add_verb(verbs, "play", _play, PLAY, PLAY_MORE)
    add_team(play)
    play.add_argument(
        "--endpoint", action="append", default=[], metavar="URL", dest="endpoints",
        help="a server of the team, repeatable: they are asked whom they play",
    )  # fmt: skip
    _add_key(play, "that the servers want to see")
    play.add_argument("--env", metavar="NAME", help="one of several environments")
    play.add_argument("--split", choices=("train", "validation", "test"), default="validation")
    play.add_argument(
        "--seed", type=arguments.not_negative, default=0, metavar="N", help="of the task stream"
    )
    play.add_argument(
        "--task", type=arguments.not_negative, default=0, metavar="N", help="index in the stream"
    )
    play.add_argument(
        "--role", action="append", default=[], metavar="NAME", dest="people",
        help="a role that you play yourself, repeatable",
    )  # fmt: skip
    play.add_argument("--prompt", action="store_true", help="show all that a role reads")


def _add_key(verb: Any, what: str) -> None:
    verb.add_argument(
        "--api-key-env", metavar="VAR", help=f"environment variable with a key {what}"
    )


def _key(options: argparse.Namespace) -> str | None:
    from components.errors import ConfigError

    if options.api_key_env is None:
        return None
    if not os.environ.get(options.api_key_env):
        raise ConfigError(f"--api-key-env {options.api_key_env}: the variable is not set, or empty")
    return os.environ[options.api_key_env]


def _serve(options: argparse.Namespace) -> int:
    from pathlib import Path

    from components.models import local_servers
    from pipelines.serving import plans, told
    from pipelines.teams import find_team

    key = _key(options)
    found = find_team(options.team, options.store, options.tracking)
    folder = Path("build/serve") / found.name
    try:
        with local_servers.serving(
            plans(found), folder, options.host, options.port, key
        ) as running:  # fmt: skip
            print(f"starting {len(running)} server(s) of {found.label}; logs: {folder}", flush=True)
            local_servers.await_all(running, key, options.patience)
            for line in told(options.team, running):
                print(line, flush=True)
            local_servers.watch(running)
    except KeyboardInterrupt:
        print("\nended")
    return arguments.OK


def _play(options: argparse.Namespace) -> int:
    from envs.base import Split, Status
    from pipelines.playing import Choice, asked, play_episode
    from pipelines.teams import find_team

    key = _key(options)
    arguments.one_thread()
    found = find_team(options.team, options.store, options.tracking)
    choice = Choice(
        options.env, Split(options.split), options.seed, options.task, tuple(options.people),
        options.prompt,
    )  # fmt: skip
    with asked(found, options.endpoints, key) as team:
        print(f"team {found.label}: {', '.join(found.team.roles)}")
        status = play_episode(found, team, choice)
    return arguments.FAILED if status is Status.ERROR else arguments.OK
