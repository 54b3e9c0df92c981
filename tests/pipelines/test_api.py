"""The API's faults in words: no answer, no API, a token that is refused, a call that is refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pipelines.api
from pipelines.access import IN_CLUSTER, Access, find_access
from pipelines.api import Api
from pipelines.refusals import ApiError, ApiUnavailable
from tests.doubles.kfp_api import KfpApi, Posted, serving
from tests.doubles.pages import page_server
from tests.doubles.silence import hurry, silent, soon
from tests.pipelines.toy import compiled

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def succeeds(run: Posted) -> str | None:
    run.starts("start")
    return None


@pytest.fixture(scope="module")
def server() -> Iterator[KfpApi]:
    with serving(succeeds, token="secret") as api:
        yield api


@pytest.fixture(scope="module")
def api(server: KfpApi) -> Api:
    return Api(Access(server.url, token="secret"))


@pytest.fixture(scope="module")
def package() -> Path:
    return compiled()[0]


def post(api: Api, package: Path, **parameters: Any) -> Any:
    return api.create(api.experiment("teams"), "toy", package, parameters, "a note")


def test_a_run_is_made_found_and_told(server: KfpApi, api: Api, package: Path) -> None:
    run = post(api, package, target="x", word="w")
    assert (run.name, run.parameters) == ("toy", {"target": "x", "word": "w"})
    while not api.get(run.id).ended:
        pass
    done = api.get(run.id)
    assert (done.state, [(task.name, task.state) for task in done.tasks]) == (
        "SUCCEEDED", [("start", "SUCCEEDED")],
    )  # fmt: skip
    assert done.spec["pipelineInfo"]["name"] == "toy"
    assert api.active("toy") == []
    assert api.link(run.id) == f"{server.url}/#/runs/details/{run.id}"
    assert len({api.experiment("teams"), api.experiment("teams"), api.experiment("others")}) == 2


def test_a_server_that_is_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch, pipelines.api)
    with silent() as url, soon(), pytest.raises(ApiUnavailable):
        Api(Access(url)).get("run")


def test_active_runs_are_found_beyond_the_first_page(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.api.PAGE", 2)
    with serving(lambda run: "terminated" if run.stop.wait(20) else None) as server:
        api = Api(Access(server.url))
        ids = [post(api, package, target="x", word="w").id for _ in range(5)]
        assert [run.id for run in api.active("toy")] == ids
        api.terminate(ids[0])
        while not api.get(ids[0]).ended:
            pass
        assert [run.id for run in api.active("toy")] == ids[1:]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"word": "w"}, "parameter target is not optional"),
        ({"target": 1, "word": "w"}, "target requires type string"),
        ({"target": "x", "word": "w", "count": "2"}, "count requires type double or integer"),
        ({"target": "x", "word": "w", "finish": 1}, "finish requires type bool"),
        ({"target": "x", "word": "w", "mood": 1}, "not required by pipeline: mood"),
        ({"target": "x" * 10_000, "word": "w"}, "maximum size of 10000"),
    ],
)
def test_wrong_parameters_are_refused_as_by_the_server(
    api: Api, package: Path, parameters: dict[str, Any], words: str
) -> None:
    with pytest.raises(ApiError, match=f"the API refused .400.: .*{words}"):
        post(api, package, **parameters)


@pytest.mark.parametrize(
    ("access", "words"),
    [
        ({}, "refused our token .401; no token.: User identity .* fresh one by --token-file"),
        ({"token": "stale"}, "refused our token .401; KF_PIPELINES_TOKEN."),
        ({"token_file": "nowhere/token"}, "--token-file nowhere/token: cannot be read: No such f"),
    ],
)
def test_a_wrong_token_says_which_and_what_to_do(
    server: KfpApi, access: dict[str, str], words: str
) -> None:
    with pytest.raises(ApiError, match=words):
        Api(Access(server.url, **access)).check()


def test_a_token_file_is_read_for_every_call(server: KfpApi, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("secret\n")
    api = Api(Access(server.url, token_file=str(path)))
    api.check()
    path.write_text("stale\n")
    with pytest.raises(ApiError, match=f"401; {path}"):
        api.check()


@pytest.mark.parametrize("content", [b"secret\nother", b"\xff\xfe", "gr\u00fc\u00dfe".encode()])
def test_a_file_without_a_token_is_named_and_not_shown(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    with pytest.raises(ApiError, match="token: holds no token; expected one line") as caught:
        Api(Access("http://127.0.0.1:9", token_file=str(path)))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("endpoint", ["kubeflow.example", "ftp://127.0.0.1", "127.0.0.1:8888"])
def test_an_address_has_a_scheme(endpoint: str) -> None:
    with pytest.raises(ApiError, match=f"endpoint '{endpoint}': expected .* begins with http://"):
        Api(Access(endpoint))


def test_no_answer_names_the_address() -> None:
    with pytest.raises(ApiUnavailable, match="http://127.0.0.1:9: no answer .*refused; check --en"):
        Api(Access("http://127.0.0.1:9")).check()


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (("200", "<html>Log in</html>"), "answers with a page, not with the API; is a login"),
        (("302", "/login"), "too many redirects; a login stands before it"),
        (("404", "nothing here"), "not found: nothing here; is it the API of Pipelines 2?"),
    ],
)
def test_another_server_is_no_api(page: tuple[str, str], words: str) -> None:
    with page_server(*page) as url, pytest.raises(ApiError, match=words):
        Api(Access(url)).check()


def test_an_address_that_is_none() -> None:
    with pytest.raises(ApiError, match="nonsense"):
        Api(Access("nonsense")).check()


def test_where_the_api_is(tmp_path: Path) -> None:
    assert find_access(environment={}) is None
    pod = find_access(environment={"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    assert pod and pod.endpoint == IN_CLUSTER
    named = {"KF_PIPELINES_ENDPOINT": "http://a/", "KF_PIPELINES_TOKEN": "t"}
    assert find_access(environment=named) == Access("http://a", token="t")
    given = find_access("http://b", "f", "ns", environment=named)
    assert given and (given.endpoint, given.token_file, given.namespace) == ("http://b", "f", "ns")
    assert "secret" not in repr(Access("http://a", token="secret"))
