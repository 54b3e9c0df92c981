"""Which samples form a group, which of them carry loss, and what each group looks like.

Works on whole columns; the advantages themselves are in `advantages`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from components.engine import FinishReason
from components.errors import RecordError
from components.grouping.advantages import (
    Floats,
    Ids,
    Moments,
    check,
    group_advantages,
    group_moments,
)
from components.records import Sample, schema
from components.settings import GroupingConfig, KeyPart, RolloutConfig

Mask = npt.NDArray[np.bool_]
COLUMN: dict[KeyPart, str] = {"task": "task_id", "node": "node", "turn": "turn", "role": "role"}


@dataclass(frozen=True)
class Groups:
    """The groups of one scored table of `num_samples` rows."""

    ids: Ids
    """[num_samples], dense, in order of first appearance."""
    alive: Mask
    """[num_samples]; False for a failed generation."""
    rewards: Floats
    """[num_samples]; 0 where not alive."""
    size: Ids
    """[num_groups], failed generations included."""
    first: Ids
    """[num_groups], row of the first surviving sample; the first row if none survived."""
    moments: Moments
    """Of the surviving rewards."""

    @property
    def survivors(self) -> Ids:
        """[num_groups], samples with a reward."""
        return self.moments.count

    @property
    def failed(self) -> Ids:
        """[num_groups], failed generations."""
        return self.size - self.survivors

    @property
    def silent(self) -> Mask:
        """[num_groups], groups without a signal: no spread, or fewer than two survivors."""
        return np.equal(self.moments.std, 0.0)

    @property
    def starved(self) -> Mask:
        """[num_groups], groups that failed generations left with fewer than two survivors."""
        return (self.survivors < 2) & (self.failed > 0)


def find_groups(table: pa.Table, key: Sequence[KeyPart], ddof: int) -> Groups:
    """Group a scored table by its key columns. RecordError names a row whose reward is NaN."""
    ids = group_ids(table, [COLUMN[part] for part in key])
    reward = table["reward"].combine_chunks()
    alive = reward.is_valid().to_numpy(zero_copy_only=False)
    _, rewards = check(ids, reward.fill_null(0.0).to_numpy())
    size = np.bincount(ids)
    first = np.zeros(size.size, np.int64)
    first[ids[::-1]] = np.arange(ids.size)[::-1]
    living = np.flatnonzero(alive)[::-1]
    first[ids[living]] = living
    moments = group_moments(ids[alive], rewards[alive], size.size, ddof)
    return Groups(ids, alive, rewards, size, first, moments)


def by_episode(table: pa.Table) -> pa.Table:
    """The scored table where every reward is its episode's: the sum of all `team` parts.

    See `credit`. Failed generations have no reward before and after, and add nothing.
    """
    episodes = codes_of(table["episode_id"])
    team = pc.map_lookup(table["reward_parts"], pa.scalar("team"), "first").combine_chunks()
    total = np.bincount(episodes, weights=team.fill_null(0.0).to_numpy())
    dead = ~table["reward"].combine_chunks().is_valid().to_numpy(zero_copy_only=False)
    field = table.schema.field("reward")
    returns = pa.array(total[episodes], type=field.type, mask=dead)
    return table.set_column(table.column_names.index("reward"), field, returns)


def group_ids(table: pa.Table, columns: Sequence[str]) -> Ids:
    """[num_samples] one id per distinct combination of the columns, in order of appearance.

    Combined one by one and made dense after each, so ids stay below num_samples squared.
    """
    ids = np.zeros(table.num_rows, np.int64)
    for column in columns:
        codes = codes_of(table[column])
        ids = codes_of(pa.array(ids * (int(codes.max(initial=0)) + 1) + codes))
    return ids


def codes_of(column: "pa.ChunkedArray[Any] | pa.Array[Any]") -> Ids:
    """[num_samples] a small integer for each distinct value, in order of appearance."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return array.dictionary_encode().indices.to_numpy().astype(np.int64)


def make_samples(
    table: pa.Table, groups: Groups, grouping: GroupingConfig, rollout: RolloutConfig
) -> pa.Table:
    """The scored table with group_id, advantage and weight: a Sample table."""
    alive = groups.alive
    advantage = np.zeros(alive.size)
    advantage[alive] = group_advantages(
        groups.ids[alive], groups.rewards[alive], std_ddof=grouping.std_ddof, eps=grouping.eps
    )
    added = {
        "group_id": pa.array(groups.ids),
        "advantage": pa.array(advantage, mask=~alive),
        "weight": pa.array(sample_weights(table, groups, grouping, rollout)),
    }
    columns: dict[str, Any] = {name: table[name] for name in table.column_names} | added
    return pa.table(columns, schema=schema(Sample))


def sample_weights(
    table: pa.Table, groups: Groups, grouping: GroupingConfig, rollout: RolloutConfig
) -> Floats:
    """[num_samples] 1, or 0 if excluded from the loss and its denominator.

    Excluded: failed generations; tree groups with fewer than two survivors; groups without
    signal under `zero_variance: drop`; truncated answers under `mask_truncated` (their reward
    still counts in the baseline).
    """
    excluded = ~groups.alive
    if rollout.sampling == "tree":
        excluded |= (groups.survivors < 2)[groups.ids]
    if grouping.zero_variance == "drop":
        excluded |= groups.silent[groups.ids]
    if rollout.mask_truncated:
        finish = table["finish_reason"].to_numpy()
        excluded |= finish == str(FinishReason.LENGTH)
    return np.where(excluded, 0.0, 1.0)


def check_sizes(table: pa.Table, groups: Groups, rollout: RolloutConfig) -> None:
    """RecordError for a tree group of one row: its baseline would be the sample itself."""
    lonely = np.flatnonzero(groups.size < 2)
    if rollout.sampling == "tree" and lonely.size:
        raise RecordError(
            f"group {describe(table, groups, int(lonely[0]))} has 1 sample and no baseline "
            f"({lonely.size} such groups); expected {rollout.num_candidates} candidates of each "
            "prompt in tree sampling"
        )


def describe(table: pa.Table, groups: Groups, group: int) -> str:
    """`task=plan_path/train/0/17 node=2.0 turn=1 role=planner`, of the group's first sample."""
    row = int(groups.first[group])
    return " ".join(f"{part}={table[name][row].as_py()}" for part, name in COLUMN.items())
