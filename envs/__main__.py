"""`python -m envs`: list the environments, check one, or watch an episode."""

import argparse
import sys
from collections.abc import Sequence
from random import Random
from typing import Any

import yaml

from envs.base import Demonstrates, Environment, Split, State, Status
from envs.checks import check_env
from envs.registry import available, make_environment

_EXAMPLES = """\
examples:
  python -m envs list
  python -m envs check plan_path --set prompt_style=compact --set action_language=cells
  python -m envs check my_package.my_env:make     the contract, for an environment of your own
  python -m envs play plan_path --seed 3          prompts, example answers and their rewards
  python -m envs play plan_path --answer          the same, but you answer (one line each)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 if a check failed, 2 if the command cannot be understood."""
    options = _parser().parse_args(arguments)
    if options.verb == "list":
        print("\n".join(available()))
        return 0
    try:
        env = _make(options)
        return _check(options, env) if options.verb == "check" else _play(options, env)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m envs",
        description="Environments that teams are trained in: see which exist, check that one "
        "keeps the contract of envs/base.py, or watch an episode.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|check|play")
    verbs.add_parser("list", help="names that env.name may have, besides module:Class")
    check = verbs.add_parser("check", help="run the contract's test; one sentence per failure")
    play = verbs.add_parser("play", help="print one episode")
    for verb in (check, play):
        verb.add_argument("name", help="a listed name, or module:Class")
        verb.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="values",
                          help="an option of the environment, the value as YAML")  # fmt: skip
        verb.add_argument("--reward", default="dense", help="reward preset (default: dense)")
        verb.add_argument("--seed", type=int, default=0, help="of the task stream (default: 0)")
        verb.add_argument("--turns", type=_positive, default=4, help="at most (default: 4)")
    check.add_argument("--tasks", type=_positive, default=6, help="episodes per split (default: 6)")
    play.add_argument("--split", choices=[split.value for split in Split], default="train")
    play.add_argument("--task", type=int, default=0, help="index in the stream (default: 0)")
    play.add_argument("--answer", action="store_true", help="read the answers from the terminal")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number, 1 or more")
    return int(text)


def _make(options: argparse.Namespace) -> Environment:
    values: dict[str, Any] = {}
    for pair in options.values:
        key, equals, text = pair.partition("=")
        if not equals:
            raise ValueError(f"--set {pair!r}: expected KEY=VALUE")
        *parents, last = key.split(".")
        section = values
        for parent in parents:
            section = section.setdefault(parent, {})
            if not isinstance(section, dict):
                raise ValueError(f"--set {pair!r}: {parent!r} is a value, not a section")
        try:
            section[last] = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(f"--set {pair!r}: not YAML: {' '.join(str(error).split())}") from error
    return make_environment(options.name, values, options.reward)


def _check(options: argparse.Namespace, env: Environment) -> int:
    failures = check_env(
        env,
        num_tasks=options.tasks,
        num_turns=options.turns,
        seed=options.seed,
        again=lambda: _make(options),
    )
    for failure in failures:
        print(f"FAILED {failure}")
    if not failures:
        print(f"ok {env.name} {env.version}: the contract holds")
    return 1 if failures else 0


def _play(options: argparse.Namespace, env: Environment) -> int:
    (task,) = env.tasks(Split(options.split), options.seed, options.task, 1)
    state, rng = env.reset(task), Random(options.seed)
    print(f"task {task.task_id}")
    for turn in range(options.turns):
        for role in env.roles:
            print(f"\n--- turn {turn}, {role} reads")
            print("\n".join(message["content"] for message in env.observe(state, role)))
            text = _answer(options, env, state, role, rng)
            result = env.step(state, role, text)
            parts = ", ".join(
                f"{part} {value:+.3f}" for part, value in result.rewards.local.items()
            )
            print(f"--- {role} writes\n{text}")
            print(f"--- team {result.rewards.team:+.3f}; {parts or 'no local parts'}")
            state = result.state
            if result.status is not Status.RUNNING:
                print(f"\n{result.status.value} in turn {turn}")
                return 0
    print(f"\n{Status.OUT_OF_TURNS.value} after {options.turns} turns")
    return 0


def _answer(
    options: argparse.Namespace, env: Environment, state: State, role: str, rng: Random
) -> str:
    if options.answer:
        try:
            return input(f"--- your answer as {role}: ")
        except EOFError:
            raise ValueError(f"no more answers; expected a line for {role}") from None
    if not isinstance(env, Demonstrates):
        raise ValueError(f"{env.name} has no example answers; play it with --answer")
    return env.demonstrate(state, role, rng)


if __name__ == "__main__":
    sys.exit(main())
