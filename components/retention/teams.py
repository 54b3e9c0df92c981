"""What registered teams keep: the champions that a rollback can reach, candidates, every alias.

The store's own audit log says where champions came from; the registry says what was moved by hand.
"""

from collections.abc import Iterable, Mapping, Sequence

from components.errors import StorageError, TrackingError
from components.promotion import audit
from components.retention.runs import SMALL_BYTES, read_object
from components.retention.uses import COLLECTED, Use, named_in, policy_uses
from components.settings import TrackingConfig
from components.state import read_state, state_key
from components.storage import Store
from components.tracking.aliased import aliased, has_registry
from components.tracking.connection import tracking_uri

_OWN = ("runs", "gc", "probes", *COLLECTED)
"""Prefixes whose objects are understood, or name no folders; any other small JSON object keeps what
it names."""


def team_names(keys: Iterable[str]) -> list[str]:
    """Teams with an audit log."""
    return sorted({key.split("/")[1] for key in keys if key.startswith("teams/")})


def audited_uses(store: Store, keys: Sequence[str]) -> list[Use]:
    """The line of champions of every team, and the team that was judged last: the candidate.

    StorageError if one of them has no state any more: then nobody knows what it refers to.
    """
    uses: list[Use] = []
    for team in team_names(keys):
        entries = audit.history(store, team)
        kept = [(item["label"], "champions") for item in audit.champions(entries)]
        kept += [(entry.after["label"], "candidates") for entry in entries[-1:]]
        for label, reason in dict(reversed(kept)).items():
            run, _, iteration = label.rpartition("@")
            if state_key(run, int(iteration)) not in keys:
                raise StorageError(
                    f"team {team!r}: {label} was promoted, but its state is not in {store.uri}; "
                    "put it back, or nobody knows which policies the team has"
                )
            for ref in read_state(store, run, int(iteration)).policies.values():
                uses += policy_uses(ref, reason, run)
    return uses


def aliased_uses(places: Iterable[TrackingConfig], teams: Sequence[str]) -> list[Use]:
    """Everything that an alias names in any of the registries.

    TrackingError if one cannot be asked, or is a missing file though teams were registered.
    """
    uses: list[Use] = []
    for uri, place in {tracking_uri(place): place for place in places}.items():
        if not has_registry(place):
            if teams:
                raise TrackingError(
                    f"MLflow at {uri}: no such file, but teams {', '.join(teams)} were registered "
                    "somewhere; work from the project's root, or set MLFLOW_TRACKING_URI"
                )
            continue
        for item in aliased(place):
            what = f"{item.model}@{item.alias}"
            uses += named_in(list(item.uris), what, f"aliases {item.alias}")
    return uses


def other_uses(store: Store, sizes: Mapping[str, int]) -> list[Use]:
    """What small JSON objects name that belong to none of the parts that are understood."""
    uses: list[Use] = []
    for key, size in sizes.items():
        top, _, rest = key.partition("/")
        if top not in _OWN and "/" not in rest and key.endswith(".json") and size <= SMALL_BYTES:
            uses += named_in(dict(read_object(store, key)), key, f"named in {top}/")
    return uses
