"""The model card: every number from the run, nobody's text breaks it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.intervals import paired_difference
from components.promotion.card import model_card
from components.promotion.facts import Facts, collect
from components.promotion.licences import licence_of, title
from components.promotion.pins import env_pins, policy_pins
from components.settings import StorageConfig
from components.storage import open_store
from components.tracking.manifest import make_manifest
from tests.components.promotion.reports import BAD, GOOD, make_report
from tests.doubles.teams import TRACER, make_config, make_ref, stored_state

APACHE = "\n                 Apache License\n           Version 2.0, January 2004\n"


def facts(folder: Path, files: dict[str, str] | None = None, **sections: Any) -> Facts:
    config = make_config(str(folder), **sections)
    state, store = stored_state(config, 3, **(files or {})), open_store(config.storage)
    report = make_report(config, state)
    evaluation = {"validation/success": 0.9, "validation/success_low": 0.82,
                  "validation/success_high": 0.95}  # fmt: skip
    manifest = make_manifest(
        config, "r", 3, state.policies, policy_pins(store, state), env_pins(config), evaluation,
        {"promoted": True, "reasons": ["it is better"]},
    )  # fmt: skip
    return collect(store, manifest, state, config, report)


def header(card: str) -> Any:
    _, text, _ = card.split("---\n", 2)
    return yaml.safe_load(text)


def test_header_is_what_hubs_read(tmp_path: Path) -> None:
    policies = {name: {"base": "hf://Qwen/Qwen3-1.7B@0123456789abcdef"} for name in "ab"}
    card = model_card(facts(tmp_path, {"LICENSE": APACHE}, policies=policies))
    found = header(card)
    assert found["license"] == "apache-2.0" and found["base_model"] == ["Qwen/Qwen3-1.7B"]
    results = {item["dataset"]["name"]: item for item in found["model-index"][0]["results"]}
    assert set(results) == {f"{TRACER} validation", f"{TRACER} test"}
    assert results[f"{TRACER} validation"]["dataset"]["type"] == TRACER
    assert results[f"{TRACER} validation"]["metrics"][0]["value"] == 0.9


def test_numbers_are_those_of_the_report(tmp_path: Path) -> None:
    card, gain = model_card(facts(tmp_path)), paired_difference(GOOD, BAD)
    assert "| validation | 90.0 % | 82.6 to 94.5 % | 2.00 | 100 |" in card
    interval = f"({100 * gain.low:+.1f} to {100 * gain.high:+.1f})"
    assert f"against the initial team: +70.0 points {interval}, 70 tasks won, 0 lost" in card
    assert "| 3 | 90.0 % |" in card  # the curve's last point
    assert "it is better" in card and "| A | `a@3-" in card


def test_the_card_of_a_refused_team_says_so(tmp_path: Path) -> None:
    passed = facts(tmp_path)
    gate = {"promoted": False, "reasons": ["it is worse"]}
    refused = model_card(replace(passed, manifest=replace(passed.manifest, gate=gate)))
    assert "validation chose this version" in model_card(passed)
    assert "validation chose this version" not in refused
    assert "and refused it." in refused and "The gate refused this version: it is worse" in refused


def test_unknown_licences_are_said(tmp_path: Path) -> None:
    card = model_card(facts(tmp_path))
    assert header(card)["license"] == "other" and "| a | `file://nowhere` | unknown |" in card


def test_options_cannot_end_a_cell(tmp_path: Path) -> None:
    options = {"endings": {"A|<script>\n| x": "solved"}}
    card = model_card(facts(tmp_path, env={"name": TRACER, "options": options}))
    (line,) = [line for line in card.splitlines() if "script" in line]
    assert "<script" not in line and "\\|" in line and line.endswith(" |")


@pytest.mark.parametrize(
    ("text", "name"),
    [(APACHE, "apache-2.0"), ("MIT License\n\nCopyright", "mit"), ("All rights reserved.", None),
     ("Qwen RESEARCH LICENSE AGREEMENT", "qwen-research")],
)  # fmt: skip
def test_licences_by_their_first_lines(text: str, name: str | None) -> None:
    assert title(text) == name


def test_bases_without_a_file(tmp_path: Path) -> None:
    store = open_store(StorageConfig(uri=f"file://{tmp_path}/store"))
    assert licence_of(store, "init://", make_ref("a")) == "none: made from scratch"
    assert licence_of(store, "pkg://pydantic", make_ref("a")) == "MIT (package pydantic)"
    assert licence_of(store, "pkg://no-such-package", make_ref("a")) == "unknown"
