"""A stand-in of the Kubeflow Pipelines API (v2beta1) on loopback, for tests.

It checks what is posted as the real API server does (the spec against its schema, parameters by
name and type) and executes the spec: by kfp's local runner in a child process, or by a function.
As with the real one, runs and tasks carry no reason of a failure: it is in the workflow (a call of
v1beta1) and in the pods' logs (v1alpha1). Left out: recurring runs, archives, several users, and
pods: nothing of the platform's part is done, each step has one made-up pod.
"""

import json
import re
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psutil
import yaml

from tests.doubles.kfp_checks import Refused, checked_spec

JSON = dict[str, Any]
GRACE_S = 10.0


@dataclass
class Posted:
    """A run, and what its executor may do with it."""

    body: JSON
    spec: JSON
    stop: threading.Event = field(default_factory=threading.Event)
    """Set by a terminate call; the executor ends then."""
    nodes: list[JSON] = field(default_factory=list)
    """Of the workflow: a pod for each step that began."""
    logs: dict[str, str] = field(default_factory=dict)
    """Pod -> what it printed."""
    fault: str = ""

    @property
    def pipeline(self) -> str:
        return str(self.spec["pipelineInfo"]["name"])

    @property
    def parameters(self) -> JSON:
        return dict(self.body.get("runtime_config", {}).get("parameters") or {})

    @property
    def state(self) -> str:
        return str(self.body["state"])

    def starts(self, task: str) -> None:
        """A task runs from now on; the one before it succeeded."""
        self._end_task("SUCCEEDED")
        self.tasks.append({"display_name": task, "state": "RUNNING"})
        self.nodes.append(
            {
                "id": f"{self.workflow_name}-{len(self.nodes)}", "type": "Pod", "phase": "Running",
                "name": f"{self.workflow_name}.root.{task}.executor", "displayName": "executor",
                "templateName": "system-container-impl", "startedAt": now(), "message": "",
            }
        )  # fmt: skip

    def waits(self, task: str, message: str) -> None:
        """As `starts`, but there is no pod yet, for the reason that Argo gives."""
        self.starts(task)
        self.nodes[-1] |= {"phase": "Pending", "message": message}

    def prints(self, text: str) -> None:
        """A line in the log of the task that runs."""
        self.logs[self.pod] = f"{self.logs.get(self.pod, '')}{text}\n"

    @property
    def pod(self) -> str:
        """Of the last task; Argo names it."""
        number = self.nodes[-1]["id"].rpartition("-")[2] if self.nodes else "none"
        return f"{self.workflow_name}-system-container-impl-{number}"

    @property
    def workflow_name(self) -> str:
        return f"{self.pipeline}-{str(self.body['run_id'])[:5]}"

    @property
    def workflow(self) -> JSON:
        nodes = {node["id"]: node for node in self.nodes}
        return {"metadata": {"name": self.workflow_name}, "status": {"nodes": nodes}}

    def moves(self, state: str, error: str = "") -> None:
        self.body["state"] = state
        self.body["state_history"].append({"state": state, "update_time": now()})
        if state in ("SUCCEEDED", "FAILED", "CANCELED"):
            self.body["finished_at"] = now()
            self._end_task(state, error)
        self.fault = error

    @property
    def tasks(self) -> list[JSON]:
        return self.body["run_details"]["task_details"]  # type: ignore[no-any-return]

    def _end_task(self, state: str, error: str = "") -> None:
        if self.tasks and self.tasks[-1]["state"] == "RUNNING":
            self.tasks[-1]["state"] = state
            if error and re.match(r"\w+ \(run ", error):
                self.prints(f"error: {error}")
                error = "main: Error (exit code 1)"
            phase = "Succeeded" if state == "SUCCEEDED" else "Failed"
            self.nodes[-1] |= {"phase": phase, "message": error, "finishedAt": now()}


Execute = Callable[[Posted], str | None]
"""Runs a posted pipeline; returns the fault's words, or None if it succeeded."""


@dataclass
class KfpApi:
    """The server's memory."""

    execute: Execute
    token: str | None = None
    """If set, every call must bring it."""
    down: bool = False
    """Whether every call is answered by 503."""
    lose_next: bool = False
    """Whether the next created run's answer is lost on its way."""
    tells: bool = True
    """Whether the old calls that tell of workflows and logs are answered."""
    stopped_state: str = "CANCELED"
    """Of a terminated run in the end; some versions say FAILED."""
    url: str = ""
    experiments: list[JSON] = field(default_factory=list)
    pipelines: list[JSON] = field(default_factory=list)
    versions: list[JSON] = field(default_factory=list)
    runs: list[Posted] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    workers: list[threading.Thread] = field(default_factory=list)

    def named(self, part: str) -> list[Posted]:
        """Runs whose name holds `part`, in the order of their creation."""
        return [run for run in self.runs if part in run.body["display_name"]]

    def begin(self, body: JSON) -> JSON:
        """Check a posted run and start it. Refused says what is wrong."""
        if not any(e["experiment_id"] == body.get("experiment_id") for e in self.experiments):
            raise Refused(404, f"Experiment {body.get('experiment_id')} not found")
        spec = checked_spec(self._spec_of(body), body.get("runtime_config") or {})
        run = Posted(body, spec)
        body |= {
            "run_id": str(uuid.uuid4()), "created_at": now(), "storage_state": "AVAILABLE",
            "state_history": [], "run_details": {"task_details": []},
        }  # fmt: skip
        run.moves("PENDING")
        self.runs.append(run)
        worker = threading.Thread(target=self._work, args=(run,), daemon=True)
        self.workers.append(worker)
        worker.start()
        return body

    def terminate(self, run_id: str) -> JSON:
        run = self.find(run_id)
        if run.state in ("PENDING", "RUNNING"):
            run.moves("CANCELING")
            run.stop.set()
        return {}

    def find(self, run_id: str) -> Posted:
        for run in self.runs:
            if run.body["run_id"] == run_id:
                return run
        raise Refused(404, f"Run {run_id} not found")

    def upload(self, name: str, content: bytes) -> JSON:
        """A pipeline and its first version."""
        checked_spec(read_documents(content), None)
        if any(item["display_name"] == name for item in self.pipelines):
            raise Refused(409, f"The name {name} already exists. Please specify a new name.")
        made = {"pipeline_id": str(uuid.uuid4()), "display_name": name, "created_at": now()}
        self.pipelines.append(made)
        self.upload_version(made["pipeline_id"], name, content)
        return made

    def upload_version(self, pipeline_id: str, name: str, content: bytes) -> JSON:
        documents = read_documents(content)
        checked_spec(documents, None)
        made = {
            "pipeline_id": pipeline_id, "pipeline_version_id": str(uuid.uuid4()),
            "display_name": name, "created_at": now(), "pipeline_spec": documents,
        }  # fmt: skip
        self.versions.append(made)
        return made

    def _spec_of(self, body: JSON) -> JSON:
        if body.get("pipeline_spec"):
            return dict(body["pipeline_spec"])
        wanted = (body.get("pipeline_version_reference") or {}).get("pipeline_version_id")
        for version in self.versions:
            if version["pipeline_version_id"] == wanted:
                return dict(version["pipeline_spec"])
        raise Refused(400, "Failed to fetch a pipeline spec: no spec and no known version is given")

    def _work(self, run: Posted) -> None:
        if not run.stop.is_set():
            run.moves("RUNNING")
        try:
            fault = self.execute(run)
        except Exception as error:  # shown as a failed run, as a cluster would
            fault = f"{type(error).__name__}: {error}"
        if run.stop.is_set():
            run.moves(self.stopped_state)
        else:
            run.moves("FAILED" if fault else "SUCCEEDED", fault or "")


class Handler(BaseHTTPRequestHandler):
    """HTTP to the server's memory."""

    api: KfpApi
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # noqa: N802
        self._answer("GET")

    def do_POST(self) -> None:  # noqa: N802
        self._answer("POST")

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""

    def _answer(self, method: str) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            self._let_in()
            with self.api.lock:
                content = self._told() or self._route(method, urlsplit(self.path), body)
            if method == "POST" and self.api.lose_next and "run_id" in content:
                self.api.lose_next = False
                raise Refused(503, "upstream connect error")
            self._send(200, content)
        except Refused as refused:
            words = {"error": str(refused), "code": 3, "message": str(refused), "details": []}
            self._send(refused.status, words)

    def _let_in(self) -> None:
        if self.api.down:
            raise Refused(503, "no healthy upstream")
        if self.api.token and self.headers.get("authorization") != f"Bearer {self.api.token}":
            raise Refused(401, "User identity is empty in the request header")

    def _told(self) -> JSON | str | None:
        """The workflow of a run, or the log of a pod; None for another path."""
        match = re.fullmatch(
            r"/apis/(v1beta1|v1alpha1)/runs/([^/]+)(/nodes/([^/]+)/log)?", self.path
        )
        if match is None:
            return None
        if not self.api.tells:
            raise Refused(404, "Not Found")
        run = self.api.find(match[2])
        if match[1] == "v1beta1":
            return {"pipeline_runtime": {"workflow_manifest": json.dumps(run.workflow)}}
        missing = {"error_message": f"Failed to read logs for run {match[2]}", "error_details": ""}
        return run.logs.get(match[4]) or json.dumps(missing, separators=(",", ":"))

    def _route(self, method: str, address: Any, body: bytes) -> JSON:
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        path = address.path.removeprefix("/apis/v2beta1/")
        for verb, pattern, function in ROUTES:
            match = re.fullmatch(pattern, path)
            if verb == method and match:
                return function(self.api, match, query, self._content(body))
        raise Refused(404, f"Not Found: {method} {address.path}")

    def _content(self, body: bytes) -> Any:
        kind = self.headers.get("Content-Type", "")
        if not kind.startswith("multipart/"):
            return json.loads(body or b"{}")
        message = BytesParser().parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
        (part,) = message.get_payload()
        assert part.get_param("name", header="content-disposition") == "uploadfile"  # type: ignore
        return part.get_payload(decode=True)  # type: ignore[union-attr]

    def _send(self, status: int, content: JSON | str) -> None:
        data = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def create_experiment(api: KfpApi, body: JSON) -> JSON:
    made = body | {"experiment_id": str(uuid.uuid4()), "created_at": now()}
    made["storage_state"] = "AVAILABLE"
    api.experiments.append(made)
    return made


def listed(key: str, items: list[JSON], query: Mapping[str, str]) -> JSON:
    """A page of items, filtered by display name as kfp asks for it."""
    for predicate in json.loads(query.get("filter", "{}")).get("predicates", []):
        if predicate["operation"] not in ("EQUALS", 1) or predicate["key"] != "display_name":
            raise Refused(400, f"filter: {predicate} is not supported")
        items = [item for item in items if item["display_name"] == predicate["stringValue"]]
    size = int(query.get("page_size") or 20)
    start = int(query.get("page_token") or 0)
    page: JSON = {key: items[start : start + size], "total_size": len(items)}
    return page | ({"next_page_token": str(start + size)} if start + size < len(items) else {})


def one(key: str, items: list[JSON], value: str) -> JSON:
    for item in items:
        if item[key] == value:
            return item
    raise Refused(404, f"{key} {value} not found")


def runs_of(api: KfpApi, query: Mapping[str, str]) -> JSON:
    wanted = query.get("experiment_id")
    bodies = [run.body for run in api.runs]
    return listed("runs", [b for b in bodies if wanted in (None, b["experiment_id"])], query)


def versions_of(api: KfpApi, pipeline_id: str, query: Mapping[str, str]) -> JSON:
    found = [item for item in api.versions if item["pipeline_id"] == pipeline_id]
    return listed("pipeline_versions", found, query)


Route = Callable[[KfpApi, "re.Match[str]", dict[str, str], Any], JSON]
ROUTES: list[tuple[str, str, Route]] = [
    ("GET", "healthz", lambda api, m, q, b: {"multi_user": False}),
    ("GET", "experiments", lambda api, m, q, b: listed("experiments", api.experiments, q)),
    ("POST", "experiments", lambda api, m, q, b: create_experiment(api, b)),
    (
        "GET",
        "experiments/([^/:]+)",
        lambda api, m, q, b: one("experiment_id", api.experiments, m[1]),
    ),
    ("GET", "pipelines", lambda api, m, q, b: listed("pipelines", api.pipelines, q)),
    ("POST", "pipelines/upload", lambda api, m, q, b: api.upload(q["name"], b)),
    (
        "POST",
        "pipelines/upload_version",
        lambda api, m, q, b: api.upload_version(q["pipelineid"], q["name"], b),
    ),
    ("GET", "pipelines/([^/:]+)", lambda api, m, q, b: one("pipeline_id", api.pipelines, m[1])),
    ("GET", "pipelines/([^/:]+)/versions", lambda api, m, q, b: versions_of(api, m[1], q)),
    ("GET", "runs", lambda api, m, q, b: runs_of(api, q)),
    ("POST", "runs", lambda api, m, q, b: api.begin(b)),
    ("GET", "runs/([^/:]+)", lambda api, m, q, b: api.find(m[1]).body),
    ("POST", "runs/([^/:]+):terminate", lambda api, m, q, b: api.terminate(m[1])),
]


@contextmanager
def serving(execute: Execute, **options: Any) -> Iterator[KfpApi]:
    """A server on a free port of loopback; runs that are active at the end are terminated."""
    api = KfpApi(execute, **options)
    handler = type("Bound", (Handler,), {"api": api})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    api.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield api
    finally:
        for run in api.runs:
            api.terminate(run.body["run_id"])
        for worker in api.workers:
            worker.join(20)
        server.shutdown()
        thread.join()
        server.server_close()


def locally(folder: Path) -> Execute:
    """Executes for real: kfp's local runner in a child process, each step in one of its own."""
    from pipelines.local import end_group, start_local

    def execute(run: Posted) -> str | None:
        package = folder / f"{run.body['run_id']}.yaml"
        package.write_text(yaml.safe_dump(run.spec))
        child = start_local(package, run.parameters, folder / "artifacts")
        threading.Thread(target=_end_when_stopped, args=(run, child), daemon=True).start()
        fault = "a step ended without a message"
        for line in child.stdout or ():
            if started := re.search(r"Executing task \S*?'([^']+)'", line):
                run.starts(started[1])
            elif run.nodes:
                run.prints(line.rstrip("\n"))
            if told := re.match(r"\s*error: (.*)", line):
                fault = told[1].strip()
        code = child.wait()
        end_group(child)
        for pipe in (child.stdin, child.stdout):
            if pipe:
                pipe.close()
        return None if code == 0 else fault

    return execute


def _end_when_stopped(run: Posted, child: "subprocess.Popen[str]") -> None:
    """What a terminated run's pods meet: SIGTERM, seconds to end, SIGKILL."""
    from pipelines.local import end_group

    while child.poll() is None:
        if run.stop.wait(0.05):
            steps = psutil.Process(child.pid).children(recursive=True)
            for step in steps:
                step.terminate()
            psutil.wait_procs(steps, GRACE_S)
            end_group(child)


def read_documents(content: bytes) -> JSON:
    """The documents of a package, as the server keeps them."""
    spec, *platform = yaml.safe_load_all(content)
    return {"pipeline_spec": spec, "platform_spec": platform[0]} if platform else dict(spec)


def now() -> str:
    return datetime.now(UTC).isoformat()
