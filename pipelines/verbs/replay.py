"""`python -m pipelines replay`: is an episode the same again, token by token?"""

import argparse
import os
from typing import Any

from pipelines import arguments

TEXT = "generate an episode, or one branch of it, again from its seeds, and compare"
MORE = """\
examples:
  python -m pipelines replay plan_path/train/0/17 --run quickstart-fa64ed1b
  python -m pipelines replay plan_path/train/0/200 --run quickstart-fa64ed1b --iteration 3 \\
      --branch 0/planner/2
  python -m pipelines replay quickstart-fa64ed1b/3/plan_path/train/0/200  # an MLflow session
  python -m pipelines replay plan_path/validation/0/3 --run quickstart-fa64ed1b --iteration 3
  python -m pipelines replay plan_path/test/0/3 --run quickstart-fa64ed1b --play "closing test"

Held-out episodes too, where their answers were kept. Every evaluation plays the same ones, so say
whose: `validation` of an iteration is the greedy play of the team that it began with, `closing ...`
that of the last evaluation.

On the cpu profile (fp32, one thread) it is the same to the last token. Elsewhere the first token
that differs is named, the one then and the one now, each with its log-prob; and how far the
log-probs of the tokens before it, which are the same, are from those of then: a tiny gap is
rounding, a large one is another model. Prompts, rewards and picks are compared too.
--engine generates with another engine than the run's, which rounds otherwise: tokens may differ.
exit codes: 0 the same, 1 different, 2 wrong input."""


def add(verbs: Any) -> None:
    """Add the verb."""
    verb = arguments.add_verb(verbs, "replay", _replay, TEXT, MORE)
    verb.add_argument(
        "episode", metavar="EPISODE", help="its id as in the samples, or RUN/ITERATION/ID"
    )
    verb.add_argument("--run", metavar="RUN", help="a run's name, or an experiment's YAML file")
    verb.add_argument("--store", metavar="URI", help="default: the YAML file's, else build/store")
    verb.add_argument(
        "--iteration", type=arguments.not_negative, metavar="N", help="default: looked for"
    )
    verb.add_argument(
        "--branch", metavar="TURN/ROLE/CANDIDATE",
        help="one answer alone; with /NODE behind it where beam keeps several branches",
    )  # fmt: skip
    verb.add_argument(
        "--play", metavar="NAME",
        help='training, validation, "closing test", ...: where several played the episode',
    )  # fmt: skip
    verb.add_argument(
        "--batch", choices=("auto", "alone", "whole"), default="auto",
        help="generate the episode alone, in the whole batch as it was drawn, or (auto) alone "
        "first and in the batch only if a token differs",
    )  # fmt: skip
    verb.add_argument(
        "--engine", choices=("auto", "vllm", "transformers"),
        help="what generates now; default: rollout.engine of the run's configuration",
    )  # fmt: skip
    verb.add_argument("--json", action="store_true", help="the result as JSON on stdout")


def _replay(options: argparse.Namespace) -> int:
    import json
    import sys

    from components.replay.branch import parse_branch
    from components.replay.finding import find_iteration
    from components.replay.main import replay
    from pipelines.finding import find_run

    run, iteration, episode = _place(options)
    branch = parse_branch(options.branch) if options.branch is not None else None
    arguments.one_thread()
    found = find_run(run, options.store)
    if iteration is None:
        iteration = find_iteration(found.store, found.name, episode, options.play)
    with os.fdopen(os.dup(2 if options.json else 1), "w", buffering=1) as told, _quiet(told):
        result = replay(
            found.store, _config(found.config, options.engine), found.name, iteration, episode,
            branch, lambda line: print(line, file=told), options.batch, options.play,
        )  # fmt: skip
    if options.json:
        print(json.dumps(result.to_json(), indent=1))
    else:
        for fault in result.faults:
            print(fault)
        print(_verdict(result))
    sys.stdout.flush()
    return arguments.OK if result.same else arguments.FAILED


def _place(options: argparse.Namespace) -> tuple[str, int | None, str]:
    """Run, iteration and episode; an MLflow session names all three."""
    from components.errors import ConfigError
    from components.numbering import is_number

    if options.run is not None:
        return options.run, options.iteration, options.episode
    run, _, rest = options.episode.partition("/")
    number, _, episode = rest.partition("/")
    if not (run and is_number(number) and episode):
        raise ConfigError(
            f"episode {options.episode!r}: whose? Give --run RUN, or RUN/ITERATION/EPISODE as "
            "MLflow's sessions are named"
        )
    if options.iteration not in (None, int(number)):
        raise ConfigError(
            f"--iteration {options.iteration}: episode {options.episode!r} names iteration {number}"
        )
    return run, int(number), episode


def _config(config: Any, engine: str | None) -> Any:
    """The run's, judged in this process; `engine` replaces its own."""
    changes: dict[str, Any] = {"env_workers": 1} | ({"engine": engine} if engine else {})
    return config.model_copy(update={"rollout": config.rollout.model_copy(update=changes)})


def _quiet(told: Any) -> Any:
    """What the engine prints goes to `told` only where it says which engine it is."""
    from pipelines.runner import captured_output

    def line(text: str) -> None:
        if text.startswith("engine: "):
            print(text, file=told)

    return captured_output(line)


def _verdict(result: Any) -> str:
    num = sum(item.num_tokens for item in result.answers)
    batch = " in the batch of then" if result.whole_batch else ""
    what = f"{len(result.answers)} answers, {num} tokens, engine {result.engine}{batch}"
    if result.same:
        return f"the same: {what}; prompts, rewards and picks too"
    others = sum(not item.same for item in result.answers)
    return f"different: {others} of {what}; {len(result.faults)} other differences"
