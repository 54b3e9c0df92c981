"""Whether a team can follow its champion in the registry: both have the same roles.

Asked before anything is trained, because the evaluation, which compares them, comes last.
"""

from components.config import ExperimentConfig
from components.errors import TrackingError
from components.tracking.registry import champion

FIX = "a team with other roles needs a name of its own: set promotion.team"


def check_succession(config: ExperimentConfig) -> None:
    """TrackingError if the team's champion has other roles than the configuration; none is fine."""
    before = champion(config)
    if before is None or set(before.roles) == set(config.roles):
        return
    raise TrackingError(
        f"team {config.team_name!r} has the champion {before.label} with the roles "
        f"{sorted(before.roles)}, this experiment has {sorted(config.roles)}; {FIX}"
    )
