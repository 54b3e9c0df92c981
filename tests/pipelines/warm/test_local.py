"""Servers on this machine: up before an iteration, there for all, gone with their driver."""

import signal
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from components.rollout.warm.layout import layout
from components.rollout.warm.lease import read_door, read_lease
from components.state import read_state
from pipelines.runner import StepFailed
from pipelines.warm.servers import Servers, keep
from tests.pipelines.warm.kept import Kept, await_end, kill, make_run, mine


def names(kept: Kept) -> list[str]:
    return [s.name for s in layout(kept.config, "r", read_state(kept.store, "r", 0).policies)]


def is_let_in(kept: Kept, name: str) -> bool:
    """Whether the announced server answers to the announced key."""
    lease, door = read_lease(kept.store, "r", name), read_door(kept.store, "r", name)
    assert lease and door
    headers = {"Authorization": f"Bearer {door.key}"}
    request = urllib.request.Request(f"{lease.url}/warm/state", headers=headers)
    with urllib.request.urlopen(request, timeout=5.0) as answer:
        return bool(answer.status == 200)


def test_servers_live_from_the_first_iteration_to_the_end_of_the_block(tmp_path: Path) -> None:
    kept = make_run(tmp_path, ("left", "right"))
    seen: list[tuple[str, list[int]]] = []

    def start(pipeline: str, iteration: int, arguments: Mapping[str, Any]) -> None:
        if pipeline == "iteration":
            assert all(is_let_in(kept, name) for name in names(kept))
        seen.append(
            (
                pipeline,
                sorted(mine(f"--name={name}")[0] for name in names(kept) if mine(f"--name={name}")),
            )
        )

    with keep(kept.config, "r", kept.local(), kept.display, start) as warm:
        warm("preparation", 0, {})
        for iteration in (1, 2):
            warm("iteration", iteration, {})
    assert [len(pids) for _, pids in seen] == [0, 2, 2] and seen[1][1] == seen[2][1]
    assert not mine(str(tmp_path))
    assert all(read_lease(kept.store, "r", name) is None for name in names(kept))
    assert kept.out.getvalue().count("taken down") == 2


@pytest.mark.parametrize(
    "fault", [KeyboardInterrupt, pytest.param(StepFailed, marks=pytest.mark.full)]
)
def test_a_failure_and_ctrl_c_take_servers_down(tmp_path: Path, fault: type[BaseException]) -> None:
    kept = make_run(tmp_path)

    def start(pipeline: str, iteration: int, arguments: Mapping[str, Any]) -> None:
        raise fault("no")

    with (
        pytest.raises(fault),
        keep(kept.config, "r", kept.local(), kept.display, start) as warm,
    ):
        warm("iteration", 1, {})
    assert not mine(str(tmp_path))


DRIVER = """
import signal, sys, time
from pathlib import Path
from pipelines.warm.servers import Servers, keep
from tests.pipelines.warm.kept import Kept
from tests.components.rollout_server.serving import POLICY, make_config
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, if we were begun behind a shell
folder = Path(sys.argv[1])
kept = Kept(folder, make_config(folder, {"solo": POLICY}, lease_s=int(sys.argv[2])))
def start(*_):
    print("up", flush=True)
    time.sleep(600)
with keep(kept.config, "r", kept.local(), kept.display, start) as warm:
    warm("iteration", 1, {})
"""


@pytest.mark.parametrize(("how", "lease_s"), [(signal.SIGKILL, 5), (signal.SIGINT, 300)])
def test_a_driver_that_is_killed_leaves_no_server(
    tmp_path: Path, how: signal.Signals, lease_s: int
) -> None:
    make_run(tmp_path)
    command = [sys.executable, "-c", DRIVER, str(tmp_path), str(lease_s)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as driver:
        assert driver.stdout and driver.stdout.readline() == "up\n"
        assert len(mine(f"--name={names(make_kept(tmp_path))[0]}")) == 1
        driver.send_signal(how)
        driver.wait(60)
    await_end(lambda: not mine(str(tmp_path)))
    log = (tmp_path / "logs" / f"{names(make_kept(tmp_path))[0]}.log").read_text()
    assert ("no sign of life for 5 s" if how is signal.SIGKILL else "told to end") in log


def make_kept(folder: Path) -> Kept:
    from tests.components.rollout_server.serving import POLICY, make_config

    return Kept(folder, make_config(folder, {"solo": POLICY}))


def test_a_server_that_dies_is_started_again_by_its_keeper(tmp_path: Path) -> None:
    kept = make_run(tmp_path)

    def start(pipeline: str, iteration: int, arguments: Mapping[str, Any]) -> None:
        (name,) = names(kept)
        first = read_door(kept.store, "r", name)
        (serving,) = mine("tests.doubles.warm_server /tmp/rolewise-warm-")
        kill(serving)
        await_end(lambda: read_door(kept.store, "r", name) != first)
        assert is_let_in(kept, name)

    with keep(kept.config, "r", kept.local(), kept.display, start) as warm:
        warm("iteration", 1, {})


def test_a_sign_of_life_that_comes_late_brings_no_note_back(tmp_path: Path) -> None:
    kept = make_run(tmp_path)
    servers = Servers(kept.config, "r", kept.local(), kept.display)
    servers.ensure()
    servers.close()
    (name,) = names(kept)
    servers._renew(name)  # the beat had begun its round before the end
    assert read_lease(kept.store, "r", name) is None


@pytest.mark.full
def test_a_server_that_cannot_start_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARM_SERVER_DIES", "1")
    kept = make_run(tmp_path)
    with (
        pytest.raises(
            StepFailed, match=r"warm server warm-r-solo-\w+ is not ready .* ended with 1"
        ),
        keep(kept.config, "r", kept.local(), kept.display, lambda *_: None) as warm,
    ):
        warm("iteration", 1, {})
    (log,) = (tmp_path / "logs").iterdir()
    assert "vLLM ended 3 times before it was ready" in log.read_text()


@pytest.mark.full
def test_a_killed_keeper_is_replaced_before_the_next_iteration(tmp_path: Path) -> None:
    kept = make_run(tmp_path)
    with keep(kept.config, "r", kept.local(), kept.display, lambda *_: None) as warm:
        warm("iteration", 1, {})
        (name,) = names(kept)
        (keeper,) = mine(f"--name={name}")
        kill(keeper)
        await_end(lambda: not mine(f"--name={name}"))
        await_end(lambda: not mine("tests.doubles.warm_server /tmp/rolewise-warm-"))
        warm("iteration", 2, {})
        assert is_let_in(kept, name)
