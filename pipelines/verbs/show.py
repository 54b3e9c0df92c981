"""`python -m pipelines show`: a registered team, all that its manifest pins."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from components.aligned import aligned
from pipelines import arguments

TEXT = "print a registered team: versions, bases, tokenizers, prompts, evaluation, origin"
MORE = """\
examples:
  python -m pipelines show quickstart                    # its champion
  python -m pipelines show quickstart@candidate --json
  python -m pipelines show quickstart@v2 --tracking-uri http://mlflow.example

A team whose roles are of different runs or iterations is refused: the role is named, with the
version that it has and the one that belongs to the team."""


def add(verbs: Any) -> None:
    """Add the verb."""
    from pipelines.registered import add_team

    verb = arguments.add_verb(verbs, "show", _show, TEXT, MORE)
    add_team(verb, selected=True, stored=False)
    verb.add_argument("--json", action="store_true", help="as JSON on stdout")


def _show(options: argparse.Namespace) -> int:
    import json

    from components.tracking import teams
    from pipelines.registered import named

    chosen = named(options)
    manifest = chosen.manifest()
    versions = teams.role_versions(chosen.tracking, manifest)
    card = teams.card_uri(chosen.tracking, manifest)
    aliases = teams.aliases_of(chosen.tracking, chosen.team)
    own = sorted(name for name, version in aliases.items()
                 if version == manifest.versions[chosen.team])  # fmt: skip
    if options.json:
        content = json.loads(manifest.to_json()) | {
            "label": manifest.label, "aliases": own, "card": card,
            "registered": [vars(version) for version in versions],
        }  # fmt: skip
        print(json.dumps(content, indent=1, sort_keys=True))
    else:
        print(_text(manifest, versions, own, card))
    return arguments.OK


def _text(manifest: Any, versions: Sequence[Any], aliases: Sequence[str], card: Any) -> str:
    number = manifest.versions[manifest.team]
    gate = "passed" if manifest.gate.get("promoted") else "refused"
    reasons = "; ".join(manifest.gate.get("reasons", []))
    facts = [
        ("team", f"{manifest.team} version {number} ({', '.join(aliases) or 'no alias'})"),
        ("from", f"run {manifest.run}, iteration {manifest.iteration}, "
                 f"git commit {manifest.git_commit or 'unknown'}"),
        ("configuration", manifest.config_digest),
        ("gate", f"{gate}: {reasons}" if reasons else gate),
        *_successes(manifest.evaluation),
        *[("environment", _environment(name, of)) for name, of in _envs(manifest).items()],
        ("store", manifest.store.uri),
        ("model card", card or "none"),
    ]  # fmt: skip
    head = ("role", "version", "policy", "base", "base digest", "tokenizer", "chat template")
    rows = [_role(manifest, version) for version in versions]
    return "\n".join([*aligned(facts), "", *aligned([head, *rows])])


def _successes(evaluation: Mapping[str, float]) -> list[tuple[str, str]]:
    """Every benchmark's success with its interval."""
    names = [name.removesuffix("/success") for name in evaluation if name.endswith("/success")]
    return [
        (
            f"success {name}",
            f"{100 * evaluation[f'{name}/success']:.1f} % "
            f"({100 * evaluation[f'{name}/success_low']:.1f} to "
            f"{100 * evaluation[f'{name}/success_high']:.1f}) "
            f"on {evaluation[f'{name}/num_tasks']:.0f} tasks",
        )
        for name in names
    ]


def _envs(manifest: Any) -> dict[str, Mapping[str, str]]:
    return manifest.envs or {manifest.env["name"]: manifest.env}


def _environment(name: str, of: Mapping[str, str]) -> str:
    kind = "" if of["name"] == name else f" ({of['name']})"
    prompts = of["prompts"][:12] if "prompts" in of else "not pinned"
    return (
        f"{name}{kind} version {of['version']}, options {of['options_digest'][:12]}, "
        f"reward {of.get('reward', 'unknown')}, prompts {prompts}"
    )


def _role(manifest: Any, version: Any) -> tuple[str, ...]:
    policy = manifest.roles[version.role]
    pin = manifest.pins.get(policy)
    pins = (pin.base, pin.tokenizer, pin.chat_template) if pin else ("not pinned",) * 3
    tag = manifest.policies[policy].tag
    return (
        version.role, version.version, tag, manifest.bases[policy],
        *(text if text == "not pinned" else text[:12] for text in pins),
    )  # fmt: skip
