"""From a store to a plan: what lies there, who refers to it, what its logs say."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from components.config import parse_config
from components.errors import ConfigError
from components.retention.notes import notes
from components.retention.plan import Plan, Scope, folders_in, make_plan
from components.retention.runs import KEEP_ALL, Rules, read_object, run_names, run_uses
from components.retention.teams import aliased_uses, audited_uses, other_uses, team_names
from components.retention.uses import COLLECTED, Use
from components.settings import StorageConfig, TrackingConfig
from components.storage import Store, removal
from components.storage.parallel import in_parallel
from components.storage.unfinished import Unfinished

_CONCURRENCY = 8
_PREFIXES = (
    *COLLECTED, "runs", "models", "teams", "gc", "preflight", "probes", "exports", "served",
)  # fmt: skip
"""Everything that is ever written to a store."""


def plan(
    store: Store,
    rules: Mapping[str, Rules],
    tracking: Sequence[TrackingConfig],
    run: str | None,
    grace_s: float,
) -> Plan:
    """What `gc` would do now.

    Args:
        rules: run -> how much of it is kept.
        tracking: the registries whose aliases count.
        run: the one to look at; None: all of the store.

    Any error means that a reference could not be read: it rises, and nothing is removed.
    """
    sizes = store.sizes("")  # first: what appears later is not looked at
    keys = sorted(sizes)
    uses: list[Use] = []
    for name in run_names(keys):
        uses += run_uses(store, keys, name, rules.get(name, KEEP_ALL))
    uses += audited_uses(store, keys)
    uses += aliased_uses(tracking, team_names(keys))
    uses += other_uses(store, sizes)
    folders = folders_in(sizes)
    entries = _entries(store, {folder.key for folder in folders})
    left = [] if run is not None else [left for left in store.unfinished() if _is_ours(left)]
    scope = Scope(run, time.time(), grace_s)
    found = make_plan(folders, uses, entries, left, scope)
    return replace(found, notes=notes(store, sizes, found.items, scope))


def _is_ours(left: Unfinished) -> bool:
    """A bucket without a prefix may hold other people's uploads."""
    return left.key.partition("/")[0] in _PREFIXES


def run_settings(
    store: Store, run: str, keys: Sequence[str]
) -> tuple[StorageConfig, TrackingConfig]:  # fmt: skip
    """Storage and tracking as a run was begun with; the defaults if it has no configuration.

    ConfigError if it has one that cannot be read.
    """
    key = f"runs/{run}/config.json"
    if key not in keys:
        return StorageConfig(), TrackingConfig()
    content = read_object(store, key)
    if not content:
        raise ConfigError(f"{store.uri}/{key}: cannot be read: no JSON object; restore it")
    try:
        config = parse_config(content, f"{store.uri}/{key}")
        return config.storage, config.tracking
    except ConfigError:  # of another version: what is asked for here has hardly changed
        storage, tracking = content.get("storage", {}), content.get("tracking", {})
        known = {name: storage[name] for name in StorageConfig.model_fields if name in storage}
        uri = {name: tracking[name] for name in ("uri", "experiment") if name in tracking}
        return StorageConfig(**known), TrackingConfig(**uri)


def _entries(store: Store, folders: set[str]) -> dict[str, removal.Entry]:
    """Folder -> the last entry of its log."""
    keys = {
        folder: key for folder, key in removal.last_keys(store).items() if folder in folders
    }  # fmt: skip
    read = in_parallel(lambda key: removal.read(store, key), keys.values(), _CONCURRENCY)
    return dict(zip(keys, read, strict=True))
