"""What a killed process leaves in a store: begun, never visible, never ended."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Unfinished:
    """A file half written, or an upload in parts."""

    key: str
    """Where it lies, or the key that it was to become."""
    bytes: int
    """So far."""
    started_unix_s: float
    """By the store's clock; of a file, when it was last written to."""
    id: str = ""
    """The upload's."""
