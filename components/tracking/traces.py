"""Some episodes of an iteration as MLflow traces: one trace per episode, one span per role turn.

A span holds the prompt, the answer that was played and all K siblings with rewards by part and
advantages. Which episodes: about half solved, half not, chosen by a digest, so that a repetition
writes the same traces under the same ids. Records carry no clock times; a span lasts 1 ms per
sampled token, from the moment of logging, which keeps order and proportion. The same episodes are
a page of the sibling viewer among the iteration run's artifacts; each trace links to it by a tag.
"""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from components.config import ExperimentConfig
from components.seeds import derive_seed
from components.tracking.connection import is_server, open_client, public, tracking_uri

if TYPE_CHECKING:
    import pyarrow as pa

PAGE = "episodes.html"
_MS = 1_000_000
"""Nanoseconds."""


def log_traces(
    config: ExperimentConfig,
    run: str,
    iteration: int,
    samples: "pa.Table",
    episodes: "pa.Table",
    ids: Mapping[str, str],
) -> int:
    """Write the traces of up to `tracking.num_traces` episodes; returns how many."""
    from mlflow.tracing.client import TracingClient

    chosen = choose(episodes.to_pylist(), config.tracking.num_traces, run, iteration)
    if not chosen:
        return 0
    client = TracingClient(tracking_uri(config.tracking))
    kept = _of_tasks(samples, {episode["task_id"] for episode in chosen})
    log_page(config, run, iteration, kept, chosen, ids)
    rows = kept.drop_columns(["logprobs"]).to_pylist(maps_as_pydicts="strict")
    where = artifact_address(tracking_uri(config.tracking), ids)
    built = [_build(run, iteration, episode, rows, ids, where) for episode in chosen]
    client.log_spans(ids["experiment_id"], [span for _, spans in built for span in spans])
    for info, _ in built:
        client.start_trace(info)
    return len(built)


def log_page(
    config: ExperimentConfig,
    run: str,
    iteration: int,
    samples: "pa.Table",
    chosen: Sequence[Mapping[str, Any]],
    ids: Mapping[str, str],
) -> None:
    """The traced episodes as the sibling viewer's page: an artifact of the iteration's run."""
    from io import StringIO

    from components.reporting.viewer.page import Source, write_page

    page = StringIO()
    title = f"{run}, iteration {iteration}: the traced episodes"
    write_page(page, title, list(config.roles), [Source(iteration, "training", samples, chosen)])
    client = open_client(config.tracking)
    client.log_text(ids["iteration_run_id"], page.getvalue(), PAGE)


def artifact_address(uri: str, ids: Mapping[str, str]) -> str:
    """Where MLflow's UI shows the page: whole for a server, else from the UI's own address on."""
    server = uri.rstrip("/") if is_server(uri) else ""
    place = f"{ids['experiment_id']}/runs/{ids['iteration_run_id']}/artifacts/{PAGE}"
    return public(f"{server}/#/experiments/{place}")


def choose(
    episodes: Sequence[Mapping[str, Any]], count: int, run: str, iteration: int
) -> list[Mapping[str, Any]]:
    """`count` episodes, half solved (rounded up) and half not, as far as there are such."""

    def order(episode: Mapping[str, Any]) -> int:
        return derive_seed("trace", run, iteration, episode["episode_id"])

    shuffled = sorted(episodes, key=order)
    solved = [episode for episode in shuffled if episode["status"] == "solved"]
    others = [episode for episode in shuffled if episode["status"] != "solved"]
    num_solved = min(len(solved), max((count + 1) // 2, count - len(others)))
    return solved[:num_solved] + others[: count - num_solved]


def turns_of(episode_id: str, rows: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The episode's turns in order, each as all rows that answered the same prompt: the K
    siblings, also those of parallel episodes; the answer that was played comes first."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        key = (row["task_id"], row["node"], row["turn"], row["role"])
        groups.setdefault(key, []).append(row)
    own = [group for group in groups.values() if any(r["episode_id"] == episode_id for r in group)]

    def played_first(row: Mapping[str, Any]) -> tuple[bool, bool, int]:
        return (row["episode_id"] != episode_id, not row["chosen"], row["candidate"])

    ordered = sorted(own, key=lambda group: int(group[0]["turn"]))
    return [sorted(group, key=played_first) for group in ordered]


def _of_tasks(samples: "pa.Table", tasks: set[str]) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.compute as pc

    return samples.filter(pc.is_in(samples["task_id"], value_set=pa.array(sorted(tasks))))


def _build(
    run: str,
    iteration: int,
    episode: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    ids: Mapping[str, str],
    page: str,
) -> tuple[Any, list[Any]]:
    """(TraceInfo, spans) of one episode. `page`: the address of the viewer that shows it."""
    name = f"{run}/{iteration}/{episode['episode_id']}"
    trace = hashlib.sha256(f"{ids['iteration_run_id']}/{name}".encode()).hexdigest()[:32]
    start = clock = time.time_ns()
    spans = []
    groups = turns_of(episode["episode_id"], rows)
    for index, group in enumerate(groups):
        end = clock + _MS * max(1, sum(len(row["completion_ids"]) for row in group))
        spans.append(_span(trace, index + 1, group, ids["experiment_id"], (clock, end)))
        clock = end
    first = groups[0][0]["messages"] if groups else []
    request = {"task": episode["task_id"], "messages": first}
    response = {key: episode[key] for key in ("status", "team_reward", "num_turns")}
    response["episode"] = f"[all candidates side by side]({page})"  # MLflow shows a link
    attributes = _attributes(trace, "AGENT", ids["experiment_id"], request, response)
    attributes["session.id"] = json.dumps(name[-250:])
    root = _raw(
        trace, 0, f"episode {episode['status']}", attributes, (start, max(clock, start + _MS))
    )
    info = _info(run, iteration, episode, trace, ids, (start, clock), name)
    info.tags["rolewise.episodes"] = page
    return info, [root, *spans]


def _span(
    trace: str,
    index: int,
    group: Sequence[Mapping[str, Any]],
    experiment: str,
    when: tuple[int, int],
) -> Any:
    """A role's turn: prompt in; the played answer and all siblings out."""
    played = group[0]
    outputs = {
        "role": "assistant", "content": played["text"], "chosen": played["candidate"],
        "siblings": [_sibling(row) for row in group],
    }  # fmt: skip
    attributes = _attributes(
        trace, "CHAT_MODEL", experiment, {"messages": played["messages"]}, outputs
    )
    num_prompt = len(played["prompt_ids"])
    num_drawn = sum(len(row["completion_ids"]) for row in group)
    extra = {
        "mlflow.llm.model": played["policy_version"],
        "mlflow.chat.tokenUsage": {
            "input_tokens": num_prompt, "output_tokens": num_drawn,
            "total_tokens": num_prompt + num_drawn,
        },
        "role": played["role"], "turn": played["turn"], "node": played["node"],
        "group_id": played["group_id"], "policy_version": played["policy_version"],
        "reward": played["reward"], "advantage": played["advantage"], "num_siblings": len(group),
    }  # fmt: skip
    attributes |= {name: json.dumps(value) for name, value in extra.items()}
    name = f"turn {played['turn']} {played['role']}"
    return _raw(trace, index, name, attributes, when, failed=played["error"] is not None)


def _sibling(row: Mapping[str, Any]) -> dict[str, Any]:
    names = (
        "candidate", "text", "reward", "reward_parts", "advantage", "weight", "chosen", "status",
        "finish_reason", "seed", "episode_id",
    )  # fmt: skip
    values = {name: row[name] for name in names}
    error = {"error": row["error"]} if row["error"] else {}
    return values | error | {"num_tokens": len(row["completion_ids"])}


def _attributes(
    trace: str, kind: str, experiment: str, inputs: Any, outputs: Any
) -> dict[str, str]:
    values = {
        "mlflow.traceRequestId": f"tr-{trace}", "mlflow.experimentId": experiment,
        "mlflow.spanType": kind, "mlflow.spanInputs": inputs, "mlflow.spanOutputs": outputs,
    }  # fmt: skip
    return {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}


def _raw(
    trace: str,
    index: int,
    name: str,
    attributes: Mapping[str, str],
    when: tuple[int, int],
    failed: bool = False,
) -> Any:
    """An MLflow span; index 0 is the root and every other span's parent."""
    from mlflow.entities import Span

    def identity(number: int) -> str:
        return hashlib.sha256(f"{trace}/{number}".encode()).hexdigest()[:16]

    return Span.from_dict(
        {
            "trace_id": f"tr-{trace}", "span_id": identity(index),
            "parent_span_id": identity(0) if index else None, "name": name,
            "start_time_unix_nano": when[0], "end_time_unix_nano": when[1],
            "attributes": dict(attributes), "events": [],
            "status": {"code": "STATUS_CODE_ERROR" if failed else "STATUS_CODE_OK", "message": ""},
        }
    )  # fmt: skip


def _info(
    run: str,
    iteration: int,
    episode: Mapping[str, Any],
    trace: str,
    ids: Mapping[str, str],
    when: tuple[int, int],
    session: str,
) -> Any:
    from mlflow.entities import TraceInfo, TraceLocation, TraceState

    state = TraceState.ERROR if episode["status"] == "error" else TraceState.OK
    tags = {
        "mlflow.traceName": f"{run} iteration {iteration:03d} {episode['status']}",
        "rolewise.run": run, "rolewise.iteration": str(iteration),
        "rolewise.status": episode["status"], "rolewise.team_reward": f"{episode['team_reward']:g}",
        "rolewise.turns": str(episode["num_turns"]),
    }  # fmt: skip
    return TraceInfo(
        trace_id=f"tr-{trace}",
        trace_location=TraceLocation.from_experiment_id(ids["experiment_id"]),
        request_time=when[0] // _MS,
        execution_duration=(when[1] - when[0]) // _MS,
        state=state,
        client_request_id=session[-250:],
        request_preview=episode["task_id"],
        response_preview=f"{episode['status']}, team reward {episode['team_reward']:g}",
        trace_metadata={
            "mlflow.trace.session": session[-250:],
            "mlflow.sourceRun": ids["iteration_run_id"],
            "mlflow.trace_schema.version": "3",
        },
        tags=tags,
    )
