"""Under which licence a policy's base came, as far as its files or its package say so.

Nothing is asked of any network. What is not known is said to be not known.
"""

import re
from importlib import metadata

from components.errors import StorageError
from components.policies import PolicyRef
from components.promotion.pins import folder_files
from components.storage import Store
from components.storage.folders import key_of

UNKNOWN = "unknown"
FILES = re.compile(r"LICEN[CS]E([.-].*)?", re.IGNORECASE)
"""Names of files with a licence's text."""
_TITLES = {
    "apache license": "apache-2.0",
    "mit license": "mit",
    "permission is hereby granted, free of charge": "mit",
    "bsd 3-clause": "bsd-3-clause",
    "gnu general public license": "gpl",
    "qwen research license": "qwen-research",
    "gemma terms of use": "gemma",
    "community license agreement": "a community licence",
}
"""What a licence's first lines say -> its usual name."""
_TITLE_CHARACTERS = 400


def licence_of(store: Store, base: str, initial: PolicyRef) -> str:
    """The licence's usual name for a base as configured, whose stored form is `initial`."""
    if base.startswith("init://"):
        return "none: made from scratch"
    return _in_folder(store, initial.base or initial) or _of_package(base) or UNKNOWN


def _in_folder(store: Store, ref: PolicyRef) -> str | None:
    try:
        names = [name for name in folder_files(store, ref.folder) if FILES.fullmatch(name)]
        if not names:
            return None
        text = store.read(f"{key_of(store.uri, ref.folder)}/{names[0]}").decode(errors="replace")
    except StorageError:  # the run's first policies may be gone: the card says what it can
        return None
    return title(text) or f"see {names[0]} beside the weights"


def title(text: str) -> str | None:
    """The usual name of a licence that begins with this text; None if it is another."""
    head = " ".join(text[:_TITLE_CHARACTERS].lower().split())
    return next((name for words, name in _TITLES.items() if words in head), None)


def stated_by(package: str) -> str | None:
    """The licence that an installed package states, in its first line; None if it says nothing."""
    try:
        found = metadata.metadata(package)
    except metadata.PackageNotFoundError:
        return None
    fields = [found[key] for key in ("License-Expression", "License") if key in found]
    lines = [line for field in fields for line in field.strip().splitlines()[:1]]
    return lines[0] if lines else None


def _of_package(base: str) -> str | None:
    if not base.startswith("pkg://"):
        return None
    name = base.removeprefix("pkg://").partition("/")[0]
    stated = stated_by(name)
    return f"{stated} (package {name})" if stated else None
