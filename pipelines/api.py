"""The API of Kubeflow Pipelines (v2beta1): the few calls a driver needs, and their faults in words.

It speaks through kfp's generated client, so it holds where kfp's own command line holds. Uploading
pipelines and everything of the UI are left to those two. What became of a run's pods is told by
two calls that v2beta1 has no successor of: the workflow (v1beta1) and a pod's log (v1alpha1).
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pipelines.access import Access
from pipelines.refusals import ApiError, ApiUnavailable, refusal, silence

TIMEOUT_S = 30
"""Of one call. An int: the client takes a float without a word, and then waits for ever."""
PAGE = 100
STOPPED = {"CANCELING", "CANCELED"}
ENDED = ("SUCCEEDED", "SKIPPED", "FAILED", "CANCELED")


@dataclass(frozen=True)
class Task:
    """A task of a run, as the API tells it."""

    name: str
    state: str
    error: str


@dataclass(frozen=True)
class Run:
    """A run, as the API tells it."""

    id: str
    name: str
    state: str
    """PENDING, RUNNING, PAUSED, CANCELING, or one of ENDED."""
    error: str
    created: str
    parameters: dict[str, Any]
    spec: dict[str, Any]
    """The posted PipelineSpec; empty for a run of an uploaded version."""
    tasks: list[Task]
    stopped: bool
    """Whether somebody asked for its end; such a run may end as FAILED too."""

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    def fault(self) -> str:
        """What the API says of a failure, empty if nothing: the first task's words, or the run's.
        The server of version 2.17 says nothing; see `faults.py`."""
        told = [f"{task.name}: {task.error}" for task in self.tasks if task.error]
        return " ".join((told or [self.error])[0].split())


class Api:
    """The calls. ApiError says which address, what it answered and what to do."""

    def __init__(self, access: Access) -> None:
        import kfp_server_api as server

        if not access.endpoint.startswith(("http://", "https://")):
            raise ApiError(
                f"endpoint {access.endpoint!r}: expected an address that begins with http:// or "
                "https://, e.g. http://127.0.0.1:8888"
            )
        self.access = access
        configuration = server.Configuration(host=access.endpoint)
        configuration.retries = 0
        configuration.ssl_ca_cert = access.ca_file
        configuration.api_key_prefix["authorization"] = "Bearer"
        configuration.refresh_api_key_hook = self._authorise
        self._authorise(configuration)
        client = server.ApiClient(configuration)
        self._server, self._client = server, client
        self._health = server.HealthzServiceApi(client)
        self._experiments = server.ExperimentServiceApi(client)
        self._runs = server.RunServiceApi(client)

    def check(self) -> str:
        """That the API answers and lets us in; its version, empty if it does not say."""
        answer = self._call(self._health.healthz_service_get_healthz, _preload_content=False)
        if not answer.data.lstrip().startswith(b"{"):
            raise ApiError(
                f"{self.access.endpoint}: answers with a page, not with the API; is a login in "
                "front of it? Give the API's own address and a token by --token-file"
            )
        self._call(self._runs.run_service_list_runs, page_size=1, **self._namespace())
        return str(json.loads(answer.data).get("tag_name") or "")

    def experiment(self, name: str) -> str:
        """The id of the experiment of that name, which is made if it is not there."""
        listed = self._call(
            self._experiments.experiment_service_list_experiments,
            filter=_named(name), **self._namespace(),
        )  # fmt: skip
        if listed.experiments:
            return str(listed.experiments[0].experiment_id)
        body = self._server.V2beta1Experiment(display_name=name, namespace=self.access.namespace)
        made = self._call(self._experiments.experiment_service_create_experiment, experiment=body)
        return str(made.experiment_id)

    def create(
        self, experiment: str, name: str, package: Path, parameters: Mapping[str, Any], note: str,
        service_account: str | None = None,
    ) -> Run:  # fmt: skip
        """Start a run of a compiled pipeline; its pods run as `service_account`, by default as the
        installation's."""
        body = self._server.V2beta1Run(
            experiment_id=experiment, display_name=name, description=note,
            pipeline_spec=_posted(package), service_account=service_account,
            runtime_config=self._server.V2beta1RuntimeConfig(parameters=dict(parameters)),
        )  # fmt: skip
        return _run(self._call(self._runs.run_service_create_run, run=body))

    def get(self, run_id: str) -> Run:
        """A run as it is now."""
        return _run(self._call(self._runs.run_service_get_run, run_id=run_id))

    def named(self, name: str) -> list[Run]:
        """All runs of that name, oldest first."""
        found, page = [], ""
        while True:
            listed = self._call(
                self._runs.run_service_list_runs,
                filter=_named(name), page_size=PAGE, page_token=page, **self._namespace(),
            )  # fmt: skip
            found += [_run(item) for item in listed.runs or []]
            page = listed.next_page_token
            if not page:
                return sorted(found, key=lambda run: (run.created, run.id))

    def active(self, name: str) -> list[Run]:
        """The runs of that name that have not ended, oldest first."""
        return [run for run in self.named(name) if not run.ended]

    def terminate(self, run_id: str) -> None:
        """Ask for a run's end; it is CANCELING until its pods are gone."""
        self._call(self._runs.run_service_terminate_run, run_id=run_id)

    def workflow(self, run_id: str) -> dict[str, Any]:
        """The run's Argo Workflow as it was last reported; empty if there is none yet."""
        text = self._get("/apis/v1beta1/runs/{run_id}", run_id=run_id)
        try:
            runtime = json.loads(text).get("pipeline_runtime") or {}
            return dict(json.loads(runtime.get("workflow_manifest") or "{}"))
        except (ValueError, AttributeError) as error:
            raise ApiError(f"{self.access.endpoint}: run {run_id}: no workflow: {error}") from error

    def log(self, run_id: str, pod: str) -> str:
        """What a pod's step printed, from the pod or from the archive. ApiError if neither has it.

        The server begins its answer with status 200 before it looks, so a fault follows as JSON.
        """
        path = "/apis/v1alpha1/runs/{run_id}/nodes/{pod}/log"
        text = self._get(path, run_id=run_id, pod=pod)
        _, found, fault = text.rpartition('{"error_message":')
        if found and "Failed to read log" in fault:
            raise refusal(self.access, 404, f"{found}{fault}")
        return text

    def link(self, run_id: str) -> str:
        """The run's page in the UI."""
        address = os.environ.get("KF_PIPELINES_UI_ENDPOINT") or self.access.endpoint
        return f"{address.rstrip('/')}/#/runs/details/{run_id}"

    def _namespace(self) -> dict[str, str]:
        return {"namespace": self.access.namespace} if self.access.namespace else {}

    def _authorise(self, configuration: Any) -> None:
        token = self.access.token
        if self.access.token_file:
            try:
                token = Path(self.access.token_file).read_text().strip()
            except OSError as error:
                raise ApiError(
                    f"--token-file {self.access.token_file}: cannot be read: {error.strerror}"
                ) from error
            except ValueError as error:
                raise ApiError(_no_token(self.access)) from error
        if token and (not token.isascii() or not token.isprintable() or " " in token):
            raise ApiError(_no_token(self.access))  # never shown: it may be a real one's part
        if token:
            configuration.api_key["authorization"] = token

    def _get(self, path: str, **parts: str) -> str:
        answer = self._call(
            self._client.call_api, resource_path=path, method="GET", path_params=parts,
            header_params={"Accept": "*/*"}, auth_settings=["Bearer"], _preload_content=False,
            _return_http_data_only=True,
        )  # fmt: skip
        return str(answer.data.decode(errors="replace"))

    def _call(self, function: Callable[..., Any], **arguments: Any) -> Any:
        from urllib3.exceptions import HTTPError

        try:
            return function(**arguments, _request_timeout=TIMEOUT_S)
        except self._server.ApiException as error:
            raise refusal(self.access, error.status, str(error.body or error.reason)) from error
        except HTTPError as error:
            raise ApiUnavailable(silence(self.access, error)) from error
        except ValueError as error:
            raise ApiError(f"{self.access.endpoint}: not an address, or no API: {error}") from error


def _no_token(access: Access) -> str:
    source = f"--token-file {access.token_file}" if access.token_file else "KF_PIPELINES_TOKEN"
    return f"{source}: holds no token; expected one line of ASCII letters, digits and signs"


def _named(name: str) -> str:
    predicate = {"operation": "EQUALS", "key": "display_name", "stringValue": name}
    return json.dumps({"predicates": [predicate]})


def _posted(package: Path) -> dict[str, Any]:
    """The body that kfp posts: the spec, with the platform's part beside it if there is one."""
    spec, *platform = yaml.load_all(package.read_text(), Loader=yaml.CSafeLoader)
    return {"pipeline_spec": spec, "platform_spec": platform[0]} if platform else dict(spec)


def _run(answer: Any) -> Run:
    """From the generated client's object to ours."""
    details = answer.run_details.task_details if answer.run_details else None
    posted = answer.pipeline_spec or {}
    return Run(
        str(answer.run_id), str(answer.display_name), str(answer.state or "PENDING"),
        _error(answer), str(answer.created_at or ""),
        dict((answer.runtime_config and answer.runtime_config.parameters) or {}),
        dict(posted.get("pipeline_spec", posted)),
        [Task(str(t.display_name), str(t.state or ""), _error(t)) for t in details or []],
        bool({answer.state, *(item.state for item in answer.state_history or [])} & STOPPED),
    )  # fmt: skip


def _error(answer: Any) -> str:
    return str(answer.error.message or "") if answer.error else ""
