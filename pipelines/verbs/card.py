"""`python -m pipelines card`: a team's model card, made from its run."""

import argparse
from typing import Any

from pipelines import arguments

TEXT = "write a registered team's model card (Markdown)"
MORE = """\
examples:
  python -m pipelines card quickstart@champion                 # to the terminal
  python -m pipelines card quickstart@champion -o README.md

Its header is the one that model hubs read. Promotion attaches the same text to the registered
version; here it is made again, with the curve as it is stored now."""


def add(verbs: Any) -> None:
    """Add the verb."""
    from pipelines.registered import add_team

    verb = arguments.add_verb(verbs, "card", _card, TEXT, MORE)
    add_team(verb, selected=True)
    verb.add_argument("-o", "--output", metavar="FILE", help="default: stdout")


def _card(options: argparse.Namespace) -> int:
    from components.promotion.card import model_card
    from components.promotion.facts import collect_stored
    from pipelines.looking import replacing
    from pipelines.registered import named

    path = arguments.output_path(options.output)
    chosen = named(options)
    manifest = chosen.manifest()
    text = model_card(collect_stored(chosen.store(manifest), manifest))
    if path is None:
        print(text, end="")
    else:
        with replacing(path) as file:
            file.write(text)
        print(f"{path}: model card of {manifest.team} {manifest.label}")
    return arguments.OK
