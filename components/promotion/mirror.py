"""Tells Kubeflow's Model Registry which team is the champion, after MLflow's aliases have moved.

MLflow is the registry that decides. A mirror that cannot be reached stops nothing: what is missing
there is printed with the command that repeats it.
"""

import sys

from components.errors import TrackingError
from components.settings import TrackingConfig
from components.tracking import teams
from components.tracking.export import export
from components.tracking.manifest import TeamManifest


def mirror(settings: TrackingConfig, champion: TeamManifest, url: str | None) -> str | None:
    """Export the champion to `url`; None: to where this team was exported before, if anywhere.

    Returns None if the mirror, if there is one, is up to date, else the warning that was printed.
    """
    known = teams.mirror_url(settings, champion.team)
    where = url or known
    if where is None:
        return None
    try:
        if where != known:
            teams.remember_mirror(settings, champion.team, where)
        num_changes = export(where, champion, teams.card_uri(settings, champion))
    except TrackingError as error:
        command = f"python -m pipelines register {champion.team}@champion --model-registry {where}"
        warning = f"{error}; repeat it with `{command}`"
        print(f"warning: {warning}", file=sys.stderr, flush=True)
        return warning
    print(f"model registry at {where}: {champion.label}, {num_changes} changes", flush=True)
    return None
