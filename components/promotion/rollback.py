"""Back to the champion before: all aliases together, and an entry in the audit log."""

from components.config import ExperimentConfig
from components.errors import TrackingError
from components.promotion import audit
from components.storage import open_store
from components.tracking import registry
from components.tracking.manifest import TeamManifest


def rollback(config: ExperimentConfig, who: str = "") -> TeamManifest:
    """Make the previous champion the champion again; again to go back further.

    `who` is written to the audit log; empty: the login name. TrackingError if there is none.
    """
    store, team = open_store(config.storage), config.team_name
    line = audit.champions(audit.history(store, team))
    if len(line) < 2:
        raise TrackingError(
            f"team {team!r}: no earlier champion to go back to; the audit log has {len(line)}"
        )
    now, target = line[-1], line[-2]
    manifest = registry.read_version(config.tracking, team, target["versions"][team])
    key = f"rollback/{now['label']}"
    registry.move_alias(config.tracking, manifest, registry.CHAMPION)
    entry = audit.Entry(audit.Action.ROLLED_BACK, key, now, target, manifest.evaluation, {}, who)
    written = audit.append(store, team, entry)
    registry.mark_champion(config.tracking, manifest, written.when)
    return manifest
