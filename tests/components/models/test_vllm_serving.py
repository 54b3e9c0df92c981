"""Exports behind real vLLM servers: adapters by the names of roles, and merged, answer as here."""

import json
from pathlib import Path

import pytest

from components.engine import Sampling
from components.models.asking import EngineTeam, ServedTeam
from components.models.export_page import commands
from components.models.exporting import Wanted, export_team
from components.models.local_servers import Plan, await_all, serving
from components.policies import Team
from components.rollout.transformers_engine import TransformersEngine
from components.settings import RolloutConfig
from envs.base import Message
from tests.components.models.test_exporting import FACTS
from tests.components.rollout_engines.tiny_team import (
    CELLS,
    make_adapter,
    make_policy,
    make_store,
)

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("ignore")]
SAMPLING = Sampling(temperature=0.0, max_new_tokens=16, max_prompt_tokens=200)
PROMPTS = [" ".join(("walls", *CELLS[k : k + 9], "goal", CELLS[-k - 1])) for k in range(4)]


def test_adapters_and_merged_weights_answer_as_in_training(tmp_path: Path) -> None:
    store = make_store(tmp_path / "store")
    base = make_policy(store, tmp_path, "base", 0, scale=8.0)
    policies = {
        name: make_adapter(store, tmp_path, name, base, seed)
        for seed, name in enumerate(("plan", "tool"), 1)
    }
    team = Team(policies, {"planner": "plan", "tooler": "tool"})
    bases = dict.fromkeys(policies, "init://")
    plans = []
    for name, merge, role in (("apart", False, None), ("merged", True, "planner")):
        wanted = Wanted(team, store, tmp_path, bases, FACTS, 256, merge, role)
        export_team(wanted, tmp_path / name, say=lambda text: None)
        written = json.loads((tmp_path / name / "team.json").read_text())
        (words,) = commands(written, str(tmp_path / name))
        plans.append(Plan((name,), words[: words.index("--port")], 64))
    settings = RolloutConfig(engine="transformers", max_new_tokens=16, max_prompt_tokens=200)
    engine = TransformersEngine(settings, team, store, tmp_path / "cache")
    here = EngineTeam(engine, team.roles, SAMPLING)
    with serving(plans, tmp_path / "logs", "127.0.0.1", 0) as running:
        await_all(running, None, 900.0)
        apart = ServedTeam([running[0].url], list(team.roles), SAMPLING)
        merged = ServedTeam([running[1].url], ["planner"], SAMPLING)
        for prompt in PROMPTS:
            asked = [Message(role="user", content=prompt)]
            expected = {role: here.answer(role, asked) for role in team.roles}
            assert expected["planner"] != expected["tooler"]
            # A server puts a blank before the words of a tokenizer that has nothing but words.
            found = {role: apart.answer(role, asked).strip() for role in team.roles}
            assert found == expected
            assert merged.answer("planner", asked).strip() == expected["planner"]
