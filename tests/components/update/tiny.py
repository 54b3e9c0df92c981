"""A tiny model with its tokenizer, and samples drawn for it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from components.engine import FinishReason
from components.policies import PolicyRef
from components.records import Candidate, Sample, Scored, Turn
from envs.base import Status

WORDS = ["<pad>", "<end>", "<user>", "<assistant>", *(f"w{i}" for i in range(36))]
TEMPLATE = (
    "{% for message in messages %}<user> {{ message.content }} {% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


REF = PolicyRef("solo", 0, "file:///x", "ab" * 32, 1)


def write_tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, "<pad>"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", eos_token="<end>", chat_template=TEMPLATE
    )
    tokenizer.save_pretrained(folder)


def write_model(folder: Path, seed: int = 0) -> Path:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(WORDS), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=16, max_position_embeddings=128,
        tie_word_embeddings=True, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    Qwen3ForCausalLM(config).save_pretrained(folder)
    write_tokenizer(folder)
    return folder


def make_rows(
    model_folder: Path,
    num_groups: int = 6,
    group_size: int = 4,
    *,
    role: str = "tool",
    policy: str = "solo",
    version: str = REF.tag,
    temperature: float = 1.0,
    seed: int = 0,
    advantages: Sequence[float] = (1.2, -0.4, -1.3, 0.5),
    **changes: object,
) -> list[Sample]:
    """Groups of random answers to random prompts, with the model's own log-probs."""
    rng = np.random.default_rng(seed)
    rows = []
    for group in range(num_groups):
        prompt = tuple(int(x) for x in rng.integers(2, len(WORDS), rng.integers(5, 12)))
        for at in range(group_size):
            answer = tuple(int(x) for x in rng.integers(2, len(WORDS), rng.integers(1, 7))) + (1,)
            turn = Turn(f"t{group}", f"t{group}", "fake", "", 0, role, policy, ())
            given: dict[str, object] = {"reward": 0.5, "weight": 1.0, "top_p": 1.0, **changes}
            candidate = Candidate(
                turn, at, 0, temperature, float(given["top_p"]), 0, 8, version, prompt,  # type: ignore[arg-type]
                answer, (0.0,) * len(answer), "", FinishReason.STOP, None,
            )  # fmt: skip
            scored = Scored(candidate, given["reward"], {}, at == 0, Status.RUNNING)  # type: ignore[arg-type]
            advantage = advantages[at % len(advantages)]
            rows.append(Sample(scored, group, advantage, float(given["weight"])))  # type: ignore[arg-type]
    return with_logprobs(rows, model_folder, temperature)


def with_logprobs(rows: list[Sample], folder: Path, temperature: float) -> list[Sample]:
    """The rows with log-probs under softmax(logits / temperature), one sequence at a time."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    filled = []
    for row in rows:
        candidate = row.scored.candidate
        logprobs = plain_logprobs(
            model, candidate.prompt_ids, candidate.completion_ids, temperature
        )
        candidate = replace(candidate, logprobs=tuple(logprobs.tolist()))
        filled.append(replace(row, scored=replace(row.scored, candidate=candidate)))
    return filled


def plain_logprobs(
    model: Any, prompt: Sequence[int], answer: Sequence[int], temperature: float = 1.0
) -> torch.Tensor:
    """Reference: one unpadded sequence, `[num_tokens]`."""
    ids = torch.tensor([[*prompt, *answer]])
    logits = model(input_ids=ids).logits[0, len(prompt) - 1 : -1] / temperature
    return torch.log_softmax(logits, -1).gather(1, torch.tensor(answer)[:, None])[:, 0].detach()
