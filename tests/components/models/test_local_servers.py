"""Servers as processes: started, waited for, watched, and ended with whoever started them."""

import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import psutil
import pytest

from components.engine import Sampling
from components.errors import ConfigError, RolewiseError
from components.models import local_servers
from components.models.asking import ServedTeam
from components.models.local_servers import Plan, Running, await_all, command, serving, watch
from envs.base import Message

ROOT = Path(__file__).parents[3]
DOUBLE = str(ROOT / "tests" / "doubles" / "chat_server.py")
PLANS = [Plan((name,), ["weights", "--served-model-name", name], 64) for name in ("tool", "judge")]
MESSAGE = Message(role="user", content="hello")


def stand_in(plan: Plan, host: str, port: int) -> list[str]:
    """The command of a double in the place of vLLM's."""
    return [sys.executable, DOUBLE, str(port), *plan.roles]


@pytest.fixture(autouse=True)
def doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_servers, "command", stand_in)


def ended(running: list[Running]) -> bool:
    return not any(psutil.pid_exists(server.process.pid) for server in running)


def test_roles_are_asked_by_name_and_servers_end(tmp_path: Path) -> None:
    with serving(PLANS, tmp_path, "127.0.0.1", 0, "sesame") as running:
        await_all(running, "sesame", 20.0)
        urls = [f"{server.url}/v1" for server in running]
        team = ServedTeam(urls, ["tool", "judge"], Sampling(temperature=0.0), "sesame")
        assert team.answer("judge", [MESSAGE]) == "judge heard hello"
        assert team.answer("tool", [MESSAGE]) == "tool heard hello"
        for server in running:  # a key that others could read in the process list is no key
            assert "sesame" not in " ".join(psutil.Process(server.process.pid).cmdline())
        stranger = ServedTeam(urls, ["tool"], Sampling(), "wrong")
        with pytest.raises(RolewiseError, match="401"):
            stranger.answer("tool", [MESSAGE])
        with pytest.raises(RolewiseError, match="no server plays 'coder'.*know.*judge.*tool"):
            ServedTeam(urls, ["coder"], Sampling(), "sesame")
    assert ended(running)


def test_a_server_that_ends_is_told_with_its_last_words(tmp_path: Path) -> None:
    plans = [PLANS[0], Plan(("broken",), [], 64)]
    message = "the server of broken ended: ValueError: no weights; see .*broken.log"
    with pytest.raises(RolewiseError, match=message), serving(
        plans, tmp_path, "127.0.0.1", 0
    ) as running:  # fmt: skip
        await_all(running, None, 20.0)
    assert ended(running)


def test_a_server_that_dies_later_ends_the_others(tmp_path: Path) -> None:
    with pytest.raises(RolewiseError, match="the server of tool ended"), serving(
        PLANS, tmp_path, "127.0.0.1", 0
    ) as running:  # fmt: skip
        await_all(running, None, 20.0)
        running[0].process.kill()
        watch(running, pause=lambda seconds: time.sleep(0.05))
    assert ended(running)


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        message = f"--port: 127.0.0.1:{port} cannot be had"
        with (
            pytest.raises(ConfigError, match=message),
            serving(PLANS[:1], tmp_path, "127.0.0.1", port),
        ):
            pass


def test_servers_end_with_a_driver_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path\n"
        "from components.models import local_servers as servers\n"
        "from tests.components.models.test_local_servers import PLANS, stand_in\n"
        "servers.command = stand_in\n"
        "with servers.serving(PLANS, Path(sys.argv[1]), '127.0.0.1', 0) as running:\n"
        "    servers.await_all(running, None, 20.0)\n"
        "    print(*(server.process.pid for server in running), flush=True)\n"
        "    time.sleep(60)\n"
    )
    driver = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert driver.stdout is not None
    pids = [int(word) for word in driver.stdout.readline().split()]
    assert len(pids) == 2
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    driver.stdout.close()
    end = time.monotonic() + 10
    while any(psutil.pid_exists(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_ports_and_addresses_that_cannot_be(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match="highest port is 65535"),
        serving(PLANS[:1], tmp_path, "127.0.0.1", 70_000),
    ):
        pass
    with pytest.raises(RolewiseError, match=r"'tool:8000': expected http\(s\)://host:port"):
        ServedTeam(["tool:8000"], ["tool"], Sampling(temperature=0.0))


def test_another_service_is_not_a_team(tmp_path: Path) -> None:
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1/models").write_text("a page")
    pages = partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), pages) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{other.server_address[1]}"
        with pytest.raises(RolewiseError, match="not a list of models: 'a page'"):
            ServedTeam([url], ["tool"], Sampling(temperature=0.0))
        other.shutdown()


def test_vllm_s_command_is_what_the_plan_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    words = command(PLANS[0], "127.0.0.1", 8000)
    start = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", "weights"]
    assert words[:5] == start
    assert words[5:11] == [
        "--served-model-name", "tool", "--host", "127.0.0.1", "--port", "8000",
    ]  # fmt: skip
    assert "--enforce-eager" in words  # here: the CPU's build
