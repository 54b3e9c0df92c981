"""The grouping step's work on 65,536 samples: seconds and memory against limits of our own."""

import json
import tracemalloc

import pyarrow as pa

from components.grouping.certificate import build
from components.grouping.groups import find_groups, make_samples
from components.records import Scored, to_table
from components.settings import KEYS, GroupingConfig, RolloutConfig
from tests.benchmarks.harness import Row, cpu_seconds, within
from tests.components.grouping.scored_rows import make_group

NUM_TASKS, NUM_TURNS = 1024, 16
PROMPT = tuple(range(256))


def rows() -> list[Row]:
    """Keys, advantages and weights; the certificate; its size; NumPy's peak memory."""
    table, settings = make_table(), (GroupingConfig(), RolloutConfig())
    grouping_s = cpu_seconds(lambda: make_samples(table, find_groups(table, KEYS, 1), *settings))
    groups = find_groups(table, KEYS, 1)
    certificate_s = cpu_seconds(lambda: build(table, groups, *settings))
    content = json.dumps(build(table, groups, *settings), separators=(",", ":"))
    tracemalloc.start()
    make_samples(table, find_groups(table, KEYS, 1), *settings)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return [
        within("grouping, keys to weights, 65,536 samples", grouping_s, 1.0, "s"),
        within("group certificate, 65,536 samples", certificate_s, 2.0, "s"),
        within("group certificate, size", len(content) / 2**20, 4.0, "MiB"),
        within("grouping, peak memory beside the table", peak / 2**20, 64.0, "MiB"),
    ]


def make_table() -> pa.Table:
    """A Scored table of 16,384 groups of 4 with prompts of 256 tokens."""
    one_turn = [
        scored
        for task in range(NUM_TASKS)
        for scored in make_group([0, 1, 0, 1], task_id=f"task/{task}", prompt_ids=PROMPT)
    ]
    table = pa.concat_tables([to_table(Scored, one_turn)] * NUM_TURNS).combine_chunks()
    turns = pa.array([turn for turn in range(NUM_TURNS) for _ in one_turn], pa.int64())
    return table.set_column(table.column_names.index("turn"), table.schema.field("turn"), turns)
