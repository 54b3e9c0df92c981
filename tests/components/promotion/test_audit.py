"""The audit log is append-only, also with several writers."""

from pathlib import Path

import pytest

from components.errors import StorageError
from components.promotion import audit
from components.promotion.audit import Action, Entry
from components.settings import StorageConfig
from components.storage import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(StorageConfig(uri=f"file://{tmp_path}/store"))


def entry(action: Action, key: str, label: str = "x") -> Entry:
    return Entry(action, key, None, {"label": label, "versions": {"team": label}})


def test_entries_are_numbered_and_kept(store: Store) -> None:
    first = audit.append(store, "team", entry(Action.PROMOTED, "a"))
    before = store.read("teams/team/audit/000001.json")
    second = audit.append(store, "team", entry(Action.REFUSED, "b"))
    assert (first.number, second.number) == (1, 2)
    assert store.read("teams/team/audit/000001.json") == before
    assert audit.history(store, "team") == [first, second]
    assert first.who and first.when.endswith("+00:00")


def test_two_writers_get_two_numbers(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    audit.append(store, "team", entry(Action.PROMOTED, "a"))
    with monkeypatch.context() as patch:
        patch.setattr(audit, "history", lambda store, team: [])  # it has not seen the other's
        late = audit.append(store, "team", entry(Action.PROMOTED, "b"))
    assert late.number == 2
    assert [item.key for item in audit.history(store, "team")] == ["a", "b"]


def test_teams_have_logs_of_their_own(store: Store) -> None:
    audit.append(store, "team", entry(Action.PROMOTED, "a"))
    assert audit.history(store, "team2") == []


def test_failed_move_takes_its_decision_back(store: Store) -> None:
    log = [entry(Action.PROMOTED, "a", "A"), entry(Action.PROMOTED, "b", "B")]
    log.append(entry(Action.FAILED, "b", "B"))
    assert audit.find(log, "b") is None
    assert audit.find(log, "a") == log[0]
    assert [team["label"] for team in audit.champions(log)] == ["A"]
    log.append(entry(Action.PROMOTED, "b", "B"))
    assert [team["label"] for team in audit.champions(log)] == ["A", "B"]


def test_a_failed_move_takes_back_no_earlier_one_of_the_same_team() -> None:
    log = [entry(Action.PROMOTED, "a", "A"), entry(Action.PROMOTED, "b", "B")]
    log += [entry(Action.ROLLED_BACK, "rollback/3", "A"), entry(Action.REOPENED, "b", "B")]
    log += [entry(Action.PROMOTED, "b", "B"), entry(Action.FAILED, "b", "B")]
    assert [team["label"] for team in audit.champions(log)] == ["A"]
    log.append(entry(Action.PROMOTED, "b", "B"))
    assert [team["label"] for team in audit.champions(log)] == ["A", "B"]


def test_a_lost_entry_is_noticed_and_its_number_not_given_again(store: Store) -> None:
    for key in "abc":
        audit.append(store, "team", entry(Action.PROMOTED, key))
    kept = [item for item in audit.history(store, "team") if item.key != "b"]
    assert audit.missing(kept) == [2] and audit.missing(kept[:1]) == audit.missing([]) == []
    assert audit.next_number(kept) == 4 and audit.next_number([]) == 1


ENTRY = '"schema_version": 1, "action": "promoted", "key": "a", "before": null'


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (f'{{{ENTRY}, "after": null}}', "no entry of the audit log .TypeError"),
        (f'{{{ENTRY}, "after": {{"label": "x"}}}}', "no entry .* .KeyError: 'versions'"),
        (f'{{{ENTRY}, "after": {{"label": "x", "versions": {{}}}}, "gate": 5}}', ".*gate 5"),
        ("{nope", "no entry of the audit log .JSONDecodeError"),
        ("{}", "no entry of the audit log .KeyError: 'schema_version'"),
        ("[]", "no entry of the audit log .TypeError"),
        ('{"schema_version": 1}', "no entry of the audit log .KeyError: 'action'"),
        ('{"schema_version": 1, "action": "crowned"}', "no entry of the audit log .ValueError"),
        ('{"schema_version": 9}', "schema_version 9, expected 1; a later version"),
    ],
)
def test_a_damaged_entry_is_named(store: Store, content: str, fault: str) -> None:
    audit.append(store, "team", entry(Action.PROMOTED, "a"))
    store.create("teams/team/audit/000002.json", content.encode())
    with pytest.raises(StorageError, match=f"teams/team/audit/000002.json: {fault}"):
        audit.history(store, "team")
