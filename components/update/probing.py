"""A probe of the policy being trained: log-probs of a few of its samples before and after.

Written beside the policy for whoever loads it; see components/probes.py. Changes nothing of the
training.
"""

from collections.abc import Sequence
from pathlib import Path

import torch

from components.probes import Probe
from components.update.batching import microbatches
from components.update.deepspeed_engine import TrainingEngine
from components.update.forward import token_statistics
from components.update.samples import Ints, TrainSample, flatten

NUM_SEQUENCES = 8


class Probing:
    """Measures when it is made, and again when it is saved."""

    def __init__(self, engine: TrainingEngine, samples: Sequence[TrainSample]) -> None:
        self._engine, self._samples = engine, chosen(samples)
        self._before = self._measure()

    def save(self, path: Path) -> None:
        """Measure again and write the probe, from rank 0."""
        after = self._measure()
        if self._engine.rank == 0:
            probe = Probe(
                tuple(_ids(sample.prompt_ids) for sample in self._samples),
                tuple(_ids(sample.completion_ids) for sample in self._samples),
                self._before, after,
            )  # fmt: skip
            path.write_text(probe.to_json())

    @torch.no_grad()
    def _measure(self) -> tuple[tuple[float, ...], ...]:
        """`[num_sequences][num_tokens]` at T = 1. Every rank computes all of them: a forward is a
        collective under stage 3."""
        found = []
        for sample in self._samples:
            (batch,) = microbatches([sample], [0], 2**31 - 1, flatten([sample]).offsets)
            ones = torch.ones(len(sample.completion_ids), device=self._engine.device)
            logprobs = token_statistics(self._engine, batch, ones).logprobs
            found.append(tuple(float(value) for value in logprobs))
        return tuple(found)


def chosen(samples: Sequence[TrainSample]) -> list[TrainSample]:
    """At most NUM_SEQUENCES of them, spread evenly over the list."""
    count = min(NUM_SEQUENCES, len(samples))
    return [samples[index * len(samples) // count] for index in range(count)]


def _ids(values: Ints) -> tuple[int, ...]:
    return tuple(int(value) for value in values)
