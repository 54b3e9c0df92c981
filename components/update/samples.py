"""What a policy is trained on: its samples, checked, and their tokens in flat arrays.

Reads the Sample record; knows no model and no batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from components.errors import RecordError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class TrainSample:
    """One answer to learn from."""

    prompt_ids: Ints
    """`[num_prompt_tokens]`, at least 1."""
    completion_ids: Ints
    """`[num_tokens]`, at least 1, as the engine drew them."""
    logprobs: Floats
    """`[num_tokens]`, of the sampler; zeros where nothing was sampled (demonstrations)."""
    advantage: float
    weight: float
    """Above 0."""
    temperature: float
    """Of the distribution that the tokens were drawn from, above 0."""


@dataclass(frozen=True)
class Tokens:
    """All completion tokens of a list of samples, sample after sample: `[num_tokens]` each."""

    offsets: Ints
    """`[num_samples + 1]`: sample s owns offsets[s] .. offsets[s + 1] - 1."""
    logprobs: Floats
    advantages: Floats
    temperatures: Floats

    @property
    def lengths(self) -> Ints:
        """Completion tokens of each sample, `[num_samples]`."""
        return np.diff(self.offsets)


def flatten(samples: Sequence[TrainSample]) -> Tokens:
    """Per-sample values repeated for each of its tokens."""
    lengths = np.array([len(sample.completion_ids) for sample in samples], np.int64)
    return Tokens(
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        logprobs=np.concatenate([sample.logprobs for sample in samples]).astype(np.float32),
        advantages=np.repeat([sample.advantage for sample in samples], lengths).astype(np.float32),
        temperatures=np.repeat([sample.temperature for sample in samples], lengths).astype(
            np.float32
        ),
    )


def of_policy(table: pa.Table, policy: str) -> pa.Table:
    """The policy's rows of a Sample table, in order. RecordError if there are none."""
    rows = table.filter(pc.equal(table["policy"], pa.scalar(policy)))
    if rows.num_rows == 0:
        known = sorted({str(name) for name in table["policy"].to_pylist()})
        raise RecordError(f"policy {policy!r} has no samples; policies with samples: {known}")
    return rows


def trainable_samples(rows: pa.Table, policy_version: str) -> list[TrainSample]:
    """The rows of weight above 0 as samples, in order.

    RecordError names the row that was played by other weights, or whose reward, advantage,
    tokens or log-probs cannot be trained on.
    """
    others = pc.not_equal(rows["policy_version"], pa.scalar(policy_version))
    if pc.any(others).as_py():
        row = rows.filter(others).slice(0, 1).to_pylist()[0]
        raise RecordError(
            f"{_where(row)}: sampled by policy version {row['policy_version']!r}, but "
            f"{policy_version!r} is updated; roll out again with the loaded state"
        )
    live = rows.filter(pc.not_equal(rows["weight"], pa.scalar(0.0)))
    return [_sample(row) for row in live.to_pylist()]


def truncated_sampling(rows: pa.Table) -> bool:
    """Whether any row was drawn with top_p or top_k: its log-probs are not the policy's."""
    nucleus = pc.less(rows["top_p"], pa.scalar(1.0))
    top_k = pc.greater(rows["top_k"], pa.scalar(0, pa.int64()))
    return bool(pc.any(pc.or_(nucleus, top_k)).as_py())


def _sample(row: dict[str, object]) -> TrainSample:
    for name in ("reward", "advantage", "weight"):
        value = row[name]
        if not isinstance(value, float) or not np.isfinite(value):
            raise RecordError(f"{_where(row)}: {name} is {value}, expected a finite number")
    sample = TrainSample(
        prompt_ids=np.asarray(row["prompt_ids"], np.int64),
        completion_ids=np.asarray(row["completion_ids"], np.int64),
        logprobs=np.asarray(row["logprobs"], np.float32),
        advantage=float(row["advantage"]),  # type: ignore[arg-type]
        weight=float(row["weight"]),  # type: ignore[arg-type]
        temperature=float(row["temperature"]),  # type: ignore[arg-type]
    )
    num_tokens = len(sample.completion_ids)
    if not len(sample.prompt_ids) or not num_tokens:
        raise RecordError(f"{_where(row)}: weight {sample.weight} but no prompt or no completion")
    if len(sample.logprobs) != num_tokens or not np.isfinite(sample.logprobs).all():
        raise RecordError(
            f"{_where(row)}: expected {num_tokens} finite log-probs, got {len(sample.logprobs)}"
        )
    if sample.weight < 0 or sample.temperature <= 0:
        raise RecordError(
            f"{_where(row)}: weight {sample.weight} and temperature {sample.temperature}, expected "
            "weight >= 0 and temperature > 0 (greedy answers have no distribution to train)"
        )
    return sample


def _where(row: dict[str, object]) -> str:
    return f"task {row['task_id']}, turn {row['turn']}, {row['role']}, candidate {row['candidate']}"
