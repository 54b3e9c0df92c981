"""A cluster for tests of the driver: the API's stand-in, with runs that commit what they would."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from components.config import ExperimentConfig
from components.state import write_state
from components.storage import open_store
from pipelines.access import Access
from pipelines.api import Api
from pipelines.cluster import ClusterRunner
from pipelines.compiling import open_profile
from pipelines.display import Display
from tests.doubles.kfp_api import Execute, KfpApi, Posted, serving
from tests.pipelines.test_driver import make_state, write_verdict


@dataclass
class Commits:
    """Executes a posted run in no time: writes the state or verdict that it would write."""

    config: ExperimentConfig
    fail: list[str] = field(default_factory=list)
    """Parts of names of runs that fail, once each."""
    hold: str | None = None
    """Part of the name of runs that go on until `release` is set or they are terminated."""
    release: threading.Event = field(default_factory=threading.Event)
    commit: bool = True

    def __call__(self, run: Posted) -> str | None:
        run.starts("load-state")
        name = run.body["display_name"]
        if self.hold and self.hold in name:
            while not (self.release.wait(0.02) or run.stop.is_set()):
                pass
            if run.stop.is_set():
                return "terminated"
        for part in self.fail:
            if part in name:
                self.fail.remove(part)
                return "load_state (run r, iteration 1): no luck"
        if self.commit:
            self._commit(run)
        return None

    def _commit(self, run: Posted) -> None:
        store, name = open_store(self.config.storage), run.parameters["run"]
        iteration = int(run.parameters.get("iteration", 0))
        if not run.pipeline.endswith("promotion"):
            write_state(store, make_state(self.config, name, iteration))
        if run.pipeline.endswith("promotion") or run.parameters.get("promote"):
            write_verdict(store, self.config, name, iteration)


PACKAGES: dict[str, dict[str, Path]] = {}
"""Store -> compiled pipelines: compiling takes longer than all else here."""


@dataclass
class Place:
    """A cluster, and the driver's side of it."""

    api: KfpApi
    config: ExperimentConfig
    folder: Path
    run: str = "r"
    out: StringIO = field(default_factory=StringIO)

    def runner(self, **options: Any) -> ClusterRunner:
        """Looks often, and has no patience, unless `options` say otherwise."""
        packages = PACKAGES.setdefault(self.config.storage.uri, {})
        options = {"poll_s": 0.02, "patience_s": 0.0, "_packages": packages} | options
        return ClusterRunner(
            self.config, self.run, open_profile("cpu"), Api(Access(self.api.url)), "tests",
            Display(self.out, self.config.iterations), folder=self.folder, **options,
        )  # fmt: skip

    @property
    def text(self) -> str:
        return self.out.getvalue()


@contextmanager
def cluster(
    config: ExperimentConfig,
    folder: Path,
    execute: Execute | None = None,
    run: str = "r",
    **options: Any,
) -> Iterator[Place]:
    """A place whose runs commit at once, or do what `execute` does."""
    with serving(execute or Commits(config), **options) as api:
        yield Place(api, config, folder, run)
