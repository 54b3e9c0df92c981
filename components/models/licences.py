"""Under which licence exported weights are, as far as it is known here."""

from pathlib import Path

from components.models.records import read_origin
from components.policies import PolicyRef
from components.promotion.licences import UNKNOWN, licence_of
from components.storage import Store


def note(store: Store, base: str, ref: PolicyRef, folder: Path) -> str:
    """One sentence: what the weights are made of and whose licence goes on.

    Args:
        base: where the policy began, as configured.
        ref, folder: the full weights or the adapter's base, and their local folder.
    """
    origin = read_origin(folder)
    source = str(origin.get("source") or base)
    licence = str(origin.get("licence") or licence_of(store, base, ref))
    if base.startswith("init://"):
        return "made from scratch and trained here; no one else's weights are in it"
    if licence == UNKNOWN:
        return f"trained from {source}, whose licence is not known here and goes on: look there"
    return f"trained from {source}, licence {licence}, which goes on"
