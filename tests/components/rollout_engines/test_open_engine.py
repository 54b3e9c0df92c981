"""The choice of the engine, and policies that no engine can load."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from components.engine import FinishReason
from components.errors import PolicyError, RolewiseError
from components.policies import PolicyRef, Team
from components.rollout.answers import Draw, checked
from components.rollout.engines import open_engine
from components.settings import RolloutConfig
from tests.components.rollout_engines.conftest import World
from tests.components.rollout_engines.tiny_team import make_team


def open_transformers(world: World, team: Team, **settings: int) -> None:
    config = RolloutConfig(engine="transformers", **settings)  # type: ignore[arg-type]
    open_engine(config, team, world.store, world.cache).close()


def broken_team(world: World, tmp_path: Path, edit: str) -> Team:
    """A team of one policy whose folder was spoiled in one way."""
    folder = tmp_path / "broken"
    shutil.copytree(world.folder(world.full.policies["planner"]), folder, symlinks=False)
    subprocess.run(["chmod", "-R", "u+w", str(folder)], check=True)
    if edit == "chat template":
        (folder / "chat_template.jinja").unlink()
    if edit == "vocabulary":
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
        tokenizer["model"]["vocab"] |= {f"word{k}": 45 + k for k in range(9)}
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    if edit == "tokenizer":
        (folder / "tokenizer.json").unlink()
    ref = world.store.upload_folder(folder)
    return make_team({"planner": PolicyRef("planner", 0, ref.uri, ref.sha256, ref.bytes)})


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ("chat template", "tokenizer has no chat template; expected chat_template.jinja"),
        ("vocabulary", "tokenizer has 54 tokens, expected at most the model's 45"),
        ("tokenizer", "no tokenizer can be loaded"),
    ],
)
def test_a_wrong_tokenizer_names_the_policy(
    world: World, tmp_path: Path, edit: str, message: str
) -> None:
    with pytest.raises(PolicyError, match=r"policy planner@0-.*" + message):
        open_transformers(world, broken_team(world, tmp_path, edit))


def test_an_answer_longer_than_the_model_is_refused(world: World) -> None:
    with pytest.raises(RolewiseError, match="max_new_tokens is 256, expected less than .* 256"):
        open_transformers(world, world.full, max_new_tokens=256)


def test_auto_falls_back_and_says_why(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)  # as if it were not installed
    config = RolloutConfig(engine="auto", max_new_tokens=8)
    engine = open_engine(config, world.full, world.store, world.cache)
    assert engine.name == "transformers"
    assert "engine: transformers (slower; vLLM cannot be used:" in capsys.readouterr().out
    with pytest.raises(RolewiseError, match="vLLM cannot be used"):
        open_engine(
            config.model_copy(update={"engine": "vllm"}), world.full, world.store, world.cache
        )


def test_auto_takes_vllm_and_leaves_the_environment_as_it_was(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    before = dict(os.environ)
    config = RolloutConfig(max_prompt_tokens=32, max_new_tokens=8)
    engine = open_engine(config, world.full, world.store, world.cache)
    engine.close()
    assert (engine.name, capsys.readouterr().out) == ("vllm", "engine: vllm\n")
    assert dict(os.environ) == before


def test_importing_the_choice_loads_no_framework() -> None:
    code = (
        "import sys, components.rollout.engines as _;"
        "print({'torch', 'vllm', 'transformers'} & {*sys.modules})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


def test_draws_that_cannot_be_trained_on_become_errors() -> None:
    stop = FinishReason.STOP
    assert checked(Draw((3,), (-0.5,), stop)).error is None
    assert checked(Draw((), (), stop)).finish_reason is FinishReason.ERROR
    assert "not finite" in (checked(Draw((3,), (float("nan"),), stop)).error or "")
    assert "2 tokens came with 1" in (checked(Draw((3, 4), (-0.1,), stop)).error or "")
