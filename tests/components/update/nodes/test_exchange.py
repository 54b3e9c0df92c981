"""What passes through object storage: the order, faults, progress, and folders of several nodes."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from components.errors import StorageError
from components.policies import FolderRef, PolicyRef
from components.settings import StorageConfig
from components.state import TrainingState
from components.storage import Store, open_store, removal
from components.update.exchange import Updated
from components.update.nodes.agent import relay
from components.update.nodes.order import Desk, Order
from components.update.nodes.shards import Meeting, merged, upload_shards

REF = PolicyRef("solo", 1, "file:///x", "ab" * 32, 1)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(StorageConfig(uri=f"file://{tmp_path}/store"))


def folders(tmp_path: Path, *parts: dict[str, str]) -> Sequence[Path]:
    """A folder per node."""
    made = []
    for node, files in enumerate(parts):
        made.append(tmp_path / f"node{node}")
        for name, text in files.items():
            path = made[-1] / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return made


def upload_all(store: Store, paths: Sequence[Path], patience_s: float = 20.0) -> list[FolderRef]:
    """As the nodes do, side by side."""
    meetings = [
        Meeting(store, "desk/", node, len(paths), 0.01, patience_s) for node in range(len(paths))
    ]
    with ThreadPoolExecutor(len(paths)) as pool:
        return list(pool.map(upload_shards, meetings, paths, ["optimizers"] * len(paths)))


def test_nodes_upload_one_folder_as_one_node_would(store: Store, tmp_path: Path) -> None:
    parts = {"latest": "x", "optimizer/b.pt": "0"}, {"optimizer/a.pt": "11"}, {}
    paths = folders(tmp_path, *parts)
    (paths[2] / "optimizer").mkdir(parents=True)  # ZeRO 0: all is on node 0
    refs = upload_all(store, paths)
    (whole,) = folders(
        tmp_path / "whole", {key: value for part in parts for key, value in part.items()}
    )
    assert refs == [store.upload_folder(whole, "optimizers")] * 3
    local = store.download_folder(refs[0], tmp_path / "cache")
    assert (local / "optimizer" / "a.pt").read_text() == "11"


def test_what_gc_had_marked_is_kept(store: Store, tmp_path: Path) -> None:
    paths = folders(tmp_path, {"a.pt": "1"}, {"b.pt": "2"})
    ref = upload_all(store, paths)[0]
    folder = f"optimizers/{ref.sha256}"
    assert removal.append(store, folder, removal.Action.MARKED, "nothing refers to it", None)
    upload_all(store, paths)
    entry = removal.last(store, folder)
    assert entry and entry.action is removal.Action.KEPT


def test_two_contents_of_one_path_are_refused(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="node 1 has another a.pt"):
        upload_all(store, folders(tmp_path, {"a.pt": "1"}, {"a.pt": "2"}))
    with pytest.raises(StorageError, match="no node has any file"):
        merged([[], []])


def test_a_node_that_never_comes_is_named(store: Store, tmp_path: Path) -> None:
    (path,) = folders(tmp_path, {"a.pt": "1"})
    with pytest.raises(StorageError, match="desk/files: not all of 2 nodes"):
        upload_shards(Meeting(store, "desk/", 0, 2, 0.01, 0.05), path, "optimizers")


def test_an_order_comes_back_and_its_result_outlives_it(store: Store, tmp_path: Path) -> None:
    desk = Desk(store, "runs/r/steps/000001/update/00/nodes/")
    state = TrainingState("r", 0, "d", {"solo": REF}, {}, {"solo": REF}, 0)
    samples = tmp_path / "samples.parquet"
    samples.write_bytes(b"rows")
    order = Order("{}", "r", 1, "update", ["solo"])
    desk.place(order, state, str(samples), tmp_path)
    (tmp_path / "node").mkdir()
    found, its_state, its_samples = desk.take(tmp_path / "node")
    assert (found, its_state, Path(its_samples).read_bytes()) == (order, state, b"rows")
    assert desk.result() is None
    results = {"solo": Updated(REF, REF.folder, {"loss": 1.0})}
    desk.finish(results)
    desk.clear()
    assert desk.result() == results
    assert store.list(desk.prefix) == [desk.prefix + "result.json"]


def test_the_first_fault_is_told(store: Store) -> None:
    desk = Desk(store, "desk/")
    assert desk.fault("a1") is None
    desk.fail("a1", 1, "PolicyError: broken")
    desk.fail("a1", 0, "connection closed by peer")
    desk.fail("a2", 0, "of another attempt")
    assert desk.fault("a1") == "node 1: PolicyError: broken"


def test_progress_is_left_every_few_seconds_and_at_the_end(store: Store) -> None:
    desk, now = Desk(store, "desk/"), [0.0]
    line = relay(desk, "a1", lambda: now[0])
    assert desk.progress("a1") is None
    line("no progress")
    line("progress step=update-a done=1 total=9 unit=steps")
    now[0] = 1.0
    line("progress step=update-a done=2 total=9 unit=steps")
    assert "done=1" in str(desk.progress("a1"))
    line("progress step=update-a done=9 total=9 unit=steps")
    assert "done=9" in str(desk.progress("a1"))


def test_progress_that_storage_does_not_take_stops_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = open_store(StorageConfig(uri=f"file://{tmp_path}/store"))
    (tmp_path / "store").write_text("a file where the store was")
    line = relay(Desk(store, "desk/"), "a1")
    line("progress step=update-a done=1 total=9 unit=steps")
    line("the next line")
    assert capsys.readouterr().out.endswith("the next line\n")
