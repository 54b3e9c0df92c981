"""`python -m pipelines history`: who made which team the champion, when, on what evidence."""

import argparse
import sys
from typing import Any

from components.aligned import aligned
from pipelines import arguments

TEXT = "print a team's audit log: promotions, refusals, rollbacks"
MORE = """\
examples:
  python -m pipelines history quickstart
  python -m pipelines history quickstart --json
  python -m pipelines history quickstart --store s3://bucket/teams   # also if MLflow is lost"""


def add(verbs: Any) -> None:
    """Add the verb."""
    from pipelines.registered import add_team

    verb = arguments.add_verb(verbs, "history", _history, TEXT, MORE)
    add_team(verb, selected=False)
    verb.add_argument("--json", action="store_true", help="all entries as JSON on stdout")


def _history(options: argparse.Namespace) -> int:
    import json
    from dataclasses import asdict

    from components.errors import ConfigError
    from components.promotion import audit
    from pipelines.registered import named

    chosen = named(options, selected=False)
    store = chosen.store()
    entries = audit.history(store, chosen.team)
    if not entries:
        raise ConfigError(f"team {chosen.team!r}: no audit log in {store.uri}; another --store?")
    if lost := audit.missing(entries):
        print(f"warning: entries {lost} of the log are lost", file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps([asdict(entry) for entry in entries], indent=1))
    else:
        print("\n".join(_table(entries)))
    return arguments.OK


def _table(entries: list[Any]) -> list[str]:
    head = ("", "when", "who", "what", "from", "to", "gain", "validation success")
    rows: list[tuple[str, ...]] = [head, *map(_row, entries)]
    return aligned(rows)


def _row(entry: Any) -> tuple[str, ...]:
    gate, success = entry.gate, entry.metrics.get("validation/success")
    gain = (
        f"{100 * gate['gain']:+.1f} ({100 * gate['low']:+.1f} to {100 * gate['high']:+.1f})"
        if "gain" in gate
        else _plain(str(gate.get("error", "")))[:60]
    )
    return (
        str(entry.number), entry.when.replace("+00:00", "Z"), _plain(entry.who),
        str(entry.action).replace("_", " "), entry.before["label"] if entry.before else "",
        entry.after["label"], gain, "" if success is None else f"{100 * success:.1f} %",
    )  # fmt: skip


def _plain(text: str) -> str:
    """Signs that would move the cursor or break the line are spelled out."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)
