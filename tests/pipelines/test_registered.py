"""The verbs about registered teams: show, history, rollback, register, card."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.tracking import registry
from pipelines.__main__ import main
from tests.components.promotion.promoting import Step, copied, prepared
from tests.components.promotion.reports import BAD
from tests.components.tracking.stores import blank_database
from tests.doubles.model_registry import Registry, serving

__all__ = ["blank_database"]
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def original(blank_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Step:
    return prepared(blank_database, tmp_path_factory.mktemp("verbs"), (3, 4))


@pytest.fixture
def team(original: Step, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Step:
    """Versions 1 (r@3) and 2 (r@4), the champion."""
    for name in ("MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    return copied(original, tmp_path)


@pytest.fixture
def call(team: Step, capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs a verb; exit code, stdout, stderr."""

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(list(words))
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


@pytest.fixture
def kubeflow() -> Iterator[Registry]:
    with serving(Registry()) as served:
        yield served


def test_show_prints_all_that_is_pinned(call: Call, original: Step) -> None:
    code, text, _ = call("show", "traced@champion")
    champion = registry.champion(original.config)
    assert code == 0 and champion is not None
    pin, env = champion.pins["a"], next(iter(champion.envs.values()))
    for part in (
        "traced version 2 (candidate, champion)", "run r, iteration 4", "90.0 % (82.6 to 94.5)",
        champion.config_digest, champion.policies["a"].tag, pin.base[:12], pin.tokenizer[:12],
        pin.chat_template[:12], env["prompts"][:12], "passed: success changes by +70.0 points", "file://nowhere",
    ):  # fmt: skip
        assert part in text, part


def test_show_as_json_is_the_manifest(call: Call) -> None:
    code, text, _ = call("show", "traced@v1", "--json")
    content = json.loads(text)
    assert (code, content["label"], content["aliases"]) == (0, "r@3", [])
    assert [item["version"] for item in content["registered"]] == ["1", "1"]
    assert re.search(r"promotion/000003-[0-9a-f]{8}/README\.md$", content["card"])


@pytest.mark.parametrize("verb", ["show", "register", "card"])
def test_a_mixed_team_is_refused_by_every_verb(verb: str, call: Call, team: Step) -> None:
    team.client.set_registered_model_alias("traced.B", "champion", "1")
    more = ("--model-registry", "http://127.0.0.1:9") if verb == "register" else ()
    code, _, error = call(verb, "traced@champion", *more)
    assert code == 2
    assert "role 'B' is at version 1 of traced.B, expected 2" in error
    assert "python -m pipelines rollback traced" in error


def test_history_is_a_table(call: Call, team: Step) -> None:
    code, text, _ = call("history", "traced")
    head, first, second = text.splitlines()
    assert code == 0 and head.split()[:3] == ["when", "who", "what"]
    assert "promoted" in first and "r@3" in first and "+70.0 (" in first
    assert "r@3   r@4" in second and "90.0 %" in second
    entries = json.loads(call("history", "traced", "--json")[1])
    assert [entry["number"] for entry in entries] == [1, 2]


def test_rollback_asks_and_moves_all_roles(call: Call, team: Step) -> None:
    store = ("--store", team.store.uri)
    code, text, error = call("rollback", "traced", *store)
    assert code == 2 and "give --yes" in error
    assert "traced: champion r@4 -> r@3, traced version 1" in text
    assert team.aliases("champion") == ["2", "2", "2"]
    code, text, _ = call("rollback", "traced", "--yes", "--who", "kim", *store)
    assert code == 0 and "champion of traced: r@3" in text
    assert team.aliases("champion") == ["1", "1", "1"]
    *_, last = json.loads(call("history", "traced", "--json", *store)[1])
    assert (last["action"], last["who"], last["after"]["label"]) == ("rolled_back", "kim", "r@3")
    code, _, error = call("rollback", "traced", "--yes", *store)
    assert code == 2 and "no earlier champion to go back to" in error


@pytest.mark.parametrize(("answer", "champion"), [("n", "2"), ("", "2"), ("y", "1")])
def test_a_person_is_asked(
    answer: str, champion: str, call: Call, team: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda text: answer)
    assert call("rollback", "traced", "--store", team.store.uri)[0] == 0
    assert team.aliases("champion") == [champion] * 3


def test_ctrl_d_is_a_no(call: Call, team: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(question: str) -> str:
        raise EOFError

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", nothing)
    code, out, error = call("rollback", "traced", "--store", team.store.uri)
    assert (code, error) == (0, "") and out.endswith("nothing was moved\n")
    assert team.aliases("champion") == ["2"] * 3


def test_register_exports_and_rollback_follows(call: Call, team: Step, kubeflow: Registry) -> None:
    code, text, _ = call("register", "traced@champion", "--model-registry", kubeflow.url)
    assert code == 0 and "r@4 as champion, 12 changes" in text
    again = call("register", "traced", "--model-registry", kubeflow.url)
    assert "0 changes" in again[1]
    assert call("register", "traced@v1", "--model-registry", kubeflow.url)[0] == 0
    labelled = dict.fromkeys(("traced.A", "traced.B", "traced"), ["r@4"])
    assert kubeflow.labelled("champion") == labelled
    code, text, _ = call("rollback", "traced", "--yes", "--store", team.store.uri)
    assert code == 0 and f"model registry at {kubeflow.url}: r@3" in text
    assert kubeflow.labelled("champion") == {name: ["r@3"] for name in labelled}


def test_a_log_with_a_gap_and_signs_that_move_the_cursor(
    call: Call, team: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROLEWISE_USER", "kim\x1b[31m\n")
    assert not team(team.state(5), BAD, BAD)["promoted"]
    (team.folder / "store/teams/traced/audit/000002.json").unlink()
    code, text, error = call("history", "traced", "--store", team.store.uri)
    assert code == 0 and error == "warning: entries [2] of the log are lost\n"
    assert "\x1b" not in text and "kim\\x1b[31m\\n" in text and len(text.splitlines()) == 3


def test_a_mirror_that_is_away_stops_no_rollback(
    call: Call, team: Step, kubeflow: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("components.tracking.kubeflow.TRIES", 1)
    call("register", "traced", "--model-registry", kubeflow.url)
    kubeflow.failures = 1
    code, _, error = call("rollback", "traced", "--yes", "--store", team.store.uri)
    assert code == 1 and team.aliases("champion") == ["1", "1", "1"]
    command = f"register traced@champion --model-registry {kubeflow.url}"
    assert "503 try again" in error and command in error


def test_promotion_tells_the_registry_it_is_configured_for(team: Step, kubeflow: Registry) -> None:
    promotion = team.config.promotion.model_copy(update={"model_registry_url": kubeflow.url})
    configured = team.config.model_copy(update={"promotion": promotion})
    assert configured.digest() == team.config.digest()  # the run stays the same
    team.config = configured
    assert team(team.state(5))["promoted"]
    labelled = dict.fromkeys(("traced.A", "traced.B", "traced"), ["r@5"])
    assert kubeflow.labelled("champion") == labelled


def test_card_is_made_from_the_store(call: Call, tmp_path: Path) -> None:
    code, text, _ = call("card", "traced@champion", "-o", str(tmp_path / "out" / "README.md"))
    assert code == 0 and "model card of traced r@4" in text
    card = (tmp_path / "out" / "README.md").read_text()
    header: Any = yaml.safe_load(card.split("---\n")[1])
    assert header["library_name"] == "transformers" and "# traced" in card
    assert "no longer stored" in card  # these evaluations were never in the store


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("show", "traced@best"), "no alias 'best'; aliases: candidate, champion"),
        (("show", "traced@v9"), "model 'traced' has no version 9 in the registry"),
        (("show", f"traced@v{'9' * 30}"), "team 'traced' has no version of 30 digits"),
        (("show", "tra'ced"), 'team "tra\'ced" is not registered'),
        (("show", "traced@a'b"), 'no alias "a\'b"; aliases: candidate, champion'),
        (
            ("show", "traced", "--tracking-uri", "http://127.0.0.1:9"),
            "a new connection: [Errno 111] Connection refused; start",
        ),
        (("card", "traced", "--tracking-uri", "foo://x"), "tracking URI 'foo://x': expected"),
        (("history", "traced", "--tracking-uri", "./runs"), "tracking URI './runs': expected"),
        (("history", "chess"), "team 'chess' is not registered"),
        (("export", "traced@best", "-o", "x"), "no alias 'best'; aliases: candidate, champion"),
        (("compare", "chess@v2", "r"), "team 'chess' is not registered"),
        (("compare", "r:1", "r:2", "--confidence", "0.99999"), "a share from 0.5 to 0.9999"),
        (("compare", f"r:{'9' * 5000}", "r:1"), "is no iteration; expected RUN:4"),
        (("replay", f"r/{'9' * 5000}/e"), "whose? Give --run RUN"),
        (
            ("replay", "r/3/e", "--iteration", "4"),
            "--iteration 4: episode 'r/3/e' names iteration 3",
        ),
        (("rollback", "traced@champion"), "expected TEAM, without an alias"),
        (
            ("rollback", "traced", "--yes", "--who", "a\n\x1b[31mb"),
            "--who 'a\\n\\x1b[31mb': expected",
        ),
        (
            ("rollback", "traced", "--store", "file:///proc/none"),
            "no audit log in file:///proc/none",
        ),
        (
            ("show", "traced", "--tracking-uri", "sqlite:///none.db"),
            "sqlite:///none.db does not exist",
        ),
        (("show", "@champion"), "expected TEAM@alias"),
        (("card", "traced", "--store", "file:///proc/none"), "its run is not in file:///proc/none"),
        (("card", "traced", "-o", ""), "--output is ''; expected a file's name"),
        (("card", "traced", "-o", "/proc"), "'/proc' is a folder; expected a file's name"),
        (("card", "traced", "-o", "/proc/x/y.md"), "'/proc/x/y.md' cannot be written"),
        (("register", "traced", "--model-registry", "localhost"), "expected http(s)://host"),
    ],
)
def test_wrong_names_are_one_line(words: tuple[str, ...], fault: str, call: Call) -> None:
    code, _, error = call(*words)
    assert code == 2 and fault in error
    assert len(error.strip().splitlines()) == 1
