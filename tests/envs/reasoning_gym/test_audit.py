"""The audit: what it judges, and that the packaged findings are what it finds."""

import time
from dataclasses import replace

import pytest

from envs.reasoning_gym import audit, auditing, generators, verdicts
from envs.reasoning_gym.__main__ import main
from envs.reasoning_gym.audit import Trial
from envs.reasoning_gym.verdicts import Verdict

GOOD = Trial(right=1.0, nonsense=0.0, foreign=0.0, off_by_one=0.0, blind=0.1, raises=False,
             distinct=1.0, entry_s=0.01)  # fmt: skip
KNOWN = {"boxnet", "graph_color", "propositional_logic", "rubiks_cube", "rush_hour"}
"""Without a reference answer."""


def test_the_findings_name_every_generator_of_the_installed_package():
    version, found = verdicts.audited()
    assert version == generators.installed_version()
    assert sorted(found) == generators.names()
    refused = {task for task, verdict in found.items() if verdict.refused}
    assert refused >= {*KNOWN, "game_of_life_halting", "puzzle24"}
    assert len(refused) < 20


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"right": 0.4}, "its own answer scores 1 on 40%"),
        ({"nonsense": 0.5}, "nonsense scores 1 on 50%"),
        ({"foreign": 0.9}, "answers to other questions score 1 in 90%"),
        ({"off_by_one": 0.9}, "answers that are off by one score 1 on 90%"),
    ],
)
def test_judging(changes, reason):
    found = audit.judge(replace(GOOD, **changes), False)
    assert (found.refused or "").startswith(reason or "") and bool(found.refused) == bool(reason)


def test_credit_that_blind_answers_earn_is_not_paid_and_processes_that_differ_need_a_pool():
    assert audit.judge(GOOD, True).needs_pool
    assert not audit.judge(replace(GOOD, blind=0.5), False).pays_partial


def test_a_generator_without_an_answer_is_refused(capsys, monkeypatch):
    monkeypatch.setattr(auditing, "_digests", lambda tasks, _: dict.fromkeys(tasks, ""))
    assert main(["boxnet", "gcd"]) == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert "refused: its own answer scores 1 on 0% of its entries" in rows[0]
    assert rows[1].split()[1:3] == ["gcd", "ok"]
    assert rows[2] == "2 generators, 1 refused"


def hang(task):
    yield "grading '9**9'"
    time.sleep(60)


def die(task):
    yield "generating"
    raise SystemExit


def fail(task):
    yield "generating"
    raise RuntimeError("no\nluck")


@pytest.mark.parametrize(
    ("attempt", "reason"),
    [
        (hang, "grading '9**9' takes more than 0.5 s"),
        (die, "generating ends its process"),
        (fail, "cannot be tried: RuntimeError: no luck"),
    ],
)
def test_a_generator_that_cannot_be_tried_is_refused(attempt, reason, monkeypatch):
    monkeypatch.setattr(audit, "attempt", attempt)
    monkeypatch.setattr(auditing, "STEP_S", 0.5)
    monkeypatch.setattr(auditing, "_digests", lambda tasks, _: dict.fromkeys(tasks, ""))
    (found,) = auditing.findings(["gcd"])
    assert found.verdict == Verdict(reason) and found.trial is None


def test_findings_survive_their_file(tmp_path, monkeypatch):
    path = tmp_path / "audit.json"
    given = {"a": Verdict("why"), "b": Verdict(None, True, False)}
    path.write_text(verdicts.dump("1.2", given))
    monkeypatch.setattr(verdicts, "PATH", path)
    assert verdicts.audited.__wrapped__() == ("1.2", given)


def test_names_that_are_no_generators_are_refused(capsys):
    assert main(["chess"]) == 2
    assert main(["gcd", "--output"]) == 2
    assert capsys.readouterr().err.count("error: ") == 2


@pytest.mark.full
def test_auditing_again_finds_the_packaged_findings():
    """Names in order until the time is up: 8 minutes do on an idle core."""
    deadline = time.monotonic() + 480
    _, packaged = verdicts.audited()
    for found in auditing.findings():
        assert found.verdict == packaged[found.task], found.task
        if time.monotonic() > deadline:
            break
