"""Records: what is written is read, and nothing else is taken for a record."""

import dataclasses
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.engine import FinishReason
from components.errors import RecordError
from components.records import (
    Candidate,
    Episode,
    Sample,
    Scored,
    Turn,
    read,
    read_rows,
    schema,
    to_table,
    write,
)
from envs.base import Message, Status

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
FLOAT = st.floats(allow_nan=False, allow_infinity=False)
SINGLE = st.floats(allow_nan=False, allow_infinity=False, width=32)
INT = st.integers(-(2**63), 2**63 - 1)
MESSAGES = st.lists(
    st.builds(lambda role, content: Message(role=role, content=content), TEXT, TEXT), max_size=3
).map(tuple)
IDS = st.lists(st.integers(0, 2**31 - 1), max_size=5).map(tuple)
LOGPROBS = st.lists(SINGLE, max_size=5).map(tuple)
TURNS = st.builds(Turn, TEXT, TEXT, TEXT, TEXT, INT, TEXT, TEXT, MESSAGES)
CANDIDATES = st.builds(
    Candidate, TURNS, INT, INT, FLOAT, FLOAT, INT, INT, TEXT, IDS, IDS, LOGPROBS, TEXT,
    st.sampled_from(FinishReason), st.none() | TEXT,
)  # fmt: skip
PARTS = st.none() | st.dictionaries(TEXT, FLOAT, max_size=3)
SCORED = st.builds(
    Scored, CANDIDATES, st.none() | FLOAT, PARTS, st.booleans(), st.sampled_from(Status)
)
SAMPLES = st.builds(Sample, SCORED, INT, st.none() | FLOAT, FLOAT)
EPISODES = st.builds(Episode, TEXT, TEXT, TEXT, TEXT, INT, INT, st.sampled_from(Status), FLOAT)
ROWS: dict[Any, Any] = {
    Turn: TURNS, Candidate: CANDIDATES, Scored: SCORED, Sample: SAMPLES, Episode: EPISODES,
}  # fmt: skip


def make_episode(**changes: Any) -> Episode:
    episode = Episode("t#0", "t", "plan_path", "train", 1, 2, Status.SOLVED, 1.0)
    return dataclasses.replace(episode, **changes)


def make_sample(**changes: Any) -> Sample:
    message: Message = {"role": "user", "content": "go"}
    turn = Turn("e", "t", "plan_path", "", 0, "planner", "plan", (message,))
    candidate = Candidate(
        turn, 0, 5, 1.0, 1.0, 0, 16, "plan@0-abc", (1,), (2, 3), (-0.5, -0.25), "up",
        FinishReason.STOP, None,
    )  # fmt: skip
    scored = Scored(candidate, 1.0, {"team": 1.0}, True, Status.RUNNING)
    return dataclasses.replace(Sample(scored, 0, 0.5, 1.0), **changes)


@pytest.mark.parametrize("row", ROWS)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_what_is_written_is_read(row: Any, data: st.DataObject, tmp_path: Path) -> None:
    rows = data.draw(st.lists(ROWS[row], max_size=4))
    write(tmp_path / "record", row, rows)
    assert read_rows(tmp_path / "record", row) == rows


@pytest.mark.parametrize("row", ROWS)
def test_an_empty_record_is_a_record(row: Any, tmp_path: Path) -> None:
    write(tmp_path / "new" / "record", row, [])
    assert read(tmp_path / "new" / "record", row).num_rows == 0
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["record"]


def test_a_later_record_holds_the_columns_of_the_earlier() -> None:
    names = [schema(row).names for row in (Turn, Candidate, Scored, Sample)]
    for earlier, later in zip(names, names[1:], strict=False):
        assert later[: len(earlier)] == earlier


@pytest.mark.parametrize("keep", [0, 3, 100, -1])
def test_a_truncated_file_is_named(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "samples"
    write(path, Sample, [make_sample()])
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(RecordError, match="samples: cannot be read as a Sample record"):
        read(path, Sample)


def test_a_flipped_bit_in_the_data_is_found(tmp_path: Path) -> None:
    path = tmp_path / "episodes"
    write(path, Episode, [make_episode(team_reward=float(i)) for i in range(500)])
    data = bytearray(path.read_bytes())
    column = pq.read_metadata(path).row_group(0).column(7)
    offset = column.data_page_offset + column.total_compressed_size // 2
    data[offset] ^= 1
    path.write_bytes(data)
    with pytest.raises(RecordError, match="episodes: "):
        read(path, Episode)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="gone: cannot be read as a Turn record"):
        read(tmp_path / "gone", Turn)


def test_another_record_or_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "record"
    write(path, Episode, [make_episode()])
    with pytest.raises(RecordError, match=r"are \('Episode', '1'\), expected \('Sample', '1'\)"):
        read(path, Sample)
    old = read(path, Episode).replace_schema_metadata({"record": "Episode", "schema_version": "0"})
    pq.write_table(old, path)
    with pytest.raises(RecordError, match=r"\('Episode', '0'\), expected \('Episode', '1'\)"):
        read(path, Episode)
    pq.write_table(old.replace_schema_metadata(None), path)
    with pytest.raises(RecordError, match=r"\('none', 'none'\)"):
        read(path, Episode)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.drop_columns(["status"]), "column 'status' is missing"),
        (lambda table: table.append_column("x", [[1]]), r"unexpected columns \['x'\]"),
        (
            lambda table: table.set_column(4, "seed", pa.array(["one"])),
            "column 'seed' is string, expected int64 not null",
        ),
        (lambda table: table.select(table.column_names[::-1]), "columns are in another order"),
    ],
)
def test_other_columns_are_refused(tmp_path: Path, change: Any, words: str) -> None:
    path = tmp_path / "episodes"
    changed = change(to_table(Episode, [make_episode()]))
    with pytest.raises(RecordError, match=words):
        write(path, Episode, changed)
    pq.write_table(changed.replace_schema_metadata(schema(Episode).metadata), path)
    with pytest.raises(RecordError, match=words):
        read(path, Episode)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_are_finite(tmp_path: Path, value: float) -> None:
    bad = [make_sample(), make_sample(advantage=value)]
    with pytest.raises(RecordError, match=f"samples: column 'advantage' has {value}, expected"):
        write(tmp_path / "samples", Sample, bad)
    scored = make_sample().scored
    candidate = dataclasses.replace(scored.candidate, logprobs=(-1.0, value))
    bad = [make_sample(scored=dataclasses.replace(scored, candidate=candidate))]
    with pytest.raises(RecordError, match=f"column 'logprobs' has {value}"):
        write(tmp_path / "samples", Sample, bad)
    assert not (tmp_path / "samples").exists()


def test_a_null_where_none_may_be_is_named(tmp_path: Path) -> None:
    bad: list[Any] = [make_episode(), make_episode(seed=None)]
    with pytest.raises(RecordError, match="column 'seed' is null in row 1"):
        write(tmp_path / "episodes", Episode, bad)


@pytest.mark.parametrize("field", ["role", "content"])
def test_a_null_inside_a_row_is_named(tmp_path: Path, field: str) -> None:
    sample = make_sample()
    message: Any = {"role": "user", "content": "go", field: None}
    turn = dataclasses.replace(sample.scored.candidate.turn, messages=(message,))
    candidate = dataclasses.replace(sample.scored.candidate, turn=turn)
    bad = [sample, make_sample(scored=dataclasses.replace(sample.scored, candidate=candidate))]
    with pytest.raises(RecordError, match="column 'messages' has a null inside a row"):
        write(tmp_path / "samples", Sample, bad)


def test_an_ending_that_there_is_none_of_is_named(tmp_path: Path) -> None:
    path = tmp_path / "episodes"
    table = to_table(Episode, [make_episode()])
    at = table.column_names.index("status")
    edited = table.set_column(at, table.schema.field("status"), pa.array(["won"]))
    message = "episodes: column 'status' has 'won', expected one of running, solved, "
    with pytest.raises(RecordError, match=message):
        write(path, Episode, edited)
    pq.write_table(edited.replace_schema_metadata(schema(Episode).metadata), path)
    with pytest.raises(RecordError, match=message):
        read_rows(path, Episode)


def test_a_failed_generation_keeps_its_nulls(tmp_path: Path) -> None:
    scored = dataclasses.replace(make_sample().scored, reward=None, reward_parts=None)
    failed = make_sample(scored=scored, advantage=None, weight=0.0)
    write(tmp_path / "samples", Sample, [failed])
    assert read_rows(tmp_path / "samples", Sample) == [failed]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "episodes"
    write(path, Episode, [make_episode()])
    with pytest.raises(RecordError):
        write(path, Episode, [make_episode(team_reward=float("nan"))])
    assert read_rows(path, Episode) == [make_episode()]
