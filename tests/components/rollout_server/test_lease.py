"""A server goes on while its lease is renewed, and ends for every reason there is."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from components.errors import StorageError
from components.rollout.warm.lease import (
    Door,
    Lease,
    NotAnnounced,
    Watch,
    announced,
    forget,
    server_name,
    write_door,
    write_lease,
)
from components.settings import StorageConfig
from components.storage import Store, open_store

LEASE = Lease("driver", 1, lease_s=10.0, renewed_unix_s=1000.0, url="http://server")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(StorageConfig(uri=f"file://{tmp_path}/store"))


def watch(store: Store, clock: Callable[[], float], **options: object) -> Watch:
    settings = {"clock": clock, "wall": lambda: 1005.0, **options}
    return Watch(store, "r", "s", 100.0, **settings)  # type: ignore[arg-type]


def test_a_renewed_lease_keeps_a_server_and_its_time_limit_ends_it(store: Store) -> None:
    clock = Clock()
    write_lease(store, "r", "s", LEASE)
    watched = watch(store, clock)
    for count in range(2, 12):
        assert watched.ended() is None
        clock.now += 9.5
        write_lease(store, "r", "s", replace(LEASE, count=count))
    clock.now = 100.5
    assert watched.ended() == "its time limit is over"


def test_a_lease_that_is_not_renewed_lapses_by_the_servers_own_clock(store: Store) -> None:
    clock = Clock()
    write_lease(store, "r", "s", LEASE)
    watched = watch(store, clock)
    assert watched.ended() is None
    clock.now = 9.9
    assert watched.ended() is None
    clock.now = 10.1
    assert "no sign of life for 10 s" in str(watched.ended())


def test_storage_that_does_not_answer_is_no_sign_of_life(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    write_lease(store, "r", "s", LEASE)
    watched = watch(store, clock)
    assert watched.ended() is None

    def fails(key: str) -> bytes:
        raise StorageError("down")

    monkeypatch.setattr(store, "read", fails)
    clock.now = 5.0
    assert watched.ended() is None
    clock.now = 10.1
    assert "no sign of life" in str(watched.ended())


def test_a_released_a_missing_and_a_foreign_lease_end_it_at_once(store: Store) -> None:
    assert watch(store, Clock()).ended() == "its lease is gone"
    write_lease(store, "r", "s", LEASE)
    assert watch(store, Clock(), holder="driver").ended() is None
    assert "another driver" in str(watch(store, Clock(), holder="other").ended())
    write_lease(store, "r", "s", replace(LEASE, released=True))
    assert "no longer" in str(watch(store, Clock()).ended())


def test_a_container_started_long_after_its_driver_ends_without_waiting(store: Store) -> None:
    write_lease(store, "r", "s", LEASE)
    assert watch(store, Clock(), wall=lambda: 1085.0).ended() is None
    assert watch(store, Clock(), wall=lambda: 1095.0).ended() == "its driver ended long ago"


def test_steps_wait_for_a_starting_server_and_are_told_when_nobody_keeps_one(store: Store) -> None:
    with pytest.raises(NotAnnounced, match="no warm server 's' is announced .* submit --wait"):
        announced(store, "r", "s")
    write_lease(store, "r", "s", LEASE)
    assert announced(store, "r", "s") is None
    write_door(store, "r", "s", Door("key", "boot"))
    assert announced(store, "r", "s") == (LEASE, Door("key", "boot"))
    write_lease(store, "r", "s", replace(LEASE, released=True))
    with pytest.raises(NotAnnounced):
        announced(store, "r", "s")
    forget(store, "r", "s")
    with pytest.raises(NotAnnounced):
        announced(store, "r", "s")


def test_names_are_those_of_kubernetes_and_differ_by_run_store_and_part() -> None:
    names = {
        server_name(run, store, part)
        for run in ("a", "A_very.long-Run" * 6)
        for store in ("s3://a", "s3://b")
        for part in ("tool", "planner")
    }
    assert len(names) == 8
    assert all(len(name) <= 53 and name.replace("-", "").isalnum() for name in names)
    assert all(name == name.lower() and name[-1] != "-" for name in names)
    assert server_name("r", "s3://a", "tool") == server_name("r", "s3://a", "tool")
