"""The model card of a team as Markdown, with the metadata header that model hubs read.

Every number comes from the run: from the manifest, the report of its evaluation, its settings.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from components.promotion.facts import Facts
from components.promotion.licences import UNKNOWN

_SPDX = ("apache-2.0", "mit", "bsd-3-clause", "gemma")
"""Licences that a header may name as they are."""


def model_card(facts: Facts) -> str:
    """The whole text; it ends with a newline."""
    parts = [
        _header(facts), _summary(facts), _team(facts), _environments(facts), _training(facts),
        _evaluation(facts), _licences(facts), _limits(facts), _provenance(facts),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _header(facts: Facts) -> str:
    manifest = facts.manifest
    hubs = {base.removeprefix("hf://").partition("@")[0] for base in manifest.bases.values()
            if base.startswith("hf://")}  # fmt: skip
    header: dict[str, Any] = {
        "license": _header_licence(facts),
        "library_name": "peft" if any(p.base for p in manifest.policies.values())
        else "transformers",
        "pipeline_tag": "text-generation",
        "tags": ["rolewise", "at-grpo", "multi-agent", "reinforcement-learning", "llm-agents"],
    }  # fmt: skip
    if hubs:
        header["base_model"] = sorted(hubs)
    results = [_result(manifest.env["name"], name, part) for name, part in _own(facts).items()]
    if results:
        header["model-index"] = [{"name": manifest.team, "results": results}]
    return f"---\n{yaml.safe_dump(header, sort_keys=False, allow_unicode=True)}---"


def _header_licence(facts: Facts) -> str:
    found = {licence for licence in facts.licences.values() if not licence.startswith("none")}
    return found.pop() if len(found) == 1 and found <= set(_SPDX) else "other"


def _result(env: str, name: str, part: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "task": {"type": "reinforcement-learning", "name": "multi-agent play"},
        "dataset": {"name": f"{env} {name}", "type": env.replace(" + ", "-")},
        "metrics": [
            {"type": "success", "name": "tasks solved", "value": round(part["success"], 4)},
        ],
    }


def _summary(facts: Facts) -> str:
    manifest = facts.manifest
    success = manifest.evaluation.get("validation/success")
    solved = "" if success is None else (
        f" It solves {100 * success:.1f} % of the held-out validation tasks "
        f"({_range(manifest.evaluation, 'validation/success_low', 'validation/success_high')})."
    )  # fmt: skip
    return (
        f"# {manifest.team}\n\nA team of {len(manifest.roles)} language-model agents for "
        f"{manifest.env['name']}, trained together with AT-GRPO (agent- and turn-wise grouped "
        f"policy optimisation, arXiv 2510.11062) by Rolewise: iteration {manifest.iteration} of "
        f"run `{manifest.run}`.{solved}\n\nThe roles learned together and work together: do not "
        "combine a role of this version with roles of another."
    )


def _team(facts: Facts) -> str:
    manifest = facts.manifest
    rows = []
    for role, policy in manifest.roles.items():
        ref, settings = manifest.policies[policy], facts.config.policies[policy]
        kind = f"LoRA, r = {settings.lora.r}" if settings.lora else "full weights"
        frozen = "" if settings.trainable else ", frozen"
        pin = manifest.pins.get(policy)
        digests = f"`{pin.tokenizer[:12]}` / `{pin.chat_template[:12]}`" if pin else "not pinned"
        rows.append((role, f"`{ref.tag}`", kind + frozen, f"`{manifest.bases[policy]}`", digests))
    head = ("role", "policy version", "weights", "base", "tokenizer / chat template")
    return "## The team\n\n" + _table(head, rows)


def _environments(facts: Facts) -> str:
    rows = []
    for name, member in facts.config.environments.items():
        pin = facts.manifest.envs.get(name, {})
        options = (
            ", ".join(f"{key}: {value}" for key, value in member.options.items()) or "defaults"
        )
        version = pin.get("version", facts.manifest.env["version"])
        prompts = f"`{pin['prompts'][:12]}`" if "prompts" in pin else "not pinned"
        rows.append((member.name or name, version, member.reward, options, prompts))
    head = ("environment", "version", "reward", "options", "prompts")
    return (
        "## Environments and data\n\n" + _table(head, rows) + "\n\nTasks come from the environment "
        "itself, or from the files that its options name. Training, validation and test tasks do "
        "not overlap; " + _chosen(facts)
    )


def _chosen(facts: Facts) -> str:
    if facts.manifest.gate.get("promoted"):
        return "validation chose this version, test did not."
    return "the gate judged this version by validation, not by test, and refused it."


def _training(facts: Facts) -> str:
    config = facts.config
    rollout, update = config.rollout, config.update
    rows = [
        ("iterations", facts.manifest.iteration),
        ("tasks an iteration", rollout.num_tasks),
        ("answers a prompt (K)", rollout.num_candidates),
        ("turns at most (T)", rollout.num_turns),
        ("sampling / pick", f"{rollout.sampling}, {rollout.pick}, beam {rollout.beam}"),
        ("temperature, top_p, top_k", f"{rollout.temperature}, {rollout.top_p}, {rollout.top_k}"),
        ("team reward's weight (alpha)", rollout.alpha),
        ("groups", ", ".join(config.grouping.key)),
        ("learning rate", f"{update.learning_rate:g}"),
        ("clip", f"{update.clip_low} below, {update.clip_high} above"),
        ("KL / entropy coefficient", f"{update.kl_coef} / {update.entropy_coef}"),
        ("precision", f"update {update.dtype}, rollout {rollout.dtype}"),
        (
            "warm start",
            f"{config.warm_start.steps} supervised steps" if config.warm_start else "no",
        ),
        ("seed", config.seed),
    ]
    text = "## Training\n\n" + _table(("setting", "value"), rows)
    if facts.curve:
        points = [(it, f"{100 * success:.1f} %") for it, success in facts.curve.items()]
        text += "\n\n" + _table(("after iteration", "validation success"), points)
    return text


def _evaluation(facts: Facts) -> str:
    benchmarks = facts.report.get("benchmarks", {})
    rows = [
        (name, f"{100 * part['success']:.1f} %",
         f"{100 * part['low']:.1f} to {100 * part['high']:.1f} %", f"{part['turns_mean']:.2f}",
         part["num_tasks"])
        for name, part in benchmarks.items()
    ]  # fmt: skip
    if not rows:
        return "## Evaluation\n\nThe report of the closing evaluation is no longer stored."
    confidence = f"{100 * facts.report['confidence']:g} % interval"
    text = "## Evaluation\n\nGreedy play on held-out tasks.\n\n" + _table(
        ("benchmark", "success", confidence, "turns", "tasks"), rows
    )
    lines = [_difference(facts, name, of) for name, of in facts.report["differences"].items()]
    return "\n".join([text, "", *lines]) if lines else text


def _difference(facts: Facts, name: str, of: Mapping[str, Any]) -> str:
    other = {
        "reference": f"the {facts.report['reference']} team",
        "swapped": "the same team with its policies exchanged between roles",
    }.get(name, name)
    return (
        f"- against {other}: {100 * of['estimate']:+.1f} points ({100 * of['low']:+.1f} to "
        f"{100 * of['high']:+.1f}), {of['wins']} tasks won, {of['losses']} lost"
    )


def _licences(facts: Facts) -> str:
    bases = facts.manifest.bases
    rows = [(policy, f"`{bases[policy]}`", facts.licences[policy]) for policy in bases]
    return (
        "## Licences\n\n" + _table(("policy", "base", "licence of the base"), rows) + "\n\nTrained "
        "weights are a derivative of their base and stay under its licence; where it is "
        f"`{UNKNOWN}`, ask before you publish. Data: see the environments' own documentation."
    )


def _limits(facts: Facts) -> str:
    notes = [
        "- Trained and measured on the environments above alone; nothing is known about others.",
        "- Success is that of greedy play within the stated number of turns.",
        "- The team was not trained to refuse anything and was not examined for harmful text; "
        "programs that it writes belong in a sandbox.",
    ]
    if facts.config.grouping.allow_impure:
        notes.append("- Groups mixed prompts (`grouping.allow_impure`).")
    if not facts.manifest.gate.get("promoted"):
        notes.append("- The gate refused this version: " + "; ".join(_reasons(facts)))
    return "## Limits\n\n" + "\n".join(notes)


def _provenance(facts: Facts) -> str:
    manifest = facts.manifest
    rows = [
        ("run, iteration", f"`{manifest.run}`, {manifest.iteration}"),
        ("configuration", f"`{manifest.config_digest}`"),
        ("git commit", f"`{manifest.git_commit or 'unknown'}`"),
        ("MLflow run", f"`{facts.mlflow_run or 'none'}`"),
        ("store", f"`{manifest.store.uri}`"),
        ("gate", "; ".join(_reasons(facts)) or "not asked"),
    ]
    return "## Where it comes from\n\n" + _table(("", ""), rows)


def _reasons(facts: Facts) -> Sequence[str]:
    return [str(reason) for reason in facts.manifest.gate.get("reasons", [])]


def _own(facts: Facts) -> dict[str, Mapping[str, Any]]:
    """Benchmarks that the team itself played, not its reference or its swapped form."""
    parts: Mapping[str, Mapping[str, Any]] = facts.report.get("benchmarks", {})
    others = {"reference", "swapped"}
    return {name: part for name, part in parts.items() if not others & set(name.split("/"))}


def _range(values: Mapping[str, float], low: str, high: str) -> str:
    return f"95 % interval {100 * values[low]:.1f} to {100 * values[high]:.1f} %"


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(item) for item in row) + " |" for row in lines)


def _cell(value: Any) -> str:
    """Nothing that ends the cell: values may be anybody's text."""
    return " ".join(str(value).replace("|", "\\|").replace("<", "&lt;").split())
