"""docs/promote_and_serve.md, word by word: a champion, a refusal, a way back, and servers."""

import json
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import psutil
import pytest
import yaml

from tests.doubles.model_registry import Registry, serving
from tests.doubles.s3 import s3_server
from tests.walkthrough import ROOT, Walk, shell

pytestmark = pytest.mark.full
PAGE = ROOT / "docs" / "promote_and_serve.md"


@dataclass(frozen=True)
class Walked:
    """The page after its last command."""

    walk: Walk
    registry: Registry


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walked]:
    """A reader's folder, and the registry that was told."""
    port = two_free_ports()
    with ExitStack() as stack:
        registry = stack.enter_context(serving(Registry()))
        s3 = stack.enter_context(s3_server(bucket="teams"))
        places = {"https://registry.example": registry.url, "https://s3.example": s3,
                  "--port 8000": f"--port {port}", "127.0.0.1:8000": f"127.0.0.1:{port}",
                  "127.0.0.1:8001": f"127.0.0.1:{port + 1}"}  # fmt: skip
        walk = Walk(PAGE, tmp_path_factory.mktemp("scouts"), places)
        walk.through()
        yield Walked(walk, registry)


def two_free_ports() -> int:
    """The first of two neighbours."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
        return port


def test_the_log_has_the_whole_story(walked: Walked) -> None:
    last = [it.printed for it in walked.walk.commands if " history " in it.text][-1]
    rows = [re.split(r"\s{2,}", line) for line in last.splitlines()[1:]]
    assert [row[3] for row in rows] == ["promoted", "refused", "promoted", "rolled back"]
    assert [row[-1 if "back" in row[3] else -3].rpartition("@")[2] for row in rows] == [
        "3", "1", "7", "3",
    ]  # fmt: skip


def test_champion_means_one_team_in_every_registry(walked: Walked) -> None:
    labelled = walked.registry.labelled("champion")
    assert set(labelled) == {"scouts", "scouts.tool", "scouts.planner"}
    assert {name.rpartition("@")[2] for names in labelled.values() for name in names} == {"3"}
    assert "scouts version 1" in walked.walk.printed(" rollback ")


def test_the_card_and_the_export_are_of_the_champion(walked: Walked) -> None:
    build = walked.walk.folder / "build"
    assert "scouts" in (build / "README.md").read_text()
    team = json.loads((build / "team" / "team.json").read_text())
    assert team["team"] == "scouts" and set(team["roles"]) == {"tool", "planner"}
    assert team["iteration"] == 3 and "validation/success" in team["evaluation"]


def test_the_servers_play_the_episode_of_this_process(walked: Walked) -> None:
    served, here = (it.printed for it in walked.walk.commands if " play " in it.text)
    assert episode(served) == episode(here)
    assert re.match(r"(solved|failed) in turn|out_of_turns after", episode(here).splitlines()[-1])


def episode(text: str) -> str:
    """From the task's line on: what was played. A server puts a blank before the words of a
    tokenizer that has nothing but words."""
    return re.sub(r"( writes\n) ", r"\1", text[text.index("task ") :])


def test_any_chat_client_is_answered(walked: Walked) -> None:
    content = json.loads(walked.walk.printed("curl"))
    assert content["choices"][0]["message"]["role"] == "assistant"
    assert 1 <= content["usage"]["completion_tokens"] <= 4  # it may end at once


def test_the_resources_serve_both_policies_from_the_bucket(walked: Walked) -> None:
    made = list(yaml.safe_load_all((walked.walk.folder / "build" / "scouts.yaml").read_text()))
    assert [item["kind"] for item in made] == [
        "ServiceAccount", "InferenceService", "InferenceService",
    ]  # fmt: skip
    (image,) = yaml.safe_load((walked.walk.folder / "images.yaml").read_text()).values()
    for service in made[1:]:
        assert "s3://teams/served/" in json.dumps(service) and image in json.dumps(service)
    assert [it.split()[:2] for it in walked.walk.left_out] == [["kubectl", "apply"]]


def test_the_page_names_the_run(walked: Walked) -> None:
    named = set(re.findall(r"scouts-[0-9a-f]{8}", PAGE.read_text()))
    assert named == set(re.findall(r"scouts-[0-9a-f]{8}", walked.walk.printed(" history ")))


def test_servers_end_with_a_killed_serve(walked: Walked) -> None:
    process = subprocess.Popen(
        shell("exec python -m pipelines serve team.yaml:1 --port 0"), cwd=walked.walk.folder,
        env=walked.walk.environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("ready"):
            break
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) >= 2
    process.kill()
    process.wait()
    process.stdout.close()
    end = time.monotonic() + 60
    while any(child.is_running() for child in children) and time.monotonic() < end:
        time.sleep(0.2)
    assert not any(child.is_running() for child in children)
