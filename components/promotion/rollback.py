"""Back to the champion before: all aliases together, and an entry in the audit log."""

from dataclasses import dataclass
from typing import Any

from components.errors import TrackingError
from components.promotion import audit
from components.settings import TrackingConfig
from components.storage import Store
from components.tracking import registry
from components.tracking.manifest import TeamManifest


@dataclass(frozen=True)
class Plan:
    """What a rollback will do."""

    before: dict[str, Any]
    """The champion of the audit log: `label` and `versions`."""
    after: dict[str, Any]
    repair: bool
    """The aliases are not where the log says: they go to the log's champion."""
    number: int
    """Of the entry that it will be."""


def plan(store: Store, settings: TrackingConfig, team: str) -> Plan:
    """What `rollback` would do now. TrackingError if there is no earlier champion.

    If the aliases are not where the audit log says (a move was cut short, or they were moved by
    hand), they go to the champion of the log instead of the one before it.
    """
    entries = audit.history(store, team)
    if not entries:
        raise TrackingError(f"team {team!r}: no audit log in {store.uri}; another --store?")
    now = audit.champion(entries)
    if now and not _is_champion(settings, now):
        return Plan(now, now, True, audit.next_number(entries))
    _check_log(store, team, entries)
    line = audit.champions(entries)
    if len(line) < 2:
        raise TrackingError(
            f"team {team!r}: no earlier champion to go back to; {len(line)} left after the "
            f"{len(entries)} entries of its audit log"
        )
    return Plan(line[-1], line[-2], False, audit.next_number(entries))


def _check_log(store: Store, team: str, entries: list[audit.Entry]) -> None:
    """TrackingError for a log that has lost an entry: who was the champion before is not known."""
    if lost := audit.missing(entries):
        raise TrackingError(
            f"team {team!r}: the audit log in {store.uri} has lost its entries {lost}, so which "
            "champion was the one before is not known; put them back from a backup of the store, "
            "or make a team the champion with `python -m pipelines promote RUN --again`"
        )


def rollback(
    store: Store, settings: TrackingConfig, team: str, shown: Plan, who: str = ""
) -> TeamManifest:
    """Carry out a plan: make the previous champion the champion again; again to go back further.

    `who` is written to the log; empty: the login name. TrackingError if the registry fails, or if
    it would no longer do what was shown: then nothing is moved.
    """
    chosen = plan(store, settings, team)
    if (chosen.before, chosen.after, chosen.repair) != (shown.before, shown.after, shown.repair):
        raise _changed(team, shown)
    number = chosen.number
    action = audit.Action.REPAIRED if chosen.repair else audit.Action.ROLLED_BACK
    key = f"{'repair' if chosen.repair else 'rollback'}/{number}"
    entry = audit.Entry(action, key, chosen.before, chosen.after, who=who)
    written = audit.append_as(store, team, entry, number)
    if written is None:
        raise _changed(team, shown)
    return _recorded(store, settings, team, written)


def _changed(team: str, shown: Plan) -> TrackingError:
    return TrackingError(
        f"team {team!r}: somebody moved its aliases or promoted in the meantime, so it is not "
        f"{shown.before['label']} -> {shown.after['label']} any more; nothing was moved, ask again"
    )


def _recorded(
    store: Store, settings: TrackingConfig, team: str, entry: audit.Entry
) -> TeamManifest:
    """Move what an entry says; write down if the move failed."""
    try:
        return _move(settings, team, entry.after, entry.when)
    except TrackingError as error:
        failed = audit.Entry(
            audit.Action.FAILED, entry.key, entry.before, entry.after, gate={"error": str(error)}
        )
        audit.append(store, team, failed)
        raise


def _move(settings: TrackingConfig, team: str, target: dict[str, Any], when: str) -> TeamManifest:
    manifest = registry.read_version(settings, team, target["versions"][team])
    if manifest.label != target["label"]:
        raise TrackingError(
            f"team {team!r}: version {manifest.versions[team]} is {manifest.label} in this "
            f"registry, {target['label']} in the audit log: another registry? --tracking-uri"
        )
    registry.move_alias(settings, manifest, registry.CHAMPION)
    registry.mark_champion(settings, manifest, when)
    return manifest


def _is_champion(settings: TrackingConfig, champion: dict[str, Any]) -> bool:
    versions: dict[str, str] = champion["versions"]
    return registry.alias_versions(settings, list(versions), registry.CHAMPION) == versions
