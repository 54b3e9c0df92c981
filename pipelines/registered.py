"""A registered team as the command line names it: `TEAM` or `TEAM@alias`, and where to look."""

import argparse
from dataclasses import dataclass
from typing import Any

from components.errors import ConfigError, TrackingError
from components.settings import StorageConfig, TrackingConfig
from components.storage import Store, open_store
from components.tracking import teams
from components.tracking.aliased import has_registry
from components.tracking.connection import tracking_uri
from components.tracking.manifest import TeamManifest
from pipelines import arguments


@dataclass(frozen=True)
class Named:
    """What was named."""

    team: str
    selector: str
    """An alias, or a version as `v3`."""
    tracking: TrackingConfig
    store_uri: str | None

    def manifest(self) -> TeamManifest:
        """The team itself. TrackingError if there is none, or it is mixed."""
        self._check_registry()
        return teams.find_team(self.tracking, self.team, self.selector)

    def store(self, manifest: TeamManifest | None = None) -> Store:
        """Where its runs and its audit log are: as given, else as registered."""
        if self.store_uri is not None:
            return open_store(StorageConfig(uri=self.store_uri))
        self._check_registry()
        return open_store((manifest or teams.any_version(self.tracking, self.team)).store)

    def _check_registry(self) -> None:
        """TrackingError where a look would make a registry, an empty one."""
        if not has_registry(self.tracking):
            raise TrackingError(
                f"team {self.team!r}: no registry, {tracking_uri(self.tracking)} does not exist; "
                "--tracking-uri says where to look"
            )


def add_team(verb: Any, selected: bool, stored: bool = True) -> None:
    """TEAM@alias (or TEAM alone), --tracking-uri; --store for what is read beside the registry."""
    text = "TEAM@champion, TEAM@candidate, another alias, or a version as TEAM@v3"
    metavar, text = ("TEAM@ALIAS", text) if selected else ("TEAM", "the registered team's name")
    verb.add_argument("team", metavar=metavar, help=text)
    arguments.add_tracking(verb)
    if stored:
        text = "where its runs are; default: as registered"
        verb.add_argument("--store", metavar="URI", help=text)


def named(options: argparse.Namespace, selected: bool = True) -> Named:
    """ConfigError unless it is written as `add_team` says."""
    team, at, selector = options.team.partition("@")
    if not team or (at and not (selector and selected)):
        wanted = "TEAM@alias, e.g. quickstart@champion" if selected else "TEAM, without an alias"
        raise ConfigError(f"team {options.team!r}: expected {wanted}")
    store = getattr(options, "store", None)
    return Named(team, selector or "champion", TrackingConfig(uri=options.tracking), store)
