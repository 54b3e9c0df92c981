"""One optimiser step of Eq. 2: the DeepSpeed engine against a plain PyTorch loop.

128 samples (16 groups of 8) of a tiny Qwen3, fp32, one thread, CPU seconds. The first row gives
both sides the same micro-batches: DeepSpeed's overhead. The second gives the plain loop what most
trainers feed: whole sequences, padded, 8 at a time. The third is the start of an update's process.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from components.settings import InitConfig, UpdateConfig
from components.update.batching import MicroBatch, microbatches, pack
from components.update.samples import Tokens, TrainSample, flatten
from tests.benchmarks.harness import Row, compare, row, within

GROUPS, GROUP_SIZE, REPEATS = 16, 8, 3
WORDS = tuple(f"w{number}" for number in range(60))
START_LIMIT_S = 12.0


def rows() -> list[Row]:
    """Tokens (prompt + completion of every sample) per CPU second, and the start's CPU seconds."""
    import torch

    torch.set_num_threads(1)
    samples = make_samples()
    tokens = flatten(samples)
    count = sum(len(s.prompt_ids) + len(s.completion_ids) for s in samples)
    shared = microbatches(samples, range(len(samples)), 16384, tokens.offsets)
    padded = [
        pack(samples, [(index,) for index in range(at, at + 8)], tokens.offsets)
        for at in range(0, len(samples), 8)
    ]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_model(folder)
        ours, same = compare(engine_step(folder, shared, tokens),
                             plain_step(folder, shared, tokens), REPEATS)  # fmt: skip
        again, whole = compare(engine_step(folder, shared, tokens),
                               plain_step(folder, padded, tokens), REPEATS)  # fmt: skip
    rate, note = "tokens/CPU s", "plain PyTorch"
    return [
        row("update step, same micro-batches", count / ours, count / same, 0.9, rate, note, True),
        row("update step, groups share their prompt", count / again, count / whole, 1.5, rate,
            f"{note}, padded sequences, 8 at a time", True),
        within("update process, imports", import_seconds(), START_LIMIT_S, "CPU s"),
    ]  # fmt: skip


def make_samples() -> list[TrainSample]:
    """Prompts of 22 tokens, answers of 4 to 9."""
    rng = np.random.Generator(np.random.Philox(0))
    samples = []
    for _ in range(GROUPS):
        prompt = rng.integers(5, len(WORDS), 22)
        for _ in range(GROUP_SIZE):
            answer = rng.integers(5, len(WORDS), rng.integers(4, 10))
            logprobs = np.full(len(answer), -4.2, np.float32)
            samples.append(TrainSample(prompt, answer, logprobs, float(rng.normal()), 1.0, 1.0))
    return samples


def write_model(folder: Path) -> None:
    """The quickstart's model."""
    from components.update.initialise.scratch import write_scratch_model

    write_scratch_model(folder, InitConfig(), WORDS, 0)


def loss_of(model: Any, batch: MicroBatch, tokens: Tokens, num_tokens: int) -> Any:
    """Eq. 2 on one micro-batch, token mean over all `num_tokens`."""
    import torch

    from components.update.forward import token_statistics
    from components.update.loss import policy_loss

    found = token_statistics(model, batch, torch.ones(len(batch.tokens)))
    old = torch.from_numpy(tokens.logprobs[batch.tokens])
    advantages = torch.from_numpy(tokens.advantages[batch.tokens])
    scale = torch.full_like(old, 1.0 / num_tokens)
    return policy_loss(found.logprobs, old, advantages, scale).total


def engine_step(folder: Path, batches: Sequence[MicroBatch], tokens: Tokens) -> Callable[[], None]:
    """A step as the update takes it."""
    from components.update.deepspeed_engine import TrainingEngine, launcher_variables
    from components.update.folders import load_model

    with launcher_variables():
        engine = TrainingEngine(load_model(folder, None, "float32"), UpdateConfig())

    def step() -> None:
        with launcher_variables():
            for batch in batches:
                engine.backward(loss_of(engine, batch, tokens, len(tokens.logprobs)))
            engine.step(1e-6)

    return step


def plain_step(folder: Path, batches: Sequence[MicroBatch], tokens: Tokens) -> Callable[[], None]:
    """The same by hand."""
    import torch

    from components.update.folders import load_model

    model = load_model(folder, None, "float32").eval()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)

    def step() -> None:
        for batch in batches:
            loss_of(model, batch, tokens, len(tokens.logprobs)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def import_seconds() -> float:
    """CPU seconds until a fresh process could train."""
    code = (
        "import time; from components.update.process import import_libraries as run; run(); "
        "print(time.process_time())"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    started = time.time()
    for line in rows():
        print(line)
    print(f"{time.time() - started:.0f} s")
