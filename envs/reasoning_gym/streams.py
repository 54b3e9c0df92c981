"""Tasks by position: generated under a seed of their own, or taken from a pool.

Entry `draw` of index i of a stream has a seed derived from task, configuration, stream and i, so
any slice can be made alone. The digest of its question decides the split that may hold it: an index
draws until it meets one of its own split whose grading can be trusted. A pool's entries are split
by the same digest and put into an order by the stream's seed. Its train stream goes on with a new
order after the last; the others end there.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b

from envs.base import JSON, Split
from envs.reasoning_gym import entries, generators, grading
from envs.reasoning_gym.answers import find_answer, tagged
from envs.reasoning_gym.options import ReasoningGymOptions
from envs.reasoning_gym.pools import read_pool
from envs.splits import permute, split_of

MAX_DRAWS = 300
NONSENSE = ("?!", "no answer", "0 0")
"""An entry on which one of these scores 1 is not used."""


def draw(options: ReasoningGymOptions, split: Split, seed: int, index: int) -> str:
    """The entry as canonical JSON. ValueError beyond the end of a pool's validation or test
    split, or if none is found."""
    if index < 0:
        raise ValueError(f"reasoning_gym task {index} of {split.value}: expected 0 or more")
    if options.pool is not None:
        return _pooled(options, split, seed, index)
    config = canonical(options.config)
    return _generated(options.task, config, split, seed, index)


def indices(options: ReasoningGymOptions, split: Split, start: int, count: int) -> range:
    """Those of start .. start + count - 1 that the stream has: fewer where a pool's validation or
    test split ends, and ValueError beyond."""
    if options.pool is None or split is Split.TRAIN or start < 0:
        return range(start, start + count)
    size = len(_of_split(options, split))
    if start >= size:
        raise ValueError(_beyond(options, split, start, size))
    return range(start, min(start + count, size))


def canonical(config: Mapping[str, JSON]) -> str:
    """A generator's options as one text."""
    return json.dumps(dict(config), sort_keys=True)


@lru_cache(maxsize=4096)
def _generated(task: str, config: str, split: Split, seed: int, index: int) -> str:
    for attempt in range(MAX_DRAWS):
        own = entry_seed(task, config, f"{split.value}/{seed}/{index}/{attempt}")
        entry = generators.make_entry(task, json.loads(config), own)
        if split_of(entries.digest(entry["question"])) is split:
            text = entries.dump(entry)
            if trustworthy(task, config, text):
                return text
    raise ValueError(
        f"reasoning_gym task {index} of {split.value}: none of {MAX_DRAWS} entries of {task} with "
        f"config {config} belongs to the split; expected a config with more questions"
    )


def entry_seed(task: str, config: str, position: str) -> int:
    """31 bits, which every generator takes."""
    text = f"reasoning_gym/{task}/{config}/{position}"
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest()) >> 1


def trustworthy(task: str, config: str, entry: str) -> bool:
    """Whether the reference answer, as a role would write it, scores 1 and nonsense does not."""
    reference = find_answer(tagged(str(grading.read(entry)["answer"])))
    return grading.score(task, config, entry, reference) == 1.0 and not any(
        grading.score(task, config, entry, text) == 1.0 for text in NONSENSE if text != reference
    )


def _pooled(options: ReasoningGymOptions, split: Split, seed: int, index: int) -> str:
    found = _of_split(options, split)
    epoch, place = divmod(index, len(found)) if found else (1, 0)
    if not found or (epoch and split is not Split.TRAIN):
        raise ValueError(_beyond(options, split, index, len(found)))
    return found[permute(place, len(found), f"reasoning_gym/{seed}/{epoch}")]


def _beyond(options: ReasoningGymOptions, split: Split, index: int, size: int) -> str:
    return (
        f"reasoning_gym task {index} of {split.value}: the pool {options.pool} has {size} tasks in "
        "this split; expected a smaller index or a larger pool"
    )


@lru_cache(maxsize=16)
def _split_pool(
    path: str, digest: str | None, task: str, config: str, split: Split
) -> Sequence[str]:
    pool = read_pool(path, digest, task, config)
    return tuple(entry for question, entry in pool if split_of(question) is split)


def _of_split(options: ReasoningGymOptions, split: Split) -> Sequence[str]:
    config = canonical(options.config)
    return _split_pool(str(options.pool), options.pool_digest, options.task, config, split)
