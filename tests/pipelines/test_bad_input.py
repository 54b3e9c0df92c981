"""What can be typed wrong or be missing on a cluster: each gives one sentence with field and fix.

The command line's are typed; those of the UI's form are posted to the stand-in of the API, which
refuses them as the real one does or plays the real steps on them in this process.
"""

import io
import json
import re
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.state import register_run, write_state
from components.storage import open_store
from pipelines import driving
from pipelines.__main__ import main
from pipelines.access import Access
from pipelines.api import Api
from pipelines.compiling import compile
from pipelines.faults import fault
from pipelines.inprocess import run_pipeline
from pipelines.profile import load_profile
from pipelines.refusals import ApiError
from pipelines.steps import STEPS
from tests.doubles.kfp_api import Execute, Posted, serving
from tests.pipelines.test_cluster import wait_for
from tests.pipelines.test_driver import make_state
from tests.pipelines.test_faults import PULL, QUOTA, failing
from tests.pipelines.test_submit import Desk, desk

__all__ = ["desk"]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
STAGED = ["--set", "rollout.placement=staged"]
TYPED: dict[str, tuple[list[str], str]] = {
    "no address": (["submit"], "error: no API: give --endpoint URL, or set KF_PIPELINES_ENDPOINT"),
    "nobody there": (
        ["submit", "--endpoint", "http://127.0.0.1:9"],
        "http://127.0.0.1:9: no answer from the Kubeflow Pipelines API: .*; check --endpoint",
    ),
    "no token file": (
        ["submit", "--endpoint", "http://127.0.0.1:9", "--token-file", "none"],
        "--token-file none: cannot be read: No such file",
    ),
    "unknown profile": (
        ["submit", "--profile", "moon"], "profile 'moon' is unknown; known: 8xh100, cpu, single-gpu"
    ),
    "unknown step in a profile": (
        ["submit", "--profile", "ours.yaml"],
        r"profile ours: steps \['dance', 'roll_out'\] are unknown; known: \[.*'rollout'",
    ),
    "unknown key in a profile": (
        ["submit", "--profile", "keys.yaml"],
        "profile keys: steps.rollout.gpus: unknown key; known: accelerator, cpu",
    ),
    "no image": (
        ["submit", "--profile", "single-gpu"],
        "profile single-gpu: no image for cpu, vllm, deepspeed; expected repository@sha256:.*"
        "--images FILE, or --set-image cpu=",
    ),
    "an image by tag": (
        ["submit", "--profile", "single-gpu", "--set-image", "cpu=r/cpu:1", "--set-image",
         "vllm=r/v:1", "--set-image", "deepspeed=r/d:1"],
        "cpu is 'r/cpu:1', .*which can change; expected repository@sha256:.*--set-image cpu=",
    ),
    "an account that cannot be": (
        ["submit", "--service-account", "My SA"],
        "--service-account 'My SA': expected a name such as rolewise-runner",
    ),
    "an account for a pipeline": (
        ["compile", "-o", "x.yaml", "--service-account", "x"],
        "--service-account: the pipeline iteration does not carry it.*`submit --service-account`",
    ),
    "a namespace that cannot be": (
        ["compile", "-o", "x.yaml", "--kubernetes-manifest", "--namespace", "Our Team"],
        "--namespace 'Our Team': expected a name such as teams",
    ),
    "an address without a scheme": (
        ["submit", "--endpoint", "kubeflow.example"],
        "endpoint 'kubeflow.example': expected an address that begins with http:// or https://",
    ),
    "a group of one": (
        ["submit", "--set", "rollout.num_candidates=1"],
        "rollout: num_candidates is 1: a group of one has no baseline, expected 2 or more",
    ),
    "no turn": (["submit", "--set", "rollout.num_turns=0"], "rollout.num_turns: .*greater than"),
    "no iteration": (["submit", "--iterations", "0"], "iterations: .*greater than"),
    "an iteration that was not made": (
        ["promote", "--iteration", "4"], "run 'r' has no committed iteration in file://.*train it"
    ),
    "too many tasks in turns": (
        ["compile", "-o", "x.yaml", *STAGED, "--set", "rollout.num_turns=20"],
        "placement staged unrolls 40 phases .* into 88 tasks, expected at most 40; set "
        "rollout.placement to fused, or take fewer turns",
    ),
    "too many policies": (
        ["compile", "-o", "x.yaml", "--set", "update.share_process=false", "--set", "MANY"],
        "35 policies, each updated by a task of its own, make 41 tasks, expected at most 40; set "
        "update.share_process to true",
    ),
    "a store in one pod": (
        ["compile", "-o", "x.yaml", "--profile", "single-gpu", "--images", "images.yaml"],
        "storage.uri is 'file://.*expected s3://bucket/prefix",
    ),
}  # fmt: skip


def write_files(folder: Path) -> None:
    digest = "@sha256:" + "0" * 64
    files: dict[str, Any] = {
        "ours.yaml": {"steps": {"dance": {}, "roll_out": {}}},
        "keys.yaml": {"steps": {"rollout": {"gpus": 1}}},
        "images.yaml": {name: name + digest for name in ("cpu", "vllm", "deepspeed")},
    }
    for name, content in files.items():
        (folder / name).write_text(yaml.safe_dump(content))


@pytest.mark.parametrize("name", TYPED)
def test_what_is_typed_on_the_command_line(desk: Desk, tmp_path: Path, name: str) -> None:
    write_files(tmp_path)
    (verb, *words), sentence = TYPED[name]
    if "MANY" in words:  # more roles than any environment that comes with the project has
        words = words[: words.index("MANY") - 1]
        write_many(desk)
    named = ["--name", "r"] if verb != "compile" else []
    desk.capture.readouterr()
    assert main([verb, str(desk.path), *named, *words]) == 2
    (line,) = desk.capture.readouterr().err.splitlines()
    assert matches(sentence, line), line
    assert not (tmp_path / "x.yaml").exists()


def write_many(desk: Desk) -> None:
    """An experiment whose 35 roles have a policy each."""
    content = yaml.safe_load(desk.path.read_text())
    roles = [f"role{number}" for number in range(35)]
    env = {"name": "tests.doubles.words:make_words", "options": {"roles": roles}}
    policies = dict.fromkeys(roles, {"base": "s3://b/p"})
    together = {"env": env, "policies": policies, "roles": {role: role for role in roles}}
    desk.path.write_text(yaml.safe_dump(content | together))


@pytest.mark.parametrize(("message", "fix"), [(PULL, "--set-image"), (QUOTA, "steps.rollout")])
def test_what_the_cluster_lacks(desk: Desk, message: str, fix: str) -> None:
    with serving(failing(message)) as api:
        code, _, error = desk.submit(api, "--wait")
    (line,) = error.splitlines()
    assert code == 1 and f"FAILED: rollout: {message}; " in line and fix in line


def test_a_wrong_token_names_its_source(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KF_PIPELINES_TOKEN", "stale")
    with serving(desk.commits, token="fresh") as api:
        code, _, error = desk.submit(api)
    assert code == 2 and "refused our token (401; KF_PIPELINES_TOKEN)" in error
    assert "give a fresh one by --token-file or KF_PIPELINES_TOKEN" in error


REFUSED = [
    ("iteration", {"run": "r", "iteration": "one"}, "input parameter iteration requires type doub"),
    ("iteration", {"run": 1, "iteration": 1}, "input parameter run requires type string"),
    ("iteration", {"iteration": 1}, "parameter run is not optional"),
    ("iteration", {"run": "r", "iteration": 1, "promote": "yes"}, "promote requires type bool"),
    ("iteration", {"run": "r", "iteration": 1, "K": 16}, "not required by pipeline: K"),
]
PLAYED = [
    ("iteration", {"run": "r", "iteration": 0}, "iteration is 0: expected 1 to 2; iteration 0 is "),
    ("iteration", {"run": "r", "iteration": -1}, "iteration is -1: expected 1 to 2"),
    ("iteration", {"run": "r", "iteration": 3}, "compile again with --set iterations=3"),
    (
        "iteration",
        {"run": "r", "iteration": 2},
        "the last committed iteration is 0: run iteration 1",
    ),
    ("iteration", {"run": "x", "iteration": 1}, "no state at all: run the preparation pipeline"),
    ("iteration", {"run": "a b", "iteration": 1}, "run name 'a b': expected 1-100 letters, digits"),
    (
        "promotion",
        {"run": "r", "iteration": 7},
        "no state of iteration 7 in .*committed iteration is",
    ),
    ("promotion", {"run": "r", "iteration": -1}, "iteration is -1: expected 0 or more"),
    ("preparation", {"run": "-"}, "run name '-': expected 1-100 letters"),
]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Desk, str], Path]:
    """Compiled pipelines: compiling takes longer than all else here."""
    made: dict[str, Path] = {}

    def package(desk: Desk, pipeline: str) -> Path:
        if pipeline not in made:
            made[pipeline] = tmp_path_factory.mktemp("packages") / f"{pipeline}.yaml"
            config = desk.commits.config.model_copy(update={"iterations": 2})
            compile(config, "cpu", made[pipeline], pipeline)
        return made[pipeline]

    return package


def playing(folder: Path, desk: Desk) -> Execute:
    """Plays the real steps in this process, on the desk's own store."""
    functions = {name: step.python_func for name, step in STEPS.items()}

    def execute(run: Posted) -> str | None:
        text = json.dumps(run.spec)
        uri = json.loads(first_config(run.spec))["storage"]["uri"]
        spec = json.loads(text.replace(uri, desk.commits.config.storage.uri))
        words = io.StringIO()
        try:
            with redirect_stderr(words):
                run_pipeline(spec, functions, run.parameters, folder, run.starts)
        except Exception as error:  # as a pod: its last words count
            said = [line for line in words.getvalue().splitlines() if line.startswith("error: ")]
            return said[0].removeprefix("error: ") if said else f"without a word: {error!r}"
        return None

    return execute


def first_config(spec: dict[str, Any]) -> str:
    tasks = spec["root"]["dag"]["tasks"].values()
    first = next(task for task in tasks if "config" in task["inputs"]["parameters"])
    return str(first["inputs"]["parameters"]["config"]["runtimeValue"]["constant"])


@pytest.mark.parametrize(("pipeline", "parameters", "words"), REFUSED)
def test_what_the_api_refuses_of_a_form(
    desk: Desk,
    packages: Callable[[Desk, str], Path],
    pipeline: str,
    parameters: dict[str, Any],
    words: str,
) -> None:
    with serving(desk.commits) as server:
        api = Api(Access(server.url))
        with pytest.raises(ApiError, match=words):
            api.create(api.experiment("e"), "n", packages(desk, pipeline), parameters, "")
        assert server.runs == []


@pytest.mark.parametrize(("pipeline", "parameters", "words"), PLAYED)
def test_what_the_first_step_refuses_of_a_form(
    desk: Desk,
    packages: Callable[[Desk, str], Path],
    tmp_path: Path,
    pipeline: str,
    parameters: dict[str, Any],
    words: str,
) -> None:
    config = desk.commits.config
    store = open_store(config.storage)
    register_run(store, "r", config)
    write_state(store, make_state(config, "r", 0))
    with serving(playing(tmp_path / "play", desk)) as server:
        api = Api(Access(server.url))
        made = api.create(api.experiment("e"), "n", packages(desk, pipeline), parameters, "")
        wait_for(lambda: server.runs[0].state in ("FAILED", "SUCCEEDED"))
        run = api.get(made.id)
        assert run.state == "FAILED" and len(run.tasks) == 1
        assert matches(words, fault(api, run)), fault(api, run)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"iterations": 0}, "iterations is 0: expected a whole number, 1 or more"),
        ({"iterations": 1.5}, "iterations is 1.5: expected a whole number, 1 or more"),
        ({"retries": -1}, "retries is -1: expected a whole number, 0 or more"),
        ({"run": "a b"}, "run name 'a b': expected 1-100 letters, digits"),
        ({"service_account": "My SA"}, "service_account 'My SA': expected a name such as"),
        ({"endpoint": ""}, "endpoint is empty, and this is no pod: give the address of the API"),
        ({"endpoint": "http://127.0.0.1:9"}, "http://127.0.0.1:9: no answer from the Kubeflow"),
    ],
)
def test_what_is_typed_for_the_pipeline_training(
    desk: Desk, tmp_path: Path, parameters: dict[str, Any], words: str
) -> None:
    typed = {
        "config": desk.commits.config.to_json(), "iterations": 1, "retries": 0, "run": "r",
        "profile": load_profile("cpu").model_dump_json(exclude_unset=True), "experiment": "",
        "terminate_on_stop": False, "service_account": "", "namespace": "", "endpoint": "",
    }  # fmt: skip
    with serving(desk.commits) as server:
        typed["endpoint"] = server.url
        desk.capture.readouterr()
        assert driving.main(json.dumps(typed | parameters), str(tmp_path / "report.html")) == 1
    (line,) = desk.capture.readouterr().err.splitlines()
    assert line.startswith("error: train (run ") and matches(words, line), line


def matches(words: str, line: str) -> bool:
    return re.search(words, line) is not None
