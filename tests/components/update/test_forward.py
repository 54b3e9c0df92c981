"""Log-probs of packed batches are those of each sequence alone, at its own temperature."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from components.update.batching import microbatches
from components.update.forward import token_statistics
from components.update.samples import TrainSample, flatten
from tests.components.update.tiny import plain_logprobs


def make_samples(seed: int = 0) -> list[TrainSample]:
    """Three answers of different length to each of three prompts."""
    rng = np.random.default_rng(seed)
    samples = []
    for length in (4, 9, 6):
        prompt = rng.integers(2, 40, length)
        for num_tokens in (1, 5, 3):
            answer = rng.integers(2, 40, num_tokens)
            zeros = np.zeros(num_tokens, np.float32)
            samples.append(TrainSample(prompt, answer, zeros, 1.0, 1.0, 1.0))
    return samples


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder).eval()


@pytest.mark.parametrize("temperature", [1.0, 1.5])
@pytest.mark.parametrize("budget", [1, 20, 1000])
def test_packing_does_not_change_a_log_prob(model: Any, temperature: float, budget: int) -> None:
    samples = make_samples()
    tokens = flatten(samples)
    found = torch.zeros(int(tokens.offsets[-1]))
    for batch in microbatches(samples, range(len(samples)), budget, tokens.offsets):
        temperatures = torch.full((len(batch.tokens),), temperature)
        with torch.no_grad():
            found[batch.tokens] = token_statistics(model, batch, temperatures).logprobs
    expected = torch.cat(
        [plain_logprobs(model, s.prompt_ids, s.completion_ids, temperature) for s in samples]
    )
    torch.testing.assert_close(found, expected, atol=2e-6, rtol=0)


def test_entropy_is_that_of_the_tempered_distribution(model: Any) -> None:
    samples = make_samples()[:1]
    batch = microbatches(samples, [0], 99, flatten(samples).offsets)[0]
    found = token_statistics(model, batch, torch.tensor([1.5])).entropies
    ids = torch.tensor(samples[0].prompt_ids)[None]
    expected = torch.distributions.Categorical(logits=model(input_ids=ids).logits[0, -1] / 1.5)
    torch.testing.assert_close(found[0], expected.entropy())
    assert not found.requires_grad
    assert token_statistics(model, batch, torch.ones(1), True).entropies.requires_grad


def test_padding_and_the_last_token_get_no_gradient(model: Any) -> None:
    samples = [s for s in make_samples() if len(s.completion_ids) == 5]
    batch = microbatches(samples, range(3), 999, flatten(samples).offsets)[0]
    embedding = model.get_input_embeddings()
    grads: list[torch.Tensor] = []

    def keep(module: Any, inputs: Any, output: torch.Tensor) -> None:
        output.register_hook(grads.append)

    hook = embedding.register_forward_hook(keep)
    token_statistics(model, batch, torch.ones(len(batch.tokens))).logprobs.sum().backward()
    hook.remove()
    model.zero_grad()
    padding = torch.from_numpy(batch.segments) < 0
    assert padding.any()
    assert (grads[0][padding] == 0).all() and (grads[0][~padding] != 0).any(-1).all()
