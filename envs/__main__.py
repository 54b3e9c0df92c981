"""`python -m envs`: list the environments, check one, or play an episode."""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Any

import yaml

from envs.base import Environment, Split, Status
from envs.checks import check_env
from envs.describing import description, options_of, presets_of, table
from envs.playing import HELP, Ask, Table, play, printable
from envs.registry import Recipe

_EXAMPLES = """\
examples:
  python -m envs list                             every environment in one line
  python -m envs list sokoban                     its options, roles and rewards
  python -m envs play sokoban --seed 3            you play the last role, examples the others
  python -m envs play sokoban --role all          you play every role
  python -m envs play plan_path --auto            watch prompts, example answers and rewards
  python -m envs check plan_path --set prompt_style=compact --set action_language=cells
  python -m envs check my_package.my_env:make     the contract, for an environment of your own
"""
_PLAY = """\
Play one episode. You see the picture and write the answers of the last role, which decides; the
other roles answer with the environment's demonstrations, which are poor on purpose. Each answer is
judged as a model's would be: an illegal one is an outcome with its rewards.

"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0, 1 if a check failed, 2 for a wrong command, 130 if it was interrupted."""
    options = _parser().parse_args(arguments)
    verbs = {"list": _list, "check": _check, "play": _play}
    try:
        return verbs[options.verb](options)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader has seen enough, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m envs",
        description="Environments that teams are trained in: see which exist, check that one "
        "keeps the contract of envs/base.py, or play an episode.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|check|play")
    listing = verbs.add_parser("list", help="names that env.name may have, besides module:factory")
    listing.add_argument("name", nargs="?", help="show this one's options, roles and rewards")
    check = verbs.add_parser("check", help="run the contract's test; one sentence per failure")
    playing = verbs.add_parser(
        "play",
        help="play one episode, or watch it",
        description=_PLAY + HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    listing.set_defaults(values=[], reward=None)
    for verb in (check, playing):
        _add_common(verb)
    check.add_argument("--tasks", type=_positive, default=6, help="episodes per split (default: 6)")
    _add_play(playing)
    return parser


def _add_common(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("name", help="a listed name, or module:factory")
    verb.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="values",
                      help="an option of the environment, the value as YAML")  # fmt: skip
    verb.add_argument("--reward", help="reward preset (default: dense; check: every one)")
    verb.add_argument("--seed", type=int, default=0, help="of the task stream (default: 0)")
    verb.add_argument("--turns", type=_positive, default=4, help="at most (default: 4)")


def _add_play(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--split", choices=[split.value for split in Split], default="train")
    verb.add_argument("--task", type=int, default=0, help="index in the stream (default: 0)")
    verb.add_argument("--role", action="append", default=[], metavar="NAME", dest="people",
                      help="a role that you play, repeatable, or `all` "
                      "(default: the last)")  # fmt: skip
    verb.add_argument("--auto", action="store_true",
                      help="every role answers with demonstrations, prompts are shown; so does a "
                      "command that is given no terminal and no input")  # fmt: skip
    shown = verb.add_mutually_exclusive_group()
    shown.add_argument("--prompt", action="store_true", help="show all that a role reads")
    shown.add_argument("--picture", action="store_true", help="show pictures, with --auto too")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number, 1 or more")
    return int(text)


def _recipe(options: argparse.Namespace) -> Recipe:
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
    return Recipe(options.name, values, options.reward or "dense")


def _list(options: argparse.Namespace) -> int:
    if options.name is None:
        print("\n".join(table()))
        print("\npython -m envs list NAME shows the options; env.name may also be module:factory")
        return 0
    env = _recipe(options).make()
    print(f"{options.name} {env.version}: {description(env)}")
    print(f"roles: {', '.join(env.roles)} ({env.order.value})")
    for title, lines in {"rewards": presets_of(env), "options": options_of(env)}.items():
        print("\n".join([f"\n{title}", *(f"  {line}" for line in lines)]))
    return 0


def _check(options: argparse.Namespace) -> int:
    first = _recipe(options)
    env = first.make()
    presets = [options.reward] if options.reward else sorted(env.reward_presets)
    failures = []
    for preset in presets:
        recipe = first._replace(reward=preset)
        found = check_env(
            recipe.make(),
            num_tasks=options.tasks,
            num_turns=options.turns,
            seed=options.seed,
            recipe=recipe,
        )
        failures += [f"FAILED with reward {preset}: {failure}" for failure in found]
    print("\n".join(failures) or f"ok {env.name} {env.version}: the contract holds with the "
          f"reward{'s' if presets[1:] else ''} {', '.join(presets)}")  # fmt: skip
    return 1 if failures else 0


def _play(options: argparse.Namespace) -> int:
    env = _recipe(options).make()
    (task,) = env.tasks(Split(options.split), options.seed, options.task, 1)
    people, ask = _people(options, env)
    prompts = options.prompt or not (people or options.picture)
    status = play(Table(env, people, prompts, Random(options.seed), ask), task, options.turns)
    return 2 if status is Status.ERROR else 0


def _people(options: argparse.Namespace, env: Environment) -> tuple[tuple[str, ...], Ask]:
    """The roles that a person plays, and how they are asked."""
    strangers = sorted(set(options.people) - {*env.roles, "all"})
    if strangers:
        raise ValueError(f"--role {strangers[0]}: expected one of {[*env.roles, 'all']}")
    if options.auto:
        return (), input
    named = env.roles if "all" in options.people else options.people or env.roles[-1:]
    people = tuple(role for role in env.roles if role in named)
    if sys.stdin.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401  (lines can be edited, and called up again)
        return people, input
    first = sys.stdin.readline()
    if not first and not options.people:
        print("no terminal and no input: every role is demonstrated (--auto)", file=sys.stderr)
        return (), input
    return people, _from_pipe(first)


def _from_pipe(first: str) -> Ask:
    """Lines of the standard input, shown as if they had been typed."""
    waiting = [first]

    def ask(shown: str) -> str:
        line = waiting.pop() if waiting else sys.stdin.readline()
        if not line:
            raise EOFError
        print(shown + printable(line.rstrip("\n")))
        return line.rstrip("\n")

    return ask


if __name__ == "__main__":
    sys.exit(main())
