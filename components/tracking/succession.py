"""Whether a team can follow its champion in the registry: both have the same roles.

Asked before anything is trained, because the evaluation, which compares them, comes last.
"""

from components.config import ExperimentConfig
from components.errors import TrackingError
from components.tracking.manifest import TeamManifest
from components.tracking.registry import champion

FIX = "a team with other roles needs a name of its own: set promotion.team"


def check_succession(config: ExperimentConfig) -> TeamManifest | None:
    """The team's champion, if there is one. TrackingError if it has other roles than the
    configuration."""
    before = champion(config)
    if before is None or set(before.roles) == set(config.roles):
        return before
    raise TrackingError(
        f"team {config.team_name!r} has the champion {before.label} with the roles "
        f"{sorted(before.roles)}, this experiment has {sorted(config.roles)}; {FIX}"
    )
