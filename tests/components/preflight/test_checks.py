"""What the checks see, on real stores, databases and environments; and what they say of faults."""

import shutil
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from components.config import ExperimentConfig, parse_config
from components.preflight.capacity import Gpus, check_cost, check_rollout, check_update, check_use
from components.preflight.environment import check_environment, language_of
from components.preflight.findings import Finding, Level, run_checks, worst
from components.preflight.places import check_model_registry, check_storage, check_tracking
from components.preflight.policies import check_policies
from components.preflight.servers import check_servers
from components.preflight.shapes import KNOWN
from components.rollout.warm.layout import expected
from components.tracking.kubeflow import ModelRegistry
from tests.doubles.model_registry import Registry, serving

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
COMPACT = {
    "height": 4, "width": 4, "num_walls": 3, "action_language": "cells", "prompt_style": "compact",
}  # fmt: skip
REVISION = "0" * 40


def _config(tmp_path: Path, base: str = "init://", **changes: Any) -> ExperimentConfig:
    policy = {"base": base, **({"init": {}} if base == "init://" else {})}
    return parse_config(
        {
            "name": "tiny",
            "env": {"name": "plan_path", "options": COMPACT},
            "policies": {"tool": policy, "planner": policy},
            "roles": {"tool": "tool", "planner": "planner"},
            "rollout": {"num_tasks": 4, "num_candidates": 2, "max_new_tokens": 64},
            "evaluation": {"num_tasks": 5},
            "storage": {"uri": f"file://{tmp_path}/store", "cache": f"{tmp_path}/cache"},
            "tracking": {"uri": f"sqlite:///{tmp_path}/mlflow.db"},
        }
        | changes
    )


def _policies(config: ExperimentConfig, offline: bool = True) -> list[Finding]:
    language = language_of(config)
    return check_policies(config, language.prompts, language.words, offline)[0]


def test_a_good_configuration_has_nothing_but_ok(tmp_path: Path, blank_database: Path) -> None:
    shutil.copy(blank_database, tmp_path / "mlflow.db")
    config = _config(tmp_path)
    found = [
        *run_checks(
            [
                ("environment", lambda: check_environment(config)),
                ("storage", lambda: check_storage(config)),
                ("tracking", lambda: check_tracking(config)),
            ]
        ),
        *_policies(config),
    ]
    assert worst(found) is Level.OK, found
    subjects = [finding.subject for finding in found]
    assert subjects[:3] == ["environment", "training tasks", "validation tasks"]
    assert {"storage", "tracking", "registry", "policy tool", "policy planner"} <= set(subjects)


def test_storage_is_left_as_it_was(tmp_path: Path) -> None:
    list(check_storage(_config(tmp_path)))
    assert [path for path in (tmp_path / "store").rglob("*") if path.is_file()] == []


def test_storage_that_cannot_be_written_is_one_failure(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file")
    config = _config(tmp_path)
    (found,) = run_checks([("storage", lambda: check_storage(config))])
    assert found.level is Level.FAIL and str(tmp_path) in found.message


def test_tasks_that_do_not_exist_are_named(tmp_path: Path) -> None:
    """A split with fewer tasks than are asked for is played as it is; one without any is not."""

    def found(**options: int) -> list[Finding]:
        small = {**COMPACT, "height": 2, "width": 2, **options}
        config = _config(tmp_path, env={"name": "plan_path", "options": small})
        return list(run_checks([("environment", lambda: check_environment(config))]))

    fewer = {finding.subject: finding for finding in found(num_walls=1)}["validation tasks"]
    assert fewer.level is Level.WARN and fewer.message == "1 of 5 exist"
    none = found(num_walls=2)[-1]
    assert none.level is Level.FAIL and "the options leave 0 instances" in none.message


@pytest.mark.parametrize(
    ("base", "level", "words"),
    [
        ("file:///nowhere", Level.FAIL, "has no safetensors, got no folder"),
        ("pkg://no-such-package", Level.FAIL, "install the package"),
        ("hf://Qwen/Qwen3-1.7B", Level.FAIL, "pins no revision"),
        (f"hf://Qwen/Qwen3-1.7B@{REVISION}", Level.WARN, "1.72 B parameters"),
        (f"hf://nobody/nothing@{REVISION}", Level.WARN, "was not looked at"),
    ],
)
def test_a_base_is_judged_by_what_can_be_seen(
    tmp_path: Path, base: str, level: Level, words: str
) -> None:
    found = _policies(_config(tmp_path, base))
    assert {finding.level for finding in found} == {level}
    assert words in f"{found[0].message}; {found[0].fix}"


def test_a_model_from_scratch_needs_a_closed_set_of_words(tmp_path: Path) -> None:
    found = _policies(_config(tmp_path, env={"name": "plan_path"}))
    assert found[0].level is Level.FAIL and "closed set of words" in found[0].message


def _capacity(gpus: Gpus, **changes: Any) -> list[Finding]:
    content = {
        "rollout": {
            "dtype": "bfloat16",
            "num_tasks": 64,
            "max_new_tokens": 512,
            "tensor_parallel": gpus.count,
        },
        "update": {
            "dtype": "bfloat16",
            "zero_stage": 3,
            "tokens_per_microbatch": 5000,
            "num_processes": gpus.count,
        },
    } | changes
    base = f"hf://Qwen/Qwen3-8B@{REVISION}"
    config = _config(Path("/nowhere"), base, **content)
    shapes = dict.fromkeys(config.policies, KNOWN["Qwen/Qwen3-8B"])
    return [
        *check_rollout(config, shapes, gpus),
        *check_update(config, shapes, gpus),
        *check_cost(config, shapes, gpus, gpus),
    ]


def test_two_models_of_8b_fit_eight_large_gpus_and_no_small_one() -> None:
    large = _capacity(Gpus(8, 80.0, peak_tflops=990.0, price_per_hour=2.0))
    assert worst(large) is Level.OK, large
    small = _capacity(Gpus(1, 24.0))
    assert [finding.level for finding in small] == [Level.FAIL, Level.FAIL, Level.FAIL, Level.OK]
    assert "there are 1 x 24 GiB" in small[0].message and "zero_stage 3" in small[1].fix


def test_a_cost_counts_every_role_turn_and_candidate() -> None:
    cost = _capacity(Gpus(8, 80.0, peak_tflops=1000.0, price_per_hour=10.0))[-1].message
    answers = 64 * 4 * 4 * 512 * 2
    assert f"{answers / 1e6:.3g} M generated tokens" in cost
    tokens = answers + 64 * 4 * 4096 * 2
    hours = 8.19e9 * tokens * (2 / (1e15 * 0.1) + 6 / (1e15 * 0.4)) / 3600
    assert f"{hours:.2g} GPU hours" in cost and f"{hours * 10 * 10:.0f} in the profile" in cost


@pytest.mark.parametrize(("booked", "level"), [(1, Level.FAIL), (2, None), (8, Level.WARN)])
def test_gpus_that_are_booked_are_used(booked: int, level: Level | None) -> None:
    config = _config(
        Path("/nowhere"), rollout={"max_new_tokens": 8, "data_parallel": 2},
        update={"num_processes": 2},
    )  # fmt: skip
    found = list(check_use(config, Gpus(booked, 80.0), Gpus(booked, 80.0)))
    assert [finding.level for finding in found] == [level] * 2 * (level is not None)
    assert not list(check_use(config, None, None))


def test_a_failing_check_stops_no_other() -> None:
    def broken() -> list[Finding]:
        raise ValueError("one\ntwo")

    found = list(run_checks([("a", broken), ("b", lambda: [Finding(Level.OK, "b", "good")])]))
    assert [(finding.subject, finding.message) for finding in found] == [
        ("a", "one"), ("a", "two"), ("b", "good"),
    ]  # fmt: skip


def _mirror(tmp_path: Path, url: str | None) -> list[Finding]:
    config = _config(tmp_path, promotion={"model_registry_url": url} if url else {})
    return list(check_model_registry(config))


def test_the_model_registry_is_asked_where_there_is_one(tmp_path: Path) -> None:
    assert _mirror(tmp_path, None) == []
    with serving(Registry()) as registry:
        (new,) = _mirror(tmp_path, registry.url)
        assert new.level is Level.OK and "API v1alpha3, team 'tiny' is new" in new.message
        ModelRegistry(registry.url).model("tiny", {})
        assert "team 'tiny' is known" in _mirror(tmp_path, registry.url)[0].message
        writes, registry.token = registry.writes, "secret"
        (closed,) = _mirror(tmp_path, registry.url)
        assert "KF_MODEL_REGISTRY_TOKEN" in closed.message and registry.writes == writes == 1
    (gone,) = _mirror(tmp_path, registry.url)
    assert gone.level is closed.level is Level.WARN
    assert "is it the registry's address?" in gone.message
    assert "set promotion.model_registry_url" in gone.fix and "or to null" in gone.fix


def test_another_service_is_no_model_registry(tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as other:
        threading.Thread(target=other.serve_forever, kwargs={"poll_interval": 0.01}).start()
        (found,) = _mirror(tmp_path, f"http://127.0.0.1:{other.server_port}")
        other.shutdown()
    assert found.level is Level.WARN and "has no /api/model_registry/v1alpha3" in found.message


def _servers(server: Gpus | None, policies: dict[str, Any], **rollout: Any) -> list[Finding]:
    content = {"dtype": "bfloat16", "server": {}} | rollout
    roles = dict(zip(("tool", "planner"), (list(policies) * 2)[:2], strict=True))
    config = _config(Path("/nowhere"), policies=policies, roles=roles, rollout=content)
    shapes = dict.fromkeys(config.policies, KNOWN["Qwen/Qwen3-8B"])
    others = {"evaluate": 2, "update": 4}
    return list(check_servers(config, shapes, expected(config), server, others))


def test_warm_servers_hold_gpus_besides_the_other_steps() -> None:
    base = f"hf://Qwen/Qwen3-8B@{REVISION}"
    full = {name: {"base": base} for name in ("a", "b")}
    total, *each = _servers(Gpus(2, 80.0), full, tensor_parallel=2)
    assert total.level is Level.WARN and "without rollout.server 4 would do" in total.fix
    assert total.message == (
        "2 warm servers (a; b) of 2 GPUs hold 4 for the whole run; with the 4 of the step update "
        "the cluster must have 8"
    )
    assert [item.subject for item in each] == ["server a", "server b"]
    assert worst(each) is Level.OK
    adapters = {name: {"base": base, "lora": {"r": 8, "alpha": 8}} for name in ("a", "b")}
    shared = _servers(Gpus(8, 16.0), adapters)
    assert "1 warm server (a + b) of 8 GPUs hold 8" in shared[0].message
    assert "7 of the profile's 8 GPUs stay idle" in shared[1].message
    assert shared[2].level is Level.FAIL and shared[2].subject == "server a + b"
    (cpus,) = _servers(None, full)
    assert cpus.level is Level.OK and "2 warm servers (a; b) on CPUs" in cpus.message


def test_an_environment_of_ones_own_is_checked(tmp_path: Path) -> None:
    """Its name in the configuration, `module:factory`, is not the name that it has itself."""
    env = {"name": "envs.plan_path.environment:make_plan_path", "options": COMPACT}
    found = list(check_environment(_config(tmp_path, env=env)))
    assert [finding.message for finding in found[1:]] == ["4 drawn", "5 drawn", "5 drawn"]
