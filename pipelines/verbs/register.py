"""`python -m pipelines register`: a team into Kubeflow's Model Registry, beside MLflow's."""

import argparse
from typing import Any

from pipelines import arguments

TEXT = "export a registered team to Kubeflow's Model Registry"
MORE = """\
examples:
  python -m pipelines register quickstart@champion --model-registry http://localhost:8080
  python -m pipelines register quickstart@v2 --model-registry URL     # a version, no champion

Again it changes nothing. From now on promotions and rollbacks of this team go there too;
`promotion.model_registry_url` in an experiment does the same from the first promotion on.
KF_MODEL_REGISTRY_TOKEN holds a bearer token where one is needed."""


def add(verbs: Any) -> None:
    """Add the verb."""
    from pipelines.registered import add_team

    verb = arguments.add_verb(verbs, "register", _register, TEXT, MORE)
    add_team(verb, selected=True)
    verb.add_argument(
        "--model-registry", required=True, metavar="URL",
        help="http(s)://host[:port] of the service model-registry-service, or its ingress",
    )  # fmt: skip


def _register(options: argparse.Namespace) -> int:
    from components.tracking import teams
    from components.tracking.export import export
    from components.tracking.registry import CHAMPION
    from pipelines.registered import named

    chosen = named(options)
    manifest = chosen.manifest()
    number = teams.aliases_of(chosen.tracking, chosen.team).get(CHAMPION)
    champion = number == manifest.versions[chosen.team]
    card = teams.card_uri(chosen.tracking, manifest)
    num_changes = export(options.model_registry, manifest, card, champion)
    teams.remember_mirror(chosen.tracking, chosen.team, options.model_registry)
    as_what = " as champion" if champion else ""
    print(f"{manifest.team}: {manifest.label}{as_what}, {num_changes} changes")
    return arguments.OK
