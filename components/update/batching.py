"""From samples to padded batches: shuffle, minibatches, shared-prompt rows, micro-batches.

The candidates of a group answer one prompt, so a row holds the prompt once, followed by its
answers, each of which sees the prompt and itself: K answers cost P + K C tokens in place of
K (P + C). NumPy only; all choices follow from the samples and a seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from components.update.samples import Ints, TrainSample

SHARED_ROW_TOKENS = 1024
"""Longest row that holds several answers: attention costs the square of a row's length."""
PASS_TOKENS = 192
"""What a pass costs beyond its positions, in positions: padding is traded against passes."""
PADDING = -1

Row = tuple[int, ...]
"""Indices of samples with equal prompts."""


@dataclass(frozen=True)
class MicroBatch:
    """Padded rows for one forward pass, and where each completion token is predicted."""

    input_ids: Ints
    """`[num_rows, length]`; 0 at padding."""
    position_ids: Ints
    """`[num_rows, length]`; each answer continues its prompt."""
    segments: Ints
    """`[num_rows, length]`: 0 prompt, 1.. answers, PADDING after the end."""
    shared: bool
    """Whether a row holds several answers, so that plain causal attention would mix them."""
    rows: Ints
    """`[num_tokens]`: the row of each completion token."""
    sources: Ints
    """`[num_tokens]`: the position whose logits predict it."""
    targets: Ints
    """`[num_tokens]`: its id."""
    tokens: Ints
    """`[num_tokens]`: its index in `samples.Tokens`."""

    @property
    def num_inputs(self) -> int:
        """Positions that are not padding."""
        return int((self.segments != PADDING).sum())


def minibatches(
    samples: Sequence[TrainSample], size: int, seed: int, keep_prompts: bool = True
) -> list[list[int]]:
    """Indices of every sample exactly once, in shuffled minibatches of at most `size`.

    With `keep_prompts`, samples of one prompt stay side by side (cheaper; without, a step sees
    more prompts, which demonstrations need). Sizes differ by at most one, so that no step is
    taken on a small remainder.
    """
    if size < 1:
        raise ValueError(f"minibatches: size is {size}, expected at least 1")
    if not samples:
        return []
    groups: dict[bytes, list[int]] = {}
    for index, sample in enumerate(samples):
        key = sample.prompt_ids.tobytes() if keep_prompts else index.to_bytes(8, "big")
        groups.setdefault(key, []).append(index)
    blocks = list(groups.values())
    order = np.random.Generator(np.random.Philox(seed)).permutation(len(blocks))
    shuffled = np.concatenate([blocks[block] for block in order])
    parts = np.array_split(shuffled, -(-len(samples) // size))
    return [[int(index) for index in part] for part in parts]


def shared_rows(samples: Sequence[TrainSample], indices: Sequence[int], limit: int) -> list[Row]:
    """Group samples of equal prompts into rows of at most `limit` tokens; one that is longer is
    a row alone."""
    rows: list[Row] = []
    open_rows: dict[bytes, int] = {}
    for index in indices:
        key = samples[index].prompt_ids.tobytes()
        at = open_rows.get(key)
        if at is not None and row_length(samples, (*rows[at], index)) <= limit:
            rows[at] = (*rows[at], index)
            continue
        open_rows[key] = len(rows)
        rows.append((index,))
    return rows


def row_length(samples: Sequence[TrainSample], row: Row) -> int:
    """Input positions of a row. The last token of an answer is predicted, never read."""
    answers = sum(len(samples[index].completion_ids) - 1 for index in row)
    return len(samples[row[0]].prompt_ids) + answers


def microbatches(
    samples: Sequence[TrainSample], indices: Sequence[int], budget: int, offsets: Ints
) -> list[MicroBatch]:
    """Split a minibatch into padded batches of at most `budget` positions, rows of like length
    together and little padding. A row longer than the budget is a batch alone."""
    rows = shared_rows(samples, indices, min(budget, SHARED_ROW_TOKENS))
    lengths = [row_length(samples, row) for row in rows]
    return [pack(samples, [rows[at] for at in part], offsets) for part in _parts(lengths, budget)]


def padding_share(batches: Sequence[MicroBatch]) -> float:
    """Share of positions that are padding, in [0, 1)."""
    total = sum(batch.input_ids.size for batch in batches)
    return 1.0 - sum(batch.num_inputs for batch in batches) / total if total else 0.0


def pack(samples: Sequence[TrainSample], rows: Sequence[Row], offsets: Ints) -> MicroBatch:
    """Rows as one padded batch. `offsets` are those of `samples.flatten`."""
    shape = (len(rows), max(row_length(samples, row) for row in rows))
    input_ids, position_ids = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    segments = np.full(shape, PADDING, np.int64)
    where: list[tuple[Ints, ...]] = []
    for at, row in enumerate(rows):
        prompt = samples[row[0]].prompt_ids
        start = len(prompt)
        input_ids[at, :start], position_ids[at, :start] = prompt, np.arange(start)
        segments[at, :start] = 0
        for segment, index in enumerate(row, start=1):
            answer = samples[index].completion_ids
            end = start + len(answer) - 1
            input_ids[at, start:end] = answer[:-1]
            position_ids[at, start:end] = len(prompt) + np.arange(end - start)
            segments[at, start:end] = segment
            sources = np.concatenate([[len(prompt) - 1], np.arange(start, end)])
            where.append(
                (np.full(len(answer), at), sources, answer, offsets[index] + np.arange(len(answer)))
            )
            start = end
    flat = [np.concatenate(column).astype(np.int64) for column in zip(*where, strict=True)]
    shared = any(len(row) > 1 for row in rows)
    return MicroBatch(input_ids, position_ids, segments, shared, *flat)


def attention_mask(segments: Ints) -> npt.NDArray[np.bool_]:
    """`[num_rows, length, length]`: a position sees itself and the earlier ones of its prompt and
    of its own answer."""
    query, key = segments[:, :, None], segments[:, None, :]
    causal = np.tril(np.ones((segments.shape[1],) * 2, np.bool_))
    visible: npt.NDArray[np.bool_] = causal & ((key == 0) | (key == query))
    return visible


def _parts(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Row indices by falling length, cut where padding and passes together cost least."""
    order = sorted(range(len(lengths)), key=lambda at: (-lengths[at], at))
    distinct = sorted(set(lengths), reverse=True)
    ends = np.searchsorted([-lengths[at] for at in order], [-x for x in distinct], side="right")
    starts = [0, *(int(end) for end in ends)]
    cheapest, previous = [0.0], [0]
    for last in range(1, len(starts)):
        costs = [
            cheapest[first] + _cost(distinct[first], starts[last] - starts[first], budget)
            for first in range(last)
        ]
        cheapest.append(min(costs))
        previous.append(costs.index(min(costs)))
    parts: list[list[int]] = []
    last = len(starts) - 1
    while last > 0:
        first = previous[last]
        part = order[starts[first] : starts[last]]
        size = max(1, budget // distinct[first])
        parts = [part[at : at + size] for at in range(0, len(part), size)] + parts
        last = first
    return parts


def _cost(longest: int, num_rows: int, budget: int) -> float:
    passes = -(-num_rows // max(1, budget // longest))
    return longest * num_rows + PASS_TOKENS * passes
