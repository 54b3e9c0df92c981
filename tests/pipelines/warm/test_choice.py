"""What rollout.server changes around a run: its place, its pods, and not its name."""

from pathlib import Path

import pytest

from components.errors import ConfigError
from pipelines.compiling import compile
from pipelines.warm.choice import check_waits, with_servers
from tests.pipelines.experiment import BUCKET, make_config, pinned

SERVER = {"server": {"lease_s": 60}}


def test_a_run_keeps_its_name_with_servers_and_without() -> None:
    assert make_config(rollout=SERVER).digest() == make_config().digest()


@pytest.mark.parametrize(
    ("rollout", "words"),
    [
        ({"engine": "transformers", **SERVER}, "server needs `engine: vllm`"),
        ({"data_parallel": 2, **SERVER}, "server needs .* data_parallel 1"),
        ({"server": {"lease_s": 100000}}, "rollout.server.lease_s: .* 86400"),
        ({"server": {"lease_s": 90, "max_age_s": 60}}, "lease_s 90 is longer than max_age_s 60"),
        ({"server": {"port": 80}}, "rollout.server.port: .* 1024"),
        ({"server": {"leases": 1}}, "rollout.server.leases: unknown key"),
    ],
)
def test_what_does_not_fit_is_named(rollout: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make_config(rollout=rollout)


def test_without_a_driver_that_waits_servers_are_refused() -> None:
    check_waits(make_config())
    with pytest.raises(ConfigError, match="add --wait, or --set rollout.server=null"):
        check_waits(make_config(rollout=SERVER))


def test_without_the_section_nothing_is_wrapped() -> None:
    def start(*_: object) -> None:
        raise AssertionError

    with with_servers(make_config(), "r", start, None) as same:  # type: ignore[arg-type]
        assert same is start


@pytest.mark.parametrize("placement", ["fused", pytest.param("staged", marks=pytest.mark.full)])
def test_steps_that_sample_leave_accelerators_to_the_servers(
    tmp_path: Path, placement: str
) -> None:
    booked = {}
    for name, more in (("cold", {}), ("warm", SERVER)):
        config = make_config(
            storage=BUCKET, rollout={"placement": placement, "num_turns": 2, **more}
        )
        spec = compile(config, pinned("single-gpu"), tmp_path / f"{name}.yaml", "iteration")
        booked[name] = {
            step.removeprefix("exec-")
            for step, executor in spec["deploymentSpec"]["executors"].items()
            if "accelerator" in executor["container"].get("resources", {})
        }
    sampling = {"rollout"} if placement == "fused" else {"sample-turn", "evaluate-team"}
    dropped = booked["cold"] - booked["warm"]
    assert sampling <= {step.rstrip("-0123456789") for step in dropped}
    assert any(step.startswith("update") for step in booked["warm"])
    assert any(step.startswith("evaluate") for step in booked["warm"])
