"""The README of an exported team: who plays what, how to load and to serve it, licences."""

import shlex
from collections.abc import Mapping
from typing import Any

from components.models.serving import Limits, engine_words, vllm_words

_PYTHON = """\
import json
from transformers import AutoModelForCausalLM, AutoTokenizer

team = json.load(open("team.json"))
policy = team["policies"][team["roles"]["{role}"]]
home = policy["base"] or policy["folder"]
tokenizer = AutoTokenizer.from_pretrained(home)
model = AutoModelForCausalLM.from_pretrained(home)
if policy["base"]:
    from peft import PeftModel

    model = PeftModel.from_pretrained(model, policy["folder"])
"""


def page(export: Mapping[str, Any]) -> str:
    """Markdown of a `team.json`."""
    rows = [
        f"| {role} | {policy} | `{export['policies'][policy]['folder']}` | "
        f"{export['policies'][policy]['licence']} |"
        for role, policy in export["roles"].items()
    ]
    return "\n".join([
        f"# Team {export['team']}", "",
        f"Run `{export['run']}`, iteration {export['iteration']}. {_evidence(export)}", "",
        "| role | policy | folder | licence |", "|---|---|---|---|", *rows, "",
        *_environments(export), "",
        "## Load", "", "From this folder, with transformers (and peft for an adapter):", "",
        "```python", _PYTHON.format(role=next(iter(export["roles"]))).rstrip(), "```", "",
        "## Serve", "", "A server per line; it answers to the names of its roles:", "",
        "```bash", *(f"vllm serve {shlex.join(words)}" for words in commands(export)), "```", "",
        "Prompts are made by the environment; another version, or other options, make others, "
        "which the team was not trained on. Thinking is off, as in training. Roles learnt "
        "together: policies of two versions of a team were never judged together.", "",
    ])  # fmt: skip


def commands(export: Mapping[str, Any], root: str = ".", port: int = 8000) -> list[list[str]]:
    """Arguments of `vllm serve` for every server that the export needs."""
    groups: dict[str, dict[str, dict[str, Any]]] = {}
    for role, policy in export["roles"].items():
        entry = export["policies"][policy]
        groups.setdefault(entry["base"] or entry["folder"], {})[role] = entry
    found = []
    for number, (home, entries) in enumerate(groups.items()):
        adapters = {
            role: f"{root}/{entry['folder']}" for role, entry in entries.items() if entry["base"]
        }
        roles = [role for role in entries if role not in adapters]
        rank = max((entry["rank"] for entry in entries.values()), default=0)
        length = min(entry["max_length"] for entry in entries.values())
        limit = Limits(length, rank)
        words = vllm_words(f"{root}/{home}", roles, adapters, limit, export["dtype"])
        words += engine_words(export["tensor_parallel"], export["quantization"])
        found.append([*words, "--port", str(port + number)])
    return found


def _evidence(export: Mapping[str, Any]) -> str:
    success = export["evaluation"].get("validation/success")
    return "" if success is None else f"Success on validation tasks: {success:.1%}."


def _environments(export: Mapping[str, Any]) -> list[str]:
    return [
        f"Plays `{env['name']}` version {env['version']}, reward {env['reward']}; prompts "
        f"`{env['prompts'][:12]}`, options `{env['options_digest'][:12]}`."
        for env in export["envs"].values()
    ]
