"""Episodes as traces in a real SQLite MLflow."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from components.records import Sample, to_table
from components.tracking import log_iteration
from components.tracking.connection import open_client
from components.tracking.traces import artifact_address, choose, turns_of
from envs.base import Status
from tests.components.tracking.episodes import K, make_tables, make_turn
from tests.components.tracking.stores import Tracked


def log(config: Any, solved: list[bool]) -> list[Any]:
    samples, episodes = make_tables(solved)
    ids = log_iteration(
        config, "r", 1, {"a/b": 1.0}, samples=samples, episodes=episodes, previous={}
    )
    client = open_client(config.tracking)
    return list(client.search_traces(locations=[ids["experiment_id"]]))


def test_a_trace_holds_every_turn_with_all_siblings(tracked: Tracked) -> None:
    (trace,) = log(tracked(), [True])
    root, *turns = sorted(trace.data.spans, key=lambda span: span.start_time_ns)
    assert root.parent_id is None and {span.parent_id for span in turns} == {root.span_id}
    assert [span.name for span in turns] == ["turn 0 A", "turn 0 B", "turn 1 A", "turn 1 B"]
    assert turns[0].inputs["messages"][0]["content"] == "A, turn 0: where to?"
    siblings = turns[0].outputs["siblings"]
    assert sorted(item["candidate"] for item in siblings) == list(range(K))
    assert turns[0].outputs["chosen"] == K - 1
    assert siblings[0]["reward_parts"] == {"team": 0.375, "local/format": 0.375}
    assert siblings[0]["advantage"] == pytest.approx(0.375)
    assert turns[0].attributes["policy_version"] == "a@0-0123456789ab"


def test_session_is_the_episode_and_the_source_is_the_iteration(tracked: Tracked) -> None:
    (trace,) = log(tracked(), [True])
    assert trace.info.trace_metadata["mlflow.trace.session"] == "r/1/tracer/train/0/0"
    client = open_client(tracked().tracking)
    run = client.get_run(trace.info.trace_metadata["mlflow.sourceRun"])
    assert run.data.tags["rolewise.iteration"] == "1"
    assert run.data.tags["rolewise.traces"] == "1"


def test_solved_and_failed_episodes_are_both_shown(tracked: Tracked) -> None:
    traces = log(tracked(), [True] * 6 + [False] * 6)
    statuses = sorted(trace.info.tags["rolewise.status"] for trace in traces)
    assert statuses == ["out_of_turns"] * 2 + ["solved"] * 2


def test_repetition_writes_the_same_traces(tracked: Tracked) -> None:
    first = {trace.info.trace_id for trace in log(tracked(), [True, False])}
    second = {trace.info.trace_id for trace in log(tracked(), [True, False])}
    assert first == second and len(first) == 2


def test_no_traces_if_none_are_wanted(tracked: Tracked) -> None:
    config = tracked()
    tracking = config.tracking.model_copy(update={"num_traces": 0})
    assert log(config.model_copy(update={"tracking": tracking}), [True]) == []


@pytest.mark.parametrize(
    ("num_solved", "num_failed", "expected"),
    [(5, 5, 2), (1, 9, 1), (9, 1, 3), (0, 3, 0), (2, 0, 2)],
)
def test_choice_fills_up_with_what_there_is(
    num_solved: int, num_failed: int, expected: int
) -> None:
    names = ["solved"] * num_solved + ["failed"] * num_failed
    episodes = [{"episode_id": str(i), "status": status} for i, status in enumerate(names)]
    chosen = choose(episodes, 4, "r", 1)
    assert len(chosen) == min(4, len(episodes))
    assert sum(episode["status"] == "solved" for episode in chosen) == expected


def test_siblings_of_parallel_episodes_are_found() -> None:
    rows: list[Sample] = []
    for replica in range(3):
        rows += make_turn(f"t#{replica}", 0, "A", 0, Status.SOLVED, first=replica, num=1)
    flat = to_table(Sample, rows).to_pylist(maps_as_pydicts="strict")
    (turn,) = turns_of("t#1", flat)
    assert [row["episode_id"] for row in turn] == ["t#1", "t#0", "t#2"]


def test_spans_keep_json_values(tracked: Tracked) -> None:
    (trace,) = log(tracked(), [True])
    assert json.loads(json.dumps(trace.data.spans[0].outputs))["team_reward"] == 1.0


def test_the_traced_episodes_are_a_page_that_every_trace_links_to(tracked: Tracked) -> None:
    config = tracked()
    found = log(config, [True, False, True, False, True])
    client = open_client(config.tracking)
    run = found[0].info.trace_metadata["mlflow.sourceRun"]
    ids = {"experiment_id": client.get_run(run).info.experiment_id, "iteration_run_id": run}
    path = f"#/experiments/{ids['experiment_id']}/runs/{ids['iteration_run_id']}/artifacts/"
    assert {t.info.tags["rolewise.episodes"] for t in found} == {f"/{path}episodes.html"}
    roots = [span for t in found for span in t.data.spans if span.parent_id is None]
    assert all(f"](/{path}episodes.html)" in span.outputs["episode"] for span in roots)
    files = client.list_artifacts(ids["iteration_run_id"])
    assert [item.path for item in files] == ["episodes.html"]
    page = Path(client.download_artifacts(ids["iteration_run_id"], "episodes.html")).read_text()
    packed = re.search(r'id="index">([^<]+)<', page)
    assert packed is not None
    index = json.loads(gzip.decompress(base64.b64decode(packed[1])))
    assert sorted(index["rows"]["episode"]) == sorted(t.info.request_preview for t in found)


def test_a_servers_page_has_its_whole_address_without_its_password() -> None:
    ids = {"experiment_id": "1", "iteration_run_id": "r"}
    found = artifact_address("https://me:secret@mlflow.example/", ids)
    assert found == "https://mlflow.example/#/experiments/1/runs/r/artifacts/episodes.html"
