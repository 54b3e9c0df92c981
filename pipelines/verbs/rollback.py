"""`python -m pipelines rollback`: the champion before becomes the champion again."""

import argparse
import sys
from typing import Any

from pipelines import arguments

TEXT = "make the previous champion the champion again, all roles together"
MORE = """\
examples:
  python -m pipelines rollback quickstart            # says from what to what, and asks
  python -m pipelines rollback quickstart --yes      # again: one further back

Where aliases are not as the audit log says (moved by hand, or a move was cut short), they are put
back to the log's champion instead."""


def add(verbs: Any) -> None:
    """Add the verb."""
    from pipelines.registered import add_team

    verb = arguments.add_verb(verbs, "rollback", _rollback, TEXT, MORE)
    add_team(verb, selected=False)
    verb.add_argument("--yes", action="store_true", help="do not ask")
    verb.add_argument("--who", default="", help="for the log; default: the login name")


def _rollback(options: argparse.Namespace) -> int:
    from components.errors import ConfigError
    from components.promotion.mirror import mirror
    from components.promotion.rollback import plan, rollback
    from pipelines.registered import named

    if not options.who.isprintable():
        raise ConfigError(f"--who {options.who!r}: expected a name of printable characters")
    chosen = named(options, selected=False)
    store = chosen.store()
    intended = plan(store, chosen.tracking, chosen.team)
    print(_sentence(chosen.team, intended))
    if not options.yes:
        if not sys.stdin.isatty():
            raise ConfigError("nobody is there to ask: give --yes")
        if _answer("move the aliases? [y/N] ") not in ("y", "yes"):
            print("nothing was moved")
            return arguments.OK
    now = rollback(store, chosen.tracking, chosen.team, intended, options.who)
    print(f"champion of {chosen.team}: {now.label}, {_versions(now.versions)}")
    return arguments.FAILED if mirror(chosen.tracking, now, None) else arguments.OK


def _answer(question: str) -> str:
    try:
        return input(question).strip().lower()
    except EOFError:  # Ctrl-D
        print()
        return ""


def _sentence(team: str, intended: Any) -> str:
    if intended.repair:
        return (
            f"{team}: the aliases are not where the audit log says; they go to its champion "
            f"{intended.after['label']}, {_versions(intended.after['versions'])}"
        )
    return (
        f"{team}: champion {intended.before['label']} -> {intended.after['label']}, "
        f"{_versions(intended.after['versions'])}"
    )


def _versions(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} version {number}" for name, number in versions.items())
