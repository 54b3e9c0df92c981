"""The API of Kubeflow Pipelines (v2beta1): the few calls a driver needs, and their faults in words.

It speaks through kfp's generated client, so it holds where kfp's own command line holds. Uploading
pipelines and everything of the UI are left to those two.
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from components.errors import RolewiseError

IN_CLUSTER = "http://ml-pipeline.kubeflow.svc.cluster.local:8888"
CLUSTER_TOKEN = "/var/run/secrets/kubeflow/pipelines/token"
"""Where Kubeflow puts a pod's token, if the pod is labelled `access-ml-pipeline`."""
TIMEOUT_S = 30.0
"""Of one call."""
PAGE = 100
STOPPED = {"CANCELING", "CANCELED"}
ENDED = ("SUCCEEDED", "SKIPPED", "FAILED", "CANCELED")


class ApiError(RolewiseError):
    """The API refused a call."""


class ApiUnavailable(ApiError):
    """The API did not answer, or could not for now: the same call may succeed later."""


@dataclass(frozen=True)
class Access:
    """Where the API is and who asks."""

    endpoint: str
    token_file: str | None = None
    """Read before every call: tokens in files are renewed."""
    token: str | None = field(default=None, repr=False)
    namespace: str | None = None
    """Of the runs, where Kubeflow has several users."""
    ca_file: str | None = None


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
        """What is known of a failure: the first task's own words, else the run's."""
        told = [f"{task.name}: {task.error}" for task in self.tasks if task.error]
        return " ".join((told or [self.error or "the API gives no reason"])[0].split())


def find_access(
    endpoint: str | None = None,
    token_file: str | None = None,
    namespace: str | None = None,
    ca_file: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Access | None:
    """What was given, else kfp's environment variables, else the place inside a cluster.

    None if there is no endpoint and this is no pod.
    """
    token_file = token_file or environment.get("KF_PIPELINES_SA_TOKEN_PATH")
    in_pod = "KUBERNETES_SERVICE_HOST" in environment
    if in_pod and not token_file and Path(CLUSTER_TOKEN).exists():
        token_file = CLUSTER_TOKEN
    endpoint = endpoint or environment.get("KF_PIPELINES_ENDPOINT")
    if not endpoint and not in_pod:
        return None
    endpoint = endpoint or IN_CLUSTER
    token = environment.get("KF_PIPELINES_TOKEN") or None
    return Access(endpoint.rstrip("/"), token_file, token, namespace, ca_file)


class Api:
    """The calls. ApiError says which address, what it answered and what to do."""

    def __init__(self, access: Access) -> None:
        import kfp_server_api as server

        self.access = access
        configuration = server.Configuration(host=access.endpoint)
        configuration.retries = 0
        configuration.ssl_ca_cert = access.ca_file
        configuration.api_key_prefix["authorization"] = "Bearer"
        configuration.refresh_api_key_hook = self._authorise
        self._authorise(configuration)
        client = server.ApiClient(configuration)
        self._server = server
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
        self, experiment: str, name: str, package: Path, parameters: Mapping[str, Any], note: str
    ) -> Run:
        """Start a run of a compiled pipeline."""
        body = self._server.V2beta1Run(
            experiment_id=experiment, display_name=name, description=note,
            pipeline_spec=_posted(package),
            runtime_config=self._server.V2beta1RuntimeConfig(parameters=dict(parameters)),
        )  # fmt: skip
        return _run(self._call(self._runs.run_service_create_run, run=body))

    def get(self, run_id: str) -> Run:
        """A run as it is now."""
        return _run(self._call(self._runs.run_service_get_run, run_id=run_id))

    def active(self, name: str) -> list[Run]:
        """The runs of that name that have not ended, oldest first."""
        found, page = [], ""
        while True:
            listed = self._call(
                self._runs.run_service_list_runs,
                filter=_named(name), page_size=PAGE, page_token=page, **self._namespace(),
            )  # fmt: skip
            found += [_run(item) for item in listed.runs or []]
            page = listed.next_page_token
            if not page:
                alive = (run for run in found if not run.ended)
                return sorted(alive, key=lambda run: (run.created, run.id))

    def terminate(self, run_id: str) -> None:
        """Ask for a run's end; it is CANCELING until its pods are gone."""
        self._call(self._runs.run_service_terminate_run, run_id=run_id)

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
        if token:
            configuration.api_key["authorization"] = token

    def _call(self, function: Callable[..., Any], **arguments: Any) -> Any:
        from urllib3.exceptions import HTTPError

        try:
            return function(**arguments, _request_timeout=TIMEOUT_S)
        except self._server.ApiException as error:
            raise _refusal(self.access, error.status, str(error.body or error.reason)) from error
        except HTTPError as error:
            raise ApiUnavailable(_silence(self.access, error)) from error
        except ValueError as error:
            raise ApiError(f"{self.access.endpoint}: not an address, or no API: {error}") from error


def _silence(access: Access, error: Exception) -> str:
    """Why nothing came back, and what to do."""
    reason = " ".join(str(getattr(error, "reason", None) or error).split())
    reason = re.sub(r"^.*?[>)]: ", "", reason)  # urllib3 begins with its object
    fix = "check --endpoint, or `kubectl port-forward -n kubeflow svc/ml-pipeline 8888`"
    if "certificate" in reason:
        fix = "give the cluster's certificate authority by --ca-file"
    elif "redirect" in reason:
        fix = "a login stands before it: give the API's own address and a token by --token-file"
    return f"{access.endpoint}: no answer from the Kubeflow Pipelines API: {reason}; {fix}"


def _refusal(access: Access, status: int, body: str) -> ApiError:
    """What a status other than 2xx means for the user."""
    where = access.endpoint
    if status in (401, 403):
        source = access.token_file or ("KF_PIPELINES_TOKEN" if access.token else "no token")
        return ApiError(
            f"{where}: the API refused our token ({status}; {source}): {_message(body)}; "
            "give a fresh one by --token-file or KF_PIPELINES_TOKEN, and check --namespace"
        )
    if status == 404:
        return ApiError(f"{where}: not found: {_message(body)}; is it the API of Pipelines 2?")
    if status == 429 or status >= 500 or status == 0:
        return ApiUnavailable(f"{where}: the API fails for now ({status}): {_message(body)}")
    return ApiError(f"{where}: the API refused ({status}): {_message(body)}")


def _message(body: str) -> str:
    """The sentence in an error's JSON, or the beginning of what came instead."""
    try:
        content = json.loads(body)
        text = str(content.get("error_message") or content.get("message") or content.get("error"))
    except (ValueError, AttributeError):
        text = body
    text = " ".join(text.split())
    return text if len(text) <= 400 else text[:397] + "..."


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
