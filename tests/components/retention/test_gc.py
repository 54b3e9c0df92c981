"""What goes and what stays of a store with several runs, and what is written down about it."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from components.errors import StorageError, TrackingError
from components.probes import Probe, probe_key, write_probe
from components.promotion.audit import Action
from components.retention.collect import plan
from components.retention.page import plan_lines
from components.retention.plan import Fate, Plan
from components.retention.runs import Rules
from components.retention.sweep import Done, carry_out
from components.rollout.warm.lease import Door, Lease, write_door, write_lease
from components.settings import TrackingConfig
from components.storage import Store, removal
from tests.components.retention.made_up import Made

RULES = Rules(keep_optimizers=2, keep_policies_every=4)


@pytest.fixture
def made(store: Store, tmp_path: Path) -> Made:
    return Made(store, tmp_path / "made")


@pytest.fixture
def local(file_store: Store, tmp_path: Path) -> Made:
    return Made(file_store, tmp_path / "made")


def planned(
    made: Made, run: str | None = None, grace_s: float = 0.0,
    tracking: Sequence[TrackingConfig] = (),
) -> Plan:  # fmt: skip
    rules = dict.fromkeys(("r", "s"), RULES)
    return plan(made.store, rules, tracking, run, grace_s)


def collected(made: Made, run: str | None = None, grace_s: float = 0.0) -> Done:
    return carry_out(made.store, planned(made, run, grace_s), "somebody", lambda _: None)


def test_the_rules_on_either_store(made: Made) -> None:
    made.run("r", 6)
    done = collected(made)
    kept = {"start", "r/4", "r/5", "r/6", "r/5/adam", "r/6/adam"}
    assert made.there() == kept
    assert len(done.removed) == 3 + 4
    (key,) = made.store.list("gc/log/")
    log = json.loads(made.store.read(key))
    assert log["who"] == "somebody" and len(log["removed"]) == 7
    assert "policy tool@1 of run r" in {item["what"] for item in log["removed"]}
    assert collected(made).removed == [] and made.there() == kept


def test_the_first_call_marks_and_a_later_one_removes(local: Made) -> None:
    local.run("r", 4)
    before = local.there()
    first = collected(local, grace_s=3600.0)
    assert (first.removed, first.num_marked, local.there()) == ([], 4, before)
    second = collected(local, grace_s=3600.0)
    assert (second.removed, second.num_marked, local.there()) == ([], 0, before)
    third = collected(local)
    assert len(third.removed) == 4 and local.there() < before


def test_what_is_used_between_the_calls_stays(local: Made, tmp_path: Path) -> None:
    local.run("r", 4)
    collected(local, grace_s=3600.0)
    local.store.download_folder(local.states["r", 1].policies["tool"].folder, tmp_path)
    local.put("r/2")
    assert "r/1" in local.there()
    fates = {item.reason: item.fate for item in planned(local, grace_s=3600.0).items}
    assert fates["policy tool@1 of run r"] is fates["policy tool@2 of run r"] is Fate.MARK
    assert fates["optimiser state of tool@1 of run r"] is Fate.WAIT


def test_what_is_used_between_plan_and_removal_stays(local: Made) -> None:
    local.run("r", 4)
    collected(local, grace_s=3600.0)
    found = planned(local)
    local.put("r/2")
    lines: list[str] = []
    done = carry_out(local.store, found, "somebody", lines.append)
    assert done.num_spared == 1 and "r/2" in local.there() and "r/1" not in local.there()
    assert [line for line in lines if line.startswith("spared policies/")]


def _steps(made: Made) -> None:
    """Iteration 5 is under way: its update is over, the commit is not."""
    result = {"policies": {"tool": made.policy("r/5", 5).to_json()}}
    made.step("r", 5, "update", {"result": result, "table": b"PAR1\xff"})


def _champions(made: Made) -> None:
    made.promote("r", 1)
    made.promote("r", 2)
    made.promote("r", 2, Action.ROLLED_BACK)
    made.promote("r", 3, Action.REFUSED)


def _best(made: Made) -> None:
    for i, success in ((1, 0.1), (2, 0.9), (3, 0.8)):
        made.step("r", i + 1, "rollout", {}, evaluation__validation__success=success)


def _shared(made: Made) -> None:
    made.run("s", 1, first="r/2")


def _named(made: Made) -> None:
    ref = made.put("r/2")
    made.store.write("notes/best.json", json.dumps({"mine": [ref.uri]}).encode())


@pytest.mark.parametrize(
    ("happens", "kept"),
    [
        (_steps, {"r/5"}), (_champions, {"r/1", "r/3"}), (_best, {"r/2"}),
        (_shared, {"r/2", "s/1", "s/1/adam"}), (_named, {"r/2"}),
    ],
)  # fmt: skip
def test_what_else_is_kept(local: Made, happens: Callable[[Made], None], kept: set[str]) -> None:
    local.run("r", 4)
    happens(local)
    collected(local)
    assert local.there() == {"start", "r/3", "r/4", "r/3/adam", "r/4/adam"} | kept


def test_everything_is_kept_until_there_is_more_than_rules_keep(local: Made) -> None:
    local.run("r", 1)
    before = local.there()
    collected(local)
    assert local.there() == before


def test_of_one_run_the_others_and_orphans_stay(local: Made) -> None:
    local.run("r", 4)
    local.run("s", 4)
    local.put("orphan")
    collected(local, run="r")
    gone = {f"r/{i}" for i in (1, 2)} | {f"r/{i}/adam" for i in (1, 2)}
    assert not gone & local.there() and {"orphan", "s/1", "s/1/adam"} <= local.there()
    collected(local)
    assert not {"orphan", "s/1", "s/1/adam"} & local.there()


def test_cut_off_folders_and_files_go(local: Made) -> None:
    local.run("r", 1)
    digest = "ab" * 32
    local.store.write(f"policies/{digest}/weights", b"half")
    root = Path(local.store.uri.removeprefix("file://"))
    ours = ("policies", "probes", "exports", "served")
    *left, foreign = (root / top / ".partial-0123456789ab" for top in (*ours, "others"))
    for path in (*left, foreign):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"half")
    lines = plan_lines(planned(local), dry_run=True)
    assert any(line.startswith("removed policies/abababababab, 4 B: nothing") for line in lines)
    assert "removed unfinished policies/.partial-0123456789ab, 4 B" in lines
    assert all(path.exists() for path in left)
    done = collected(local)
    assert done.num_leftovers == len(ours) and foreign.exists()
    assert not any(path.exists() for path in left)
    assert not local.store.list(f"policies/{digest}")


def test_a_dry_run_shows_bytes_by_kind_and_reasons(local: Made) -> None:
    local.run("r", 6)
    lines = plan_lines(planned(local, grace_s=3600.0), dry_run=True)
    table = [line.split() for line in lines]
    assert ["kept", "marked", "waiting", "removed"] in table
    assert any(row[:2] == ["policies", "4,"] and "3," in row for row in table)
    assert any(line.startswith("kept: every 4 iterations") for line in lines)
    assert sum(line.startswith("marked ") for line in lines) == 7


def test_what_cannot_be_read_stops_everything(local: Made) -> None:
    local.run("r", 4)
    before = local.there()
    local.store.write("runs/r/state/000002.json", b'{"schema_version": 99}')
    with pytest.raises(Exception, match=r"000002.json: .*schema_version 99"):
        collected(local)
    assert local.there() == before and local.store.list(removal.LOGS) == []


def test_a_champion_whose_state_is_gone_is_named(local: Made) -> None:
    local.run("r", 4)
    local.promote("r", 1)
    local.store.delete("runs/r/state/000001.json")
    with pytest.raises(StorageError, match="team 'tiny': r@1 was promoted, but its state is not"):
        planned(local)


def test_a_registry_that_is_not_there_is_no_empty_registry(local: Made, tmp_path: Path) -> None:
    place = [TrackingConfig(uri=f"sqlite:///{tmp_path}/none.db")]
    local.run("r", 4)
    planned(local, tracking=place)
    local.promote("r", 1)
    with pytest.raises(TrackingError, match=r"none.db: no such file, but teams tiny were"):
        planned(local, tracking=place)
    assert not (tmp_path / "none.db").exists()


def probe_of(made: Made, sha256: str) -> str:
    write_probe(made.store, sha256, Probe(((1,),), ((2,),), ((-1.0,),), ((-0.5,),)))
    return probe_key(sha256)


def test_a_probe_goes_with_its_policy(local: Made) -> None:
    local.run("r", 4)
    probes = [probe_of(local, local.states["r", i].policies["tool"].sha256) for i in range(5)]
    lines = "\n".join(plan_lines(planned(local), dry_run=True))
    assert f"removed {probes[1]}, " in lines and "policy tool@1 of run r" in lines
    assert local.store.list("probes/") == sorted(probes)  # a dry run changes nothing
    collected(local, grace_s=3600.0)
    assert local.store.list("probes/") == sorted(probes)
    done = collected(local)
    assert local.store.list("probes/") == sorted(probes[i] for i in (0, 3, 4))
    assert done.num_leftovers == 2


def test_probes_without_a_policy_go_with_the_whole_store(local: Made) -> None:
    local.run("r", 1)
    old, kept = (
        probe_of(local, "0" * 64),
        probe_of(local, local.states["r", 1].policies["tool"].sha256),
    )
    collected(local, run="r")
    assert local.store.list("probes/") == sorted((old, kept))
    (note,) = (it for it in planned(local).notes if it.fate is Fate.REMOVE)
    assert (note.key, note.reason) == (old, "its policy is gone")
    collected(local)
    assert local.store.list("probes/") == [kept]


def test_a_probe_whose_policy_is_spared_stays(local: Made) -> None:
    local.run("r", 4)
    ref = local.states["r", 1].policies["tool"]
    probe, found = probe_of(local, ref.sha256), planned(local)
    local.put("r/1")  # somebody makes the same policy again
    removal.append(local.store, f"policies/{ref.sha256}", removal.Action.KEPT, "used", None)
    carry_out(local.store, found, "somebody", lambda _: None)
    assert local.store.list("probes/") == [probe]


@pytest.mark.parametrize(
    ("age_s", "released", "grace_s", "left"),
    [(10.0, False, 0.0, True), (2000.0, False, 0.0, False), (2000.0, False, 3600.0, True),
     (10.0, True, 3600.0, False)],
)  # fmt: skip
def test_notes_of_servers_go_when_no_driver_keeps_them(
    local: Made, age_s: float, released: bool, grace_s: float, left: bool
) -> None:
    local.run("r", 1)
    lease = Lease("me", 3, 300.0, time.time() - age_s, "http://x", released)
    write_lease(local.store, "r", "warm-r", lease)
    write_door(local.store, "r", "warm-r", Door("key", "boot"))
    write_door(local.store, "r", "warm-old", Door("key", "boot"))  # its lease is gone
    lines = "\n".join(plan_lines(planned(local, grace_s=grace_s), dry_run=True))
    assert ("removed runs/r/servers/warm-r/door.json" in lines) is not left
    assert "removed runs/r/servers/warm-old/door.json" in lines
    collected(local, grace_s=grace_s)
    names = ["runs/r/servers/warm-r/door.json", "runs/r/servers/warm-r/lease.json"]
    assert local.store.list("runs/r/servers/") == (names if left else [])
