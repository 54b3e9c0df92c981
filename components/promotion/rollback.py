"""Back to the champion before: all aliases together, and an entry in the audit log."""

from typing import Any

from components.config import ExperimentConfig
from components.errors import TrackingError
from components.promotion import audit
from components.storage import Store, open_store
from components.tracking import registry
from components.tracking.manifest import TeamManifest


def rollback(config: ExperimentConfig, who: str = "") -> TeamManifest:
    """Make the previous champion the champion again; again to go back further.

    If the aliases are not where the audit log says (a move was cut short, or they were moved by
    hand), they go to the champion of the log instead. `who` is written to the log; empty: the
    login name. TrackingError if there is no earlier champion or the registry fails.
    """
    store, team = open_store(config.storage), config.team_name
    entries = audit.history(store, team)
    line = audit.champions(entries)
    if line and not _is_champion(config, line[-1]):
        return _move(config, line[-1], entries[-1].when)
    if len(line) < 2:
        raise TrackingError(
            f"team {team!r}: no earlier champion to go back to; the audit log has {len(line)}"
        )
    now, target = line[-1], line[-2]
    key = f"rollback/{len(entries) + 1}"
    entry = audit.Entry(audit.Action.ROLLED_BACK, key, now, target, who=who)
    return _recorded(config, store, entry)


def _recorded(config: ExperimentConfig, store: Store, entry: audit.Entry) -> TeamManifest:
    """Write the entry, then move; write down if the move failed."""
    written = audit.append(store, config.team_name, entry)
    try:
        return _move(config, entry.after, written.when)
    except TrackingError as error:
        failed = audit.Entry(
            audit.Action.FAILED, entry.key, entry.before, entry.after, gate={"error": str(error)}
        )
        audit.append(store, config.team_name, failed)
        raise


def _move(config: ExperimentConfig, target: dict[str, Any], when: str) -> TeamManifest:
    team = config.team_name
    manifest = registry.read_version(config.tracking, team, target["versions"][team])
    registry.move_alias(config.tracking, manifest, registry.CHAMPION)
    registry.mark_champion(config.tracking, manifest, when)
    return manifest


def _is_champion(config: ExperimentConfig, champion: dict[str, Any]) -> bool:
    versions: dict[str, str] = champion["versions"]
    found = registry.alias_versions(config.tracking, list(versions), registry.CHAMPION)
    return found == versions
