"""Which references keep a folder, and what happens to one that nothing keeps."""

from typing import Any

import pytest

from components.policies import FolderRef, PolicyRef
from components.retention.plan import (
    Fate,
    Folder,
    Scope,
    decide,
    folders_in,
    make_plan,
)
from components.retention.runs import Rules, state_uses, team_reason
from components.retention.sweep import size_text
from components.retention.uses import Use, folder_of, named_in
from components.state import TrainingState
from components.storage.folders import MANIFEST
from components.storage.removal import LEASE_S, Action, Entry
from components.storage.unfinished import Unfinished

HOUR = 3600.0
DIGEST = "ab" * 32


def digest(letter: str) -> str:
    return letter.encode().hex() * 32


@pytest.mark.parametrize(
    ("iteration", "reason"),
    [
        (0, "initial policies"), (1, None), (9, None), (10, "every 10 iterations"),
        (17, "best on validation"), (20, "every 10 iterations"), (22, None),
        (23, "last 2 teams"), (24, "last 2 teams"),
    ],
)  # fmt: skip
def test_which_teams_stay(iteration: int, reason: str | None) -> None:
    assert team_reason(iteration, 24, 17, 10) == reason


@pytest.mark.parametrize("uri", ["file://build/store", "s3://bucket/prefix", "file:///a/b/store"])
def test_a_folder_is_known_however_the_store_is_spelt(uri: str) -> None:
    assert folder_of(f"{uri}/policies/{DIGEST}") == f"policies/{DIGEST}"
    assert folder_of(f"{uri}/optimizers/{DIGEST}/x.bin") == f"optimizers/{DIGEST}"
    assert folder_of(f"{uri}/models/{DIGEST}") is None
    assert folder_of(f"{uri}/policies/short") is None


def test_names_are_found_at_any_depth() -> None:
    value = {"a": [{"uri": f"s3://b/policies/{DIGEST}"}], "b": 1, "c": None, "d": "text"}
    assert named_in(value, "x", "why") == [Use(f"policies/{DIGEST}", "x", "why", None)]


def _state(iteration: int) -> TrainingState:
    base = PolicyRef("base", 0, f"s3://b/policies/{digest('b')}", digest("b"), 1)
    now = PolicyRef("tool", iteration, f"s3://b/policies/{digest('n')}", digest("n"), 1, base)
    first = PolicyRef("tool", 0, f"s3://b/policies/{digest('f')}", digest("f"), 1, base)
    optimizer = FolderRef(f"s3://b/optimizers/{digest('o')}", digest("o"), 1)
    return TrainingState(
        "r", iteration, "c", {"tool": now}, {"tool": optimizer}, {"tool": first}, 0
    )


@pytest.mark.parametrize(
    ("iteration", "kept"), [(3, "bf"), (7, "bf"), (8, "bfo"), (9, "bfon"), (10, "bfon")]
)
def test_what_a_state_keeps(iteration: int, kept: str) -> None:
    """Bases and the start always; the team's weights and optimiser by their own rules."""
    uses = state_uses(_state(iteration), 10, None, Rules(3, 50))
    found = {use.folder.partition("/")[2] for use in uses if use.reason}
    assert found == {digest(letter) for letter in kept}
    assert {use.folder.partition("/")[2] for use in uses} == {digest(letter) for letter in "bfon"}
    assert all(use.run == "r" for use in uses)


FOLDER = Folder(f"policies/{DIGEST}", 5, True)
KEEPING = Use(FOLDER.key, "policy a@1 of run r", "bases", "r")
EXPIRED = Use(FOLDER.key, "policy a@1 of run r", None, "r")


def entry(action: Action, age_s: float) -> Entry:
    return Entry(action, 1e6 - age_s, "", 1)


@pytest.mark.parametrize(
    ("uses", "last", "run", "grace_s", "fate"),
    [
        ([KEEPING], None, None, HOUR, Fate.KEEP),
        ([EXPIRED, KEEPING], None, None, HOUR, Fate.KEEP),
        ([KEEPING], entry(Action.MARKED, 2 * HOUR), None, HOUR, Fate.UNMARK),
        ([EXPIRED], None, None, HOUR, Fate.MARK),
        ([EXPIRED], None, None, 0.0, Fate.REMOVE),
        ([EXPIRED], entry(Action.KEPT, 9 * HOUR), None, HOUR, Fate.MARK),
        ([EXPIRED], entry(Action.REMOVED, 9 * HOUR), None, HOUR, Fate.MARK),
        ([EXPIRED], entry(Action.MARKED, 0.5 * HOUR), None, HOUR, Fate.WAIT),
        ([EXPIRED], entry(Action.MARKED, 2 * HOUR), None, HOUR, Fate.REMOVE),
        ([EXPIRED], entry(Action.REMOVING, 1.0), None, HOUR, Fate.WAIT),
        ([EXPIRED], entry(Action.REMOVING, LEASE_S), None, HOUR, Fate.REMOVE),
        ([EXPIRED], None, "r", HOUR, Fate.MARK),
        ([EXPIRED], None, "other", HOUR, Fate.KEEP),
        ([], None, "r", HOUR, Fate.KEEP),
        ([], None, None, HOUR, Fate.MARK),
    ],
)
def test_fates(uses: list[Use], last: Entry | None, run: Any, grace_s: float, fate: Fate) -> None:
    assert decide(FOLDER, uses, last, Scope(run, 1e6, grace_s)).fate is fate


def test_folders_are_put_together_and_cut_off_ones_seen() -> None:
    sizes = {
        f"policies/{DIGEST}/w": 3, f"policies/{DIGEST}/{MANIFEST}": 2, f"optimizers/{DIGEST}/w": 1,
        f"models/{DIGEST}/w": 9, "runs/r/state/000001.json": 9,
    }  # fmt: skip
    assert folders_in(sizes) == [Folder(f"optimizers/{DIGEST}", 1, False), FOLDER]


def test_leftovers_go_by_age_and_only_with_the_whole_store() -> None:
    left = [Unfinished("a", 1, 1e6 - 2 * HOUR), Unfinished("b", 1, 1e6 - 1)]
    whole = make_plan([], [], {}, left, Scope(None, 1e6, HOUR))
    assert [fate for _, fate in whole.leftovers] == [Fate.REMOVE, Fate.WAIT]
    assert make_plan([], [], {}, left, Scope("r", 1e6, HOUR)).leftovers == []


@pytest.mark.parametrize(
    ("num_bytes", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2.5e13, "25.0 TB")]
)
def test_sizes_read_well(num_bytes: float, text: str) -> None:
    assert size_text(num_bytes) == text
